// What hdf5.so does: the only file that sees the HDF5 library. Called in a child process alone, as the library is not proof against
// hostile files; what it says is not believed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

// Element types, as of Tenon; kOther: one that Tenon does not have.
enum class Hdf5Type : int32_t { kOther, kF16, kBF16, kF32, kF64, kU8, kBool, kI32, kI64 };

struct Hdf5Dataset {
  std::string path;  // "layers/dense/vars/0"
  Hdf5Type type = Hdf5Type::kOther;
  std::string text;  // of a type that Tenon does not have: "16-bit integer"
  std::vector<int64_t> dims;
  bool decoded = false;  // its bytes are in the second file, else as they are in the first
  int64_t offset = 0, bytes = 0;
};

// An attribute of one string, or of several.
struct Hdf5Names {
  std::string path, name;  // of the group, "" for the root; "layer_names"
  std::vector<std::string> values;
};

struct Hdf5Index {
  std::vector<Hdf5Dataset> datasets;
  std::vector<Hdf5Names> attributes;
};

constexpr int64_t kMostHdf5Objects = int64_t{1} << 18;

}  // namespace tenon

inline constexpr unsigned kHdf5Version = 1;
extern "C" {
using tenon_hdf5_version_fn = unsigned();
// What is in the file that descriptor `file` is of. What lies in it otherwise than as plain bytes goes to `decoded`, at most
// `most` bytes. False, and *why says it, where it is damaged or has what is not read: links, other files, unknown filters.
using tenon_hdf5_read_fn = bool(int file, int decoded, int64_t most, tenon::Hdf5Index* out, std::string* why);
// Writes a file of these groups and datasets; the datasets' bytes are left out, and *index says where they belong.
using tenon_hdf5_write_fn = bool(int file, tenon::Hdf5Index* index, std::string* why);
}
