// Scalars over steps as TensorBoard reads them: TFRecords of TensorFlow's Event message.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/file/descriptor.h"
#include "tenon/callback.h"

namespace tenon {

// DIRECTORY/events.out.tfevents.*, a new file. It grows by whole records, each with its checksums, so that what reads it
// while training goes on, or after it was killed, takes every one that is complete. All functions throw Error.
class EventFile {
 public:
  explicit EventFile(const std::string& directory);
  // At this step of training, by tag.
  void add(int64_t step, const Logs& scalars);
  const std::string& path() const { return path_; }

 private:
  void write(std::string_view event);
  std::string path_;
  Descriptor file_;
};

// Those of all such files of a directory, TensorFlow's too, by step and tag; of one step the last. None where there is no
// such directory. What is damaged or not complete is left out. Throws Error where a file cannot be read.
std::map<int64_t, Logs> read_scalars(const std::string& directory);

}  // namespace tenon
