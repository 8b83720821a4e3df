// HDF5 files: what lies in them, and its bytes. The HDF5 library looks at a file once, in a child process with a limit of memory and
// time (hdf5_part.h); tensors are then read here, as plain bytes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "checkpoint/keras/hdf5_index.h"
#include "checkpoint/tensor_bundle.h"

namespace tenon {

// Movable; reading is thread safe.
class Hdf5File {
 public:
  static Result<Hdf5File> open(const std::string& path);
  // What `descriptor` is of; `path` is for messages.
  static Result<Hdf5File> of(Descriptor descriptor, const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<Hdf5Dataset>& datasets() const { return index_.datasets; }
  // The strings of an attribute; nullptr: the object has none of that name.
  const std::vector<std::string>* names(std::string_view object, std::string_view attribute) const;
  // REQUIRED: it is one of datasets(), and out has its size.
  Status read(const Hdf5Dataset& dataset, std::span<std::byte> out) const;

 private:
  Hdf5File(File file, File decoded, Hdf5Index index);
  File file_, decoded_;
  Hdf5Index index_;
  std::map<std::pair<std::string, std::string>, size_t, std::less<>> names_;
};

struct Hdf5Source {
  Hdf5Dataset dataset;  // without its place
  FillBytes fill;
};
// The file is there whole or not at all.
Status write_hdf5(const std::string& path, std::vector<Hdf5Names> groups, const std::vector<Hdf5Source>& datasets);

}  // namespace tenon
