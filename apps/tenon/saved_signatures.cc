#include "saved_signatures.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tenon::runner {
namespace {

// Numbers of fields in TensorFlow's saved_model.proto and meta_graph.proto.
constexpr uint64_t kMetaGraphs = 2, kSignatureDef = 5, kMapKey = 1, kMapValue = 2, kInputs = 1, kOutputs = 2;

// The fields of a message that have a length: others say nothing here.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  // The next one; false at the end.
  bool next() {
    while (!rest_.empty()) {
      const uint64_t key = varint();
      number_ = key >> 3;
      switch (key & 7) {
        case 0:
          (void)varint();
          break;
        case 1:
          (void)take(8);
          break;
        case 2:
          value_ = take(varint());
          return !damaged_;
        case 5:
          (void)take(4);
          break;
        default:
          fail();
      }
    }
    return false;
  }
  uint64_t number() const { return number_; }
  std::string_view value() const { return value_; }
  bool damaged() const { return damaged_; }

 private:
  uint64_t varint() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      out |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return out;
    }
    fail();
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) return fail(), std::string_view();
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  void fail() {
    damaged_ = true;
    rest_ = {};
  }

  std::string_view rest_, value_;
  uint64_t number_ = 0;
  bool damaged_ = false;
};

// Calls `each` with the values of the fields of that number. False: the message is damaged.
template <class Each>
bool for_each_field(std::string_view message, uint64_t number, const Each& each) {
  Fields fields(message);
  while (fields.next())
    if (fields.number() == number && !each(fields.value())) return false;
  return !fields.damaged();
}

bool read_name(std::string_view entry, std::string* name) {
  return for_each_field(entry, kMapKey, [&](std::string_view key) { return *name = key, true; });
}

bool read_names(std::string_view signature, uint64_t number, std::vector<std::string>* names) {
  const bool whole = for_each_field(signature, number,
                                    [&](std::string_view entry) { return read_name(entry, &names->emplace_back()); });
  std::sort(names->begin(), names->end());
  return whole;
}

bool read_signature(std::string_view entry, SavedSignature* out) {
  return read_name(entry, &out->key) && for_each_field(entry, kMapValue, [&](std::string_view signature) {
           return read_names(signature, kInputs, &out->inputs) && read_names(signature, kOutputs, &out->outputs);
         });
}

bool read_model(std::string_view bytes, std::vector<SavedSignature>* out) {
  return for_each_field(bytes, kMetaGraphs, [&](std::string_view graph) {
    return for_each_field(graph, kSignatureDef,
                          [&](std::string_view entry) { return read_signature(entry, &out->emplace_back()); });
  });
}

}  // namespace

Result<std::vector<SavedSignature>> saved_signatures(const std::string& directory) {
  const std::string path = directory + "/saved_model.pb";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  const bool opened = fd >= 0 && ::fstat(fd, &about) == 0 && about.st_size > 0;
  const auto size = static_cast<size_t>(opened ? about.st_size : 0);
  void* const bytes = opened ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (fd >= 0) ::close(fd);
  if (bytes == MAP_FAILED) return Status(Code::kUnavailable, "'" + path + "' cannot be read");
  std::vector<SavedSignature> out;
  const bool whole = read_model({static_cast<const char*>(bytes), size}, &out);
  ::munmap(bytes, size);
  if (!whole) return Status(Code::kInvalid, "'" + path + "' is damaged");
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

}  // namespace tenon::runner
