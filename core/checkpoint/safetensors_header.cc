// The header of a safetensors file, parsed as it comes: no tree is made of it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/json_text.h"
#include "base/strings.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_types.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

// Three levels: the header, a tensor (or the metadata), a list of numbers.
class HeaderParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderParser(SafetensorsHeader* out, size_t size, std::string_view file) : out_(*out), size_(size), file_(file) {}
  const Status& status() const { return status_; }

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a number with a fraction"); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!list_) return refuse("a number");
    if (value > static_cast<uint64_t>(INT64_MAX)) return refuse("a number of more than 63 bits");
    if (list_->size() == kMaxRank) return error(where(), " has more than ", kMaxRank, " numbers");
    list_->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (in_metadata_ && level_ == 2) return out_.metadata.emplace(key_, std::move(value)), true;
    if (level_ != 2 || list_ || key_ != "dtype") return refuse("a text");
    dtype_ = std::move(value);
    return true;
  }

  bool start_object(size_t) override {
    if (list_ || level_ >= 2) return refuse("an object");
    if (++level_ == 1) return true;
    in_metadata_ = tensor_ == kMetadata;
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
    keys_.clear();
    return true;
  }

  bool key(string_t& name) override {
    if (level_ == 1) {
      tensor_ = std::move(name);
      return has(tensor_) ? error("two tensors are named '", abbreviated(tensor_), "'") : true;
    }
    key_ = std::move(name);
    return keys_.insert(key_).second ? true : error(where(), " stands there twice");
  }

  bool end_object() override {
    if (--level_ != 1) return true;
    if (!in_metadata_) return add_tensor();
    has_metadata_ = true;
    in_metadata_ = false;
    return true;
  }

  bool start_array(size_t) override {
    const bool offsets = key_ == "data_offsets";
    if (level_ != 2 || in_metadata_ || list_ || (!offsets && key_ != "shape")) return refuse("a list");
    list_ = &(offsets ? offsets_ : shape_).emplace();
    return true;
  }
  bool end_array() override { return list_ = nullptr, true; }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return error("the header ", json_mistake(position, size_));
  }

 private:
  template <class... Parts>
  bool error(const Parts&... parts) {
    status_ = invalid(file_, ": not a valid safetensors file: ", parts...);
    return false;
  }
  bool refuse(const char* found) { return error(where(), " is ", found); }
  std::string where() const {
    if (level_ == 0) return "the header";
    if (level_ == 1) return cat("'", abbreviated(tensor_), "'");
    return cat("'", abbreviated(key_), "' of '", abbreviated(tensor_), "'");
  }
  bool has(const std::string& name) const {
    return name == kMetadata ? has_metadata_ : out_.entries.find(name) != out_.entries.end();
  }

  bool add_tensor() {
    const std::string name = cat("'", abbreviated(tensor_), "'");
    if (!dtype_ || !shape_ || !offsets_ || keys_.size() != 3)
      return error(name, " has ", keys_.empty() ? "nothing" : abbreviated(join(keys_)),
                   ", expected data_offsets, dtype, shape");
    const SafetensorsType* type = safetensors_type(*dtype_);
    if (!type) return error(name, " has dtype '", abbreviated(*dtype_), "', which the format does not have");
    if (offsets_->size() != 2 || (*offsets_)[0] > (*offsets_)[1])
      return error(name, " has data_offsets [", join(*offsets_), "], expected a begin and an end");
    const int64_t size = (*offsets_)[1] - (*offsets_)[0];
    if (!fits(type->bytes, size))
      return error(name, " is ", *dtype_, "[", join(*shape_, ","), "] but has ", size, " bytes");
    out_.entries.emplace(tensor_, SafetensorsEntry{type->dtype, *dtype_, Shape(*shape_), (*offsets_)[0], size});
    return true;
  }

  bool fits(int64_t element, int64_t size) const {
    constexpr int64_t kMost = int64_t{1} << 60;  // of Shape
    int64_t bytes = element;
    bool none = false;
    for (const int64_t d : *shape_) {
      none = none || d == 0;
      // A zero makes the product small, but the others must not overflow on the way.
      if (d >= kMost || (d > 0 && (__builtin_mul_overflow(bytes, d, &bytes) || bytes >= kMost))) return false;
    }
    return (none ? 0 : bytes) == size;
  }

  SafetensorsHeader& out_;
  size_t size_;  // of the text
  std::string_view file_;
  Status status_;
  int level_ = 0;
  std::string tensor_, key_;
  bool in_metadata_ = false, has_metadata_ = false;
  std::set<std::string> keys_;
  std::optional<std::string> dtype_;
  std::optional<std::vector<int64_t>> shape_, offsets_;
  std::vector<int64_t>* list_ = nullptr;
};

Status check_tiling(const SafetensorsHeader& header, int64_t buffer_bytes, std::string_view file) {
  std::vector<std::pair<const std::string*, const SafetensorsEntry*>> all;
  for (const auto& [name, entry] : header.entries) all.emplace_back(&name, &entry);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->offset, a.second->size) < std::pair(b.second->offset, b.second->size);
  });
  int64_t at = 0;
  for (const auto& [name, entry] : all) {
    if (entry->offset != at)
      return invalid(file, ": not a valid safetensors file: '", abbreviated(*name), "' begins at byte ", entry->offset,
                     " of the buffer, expected ", at, ": there is ", entry->offset < at ? "an overlap" : "a hole");
    at += entry->size;
    if (at > buffer_bytes)
      return invalid(file, ": not a valid safetensors file: '", abbreviated(*name), "' ends at byte ", at,
                     " of the buffer, which has ", buffer_bytes);
  }
  if (at != buffer_bytes)
    return invalid(file, ": not a valid safetensors file: its buffer has ", buffer_bytes, " bytes, its tensors ", at);
  return {};
}

}  // namespace

std::string SafetensorsEntry::str() const {
  return dtype == DType::kNone ? cat(dtype_text, shape.str()) : Type{dtype, shape}.str();
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, int64_t buffer_bytes, std::string_view file) {
  if (!json.starts_with('{')) return invalid(file, ": not a valid safetensors file: its header is no JSON object");
  return within_memory("read", std::string(file), [&]() -> Result<SafetensorsHeader> {
    SafetensorsHeader header;
    HeaderParser parser(&header, json.size(), file);
    if (!nlohmann::json::sax_parse(json.begin(), json.end(), &parser)) return parser.status();
    TENON_TRY(check_tiling(header, buffer_bytes, file));
    return header;
  });
}

}  // namespace tenon
