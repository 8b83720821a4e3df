// A file of TensorFlow's Event messages, as TFRecords.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file/descriptor.h"

namespace tenon {

// DIRECTORY/events.out.tfevents.TIME.HOST.PID.N, which did not exist before. Thread safe; functions throw Error.
class EventFile {
 public:
  // The one that this process writes to the directory, or a new one; none where another process of the job writes.
  static std::shared_ptr<EventFile> of(const std::string& directory, const std::string& suffix);
  EventFile(const std::string& directory, const std::string& suffix);

  // `event` is what follows the time. Of an event that could not be written nothing stays.
  void add(std::string_view event);
  const std::string& path() const { return path_; }
  const std::string& notice() const { return notice_; }

 private:
  void create(const std::string& directory, const std::string& suffix);
  bool is_there() const;
  std::string path_, notice_;
  Descriptor file_;
  std::mutex mutex_;
  int64_t size_ = 0;      // of whole records
  bool damaged_ = false;  // what was written of a record could not be taken back
};

}  // namespace tenon
