#include "data/record/protobuf_wire.h"
#include "tenon/example.h"

namespace tenon {
namespace {

size_t field_size(size_t contents) { return 1 + wire::varint_size(contents) + contents; }

// The head of a length-delimited field whose contents follow.
void put_head(std::string& out, uint32_t field, size_t contents) {
  wire::put_varint(out, wire::tag(field, wire::kBytes));
  wire::put_varint(out, contents);
}

}  // namespace

// Features.feature { key, Feature { LIST } }, written from the outside in, as the sizes are known.
void ExampleBuilder::add(std::string_view name, int kind, std::string_view list) {
  if (std::exchange(finished_, false)) features_.clear();
  const size_t feature = field_size(list.size());
  put_head(features_, 1, field_size(name.size()) + field_size(feature));
  wire::put_bytes(features_, 1, name);
  put_head(features_, 2, feature);
  wire::put_bytes(features_, static_cast<uint32_t>(kind), list);
}

void ExampleBuilder::add_bytes(std::string_view name, std::string_view value) { add_bytes(name, {&value, 1}); }

void ExampleBuilder::add_bytes(std::string_view name, std::span<const std::string_view> values) {
  list_.clear();
  for (const std::string_view value : values) wire::put_bytes(list_, 1, value);
  add(name, 1, list_);
}

void ExampleBuilder::add_floats(std::string_view name, std::span<const float> values) {
  list_.clear();
  if (!values.empty()) wire::put_bytes(list_, 1, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  add(name, 2, list_);
}

void ExampleBuilder::add_int64s(std::string_view name, std::span<const int64_t> values) {
  list_.clear();
  size_t packed = 0;
  for (const int64_t value : values) packed += wire::varint_size(static_cast<uint64_t>(value));
  if (!values.empty()) put_head(list_, 1, packed);
  for (const int64_t value : values) wire::put_varint(list_, static_cast<uint64_t>(value));
  add(name, 3, list_);
}

std::string_view ExampleBuilder::finish() {
  if (std::exchange(finished_, true)) features_.clear();
  record_.clear();
  wire::put_bytes(record_, 1, features_);
  return record_;
}

}  // namespace tenon
