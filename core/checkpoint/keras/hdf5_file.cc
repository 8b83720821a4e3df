#include "checkpoint/keras/hdf5_file.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {

Hdf5File::Hdf5File(File file, File decoded, Hdf5Index index)
    : file_(std::move(file)), decoded_(std::move(decoded)), index_(std::move(index)) {
  for (size_t i = 0; i < index_.attributes.size(); ++i)
    names_.emplace(std::pair(index_.attributes[i].path, index_.attributes[i].name), i);
}

const std::vector<std::string>* Hdf5File::names(std::string_view object, std::string_view attribute) const {
  const auto found = names_.find(std::pair(std::string(object), std::string(attribute)));
  return found == names_.end() ? nullptr : &index_.attributes[found->second].values;
}

Status Hdf5File::read(const Hdf5Dataset& dataset, std::span<std::byte> out) const {
  TENON_TRY((dataset.decoded ? decoded_ : file_).read_exactly_at(dataset.offset, out.data(), out.size()));
  if (dataset.type == Hdf5Type::kBool &&
      std::any_of(out.begin(), out.end(), [](std::byte b) { return b > std::byte{1}; }))
    return invalid("'", path(), "': dataset '", abbreviated(dataset.path), "' holds a bool that is neither 0 nor 1");
  return {};
}

}  // namespace tenon
