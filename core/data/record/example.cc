#include "tenon/example.h"

#include <bit>
#include <cstring>

#include "base/strings.h"
#include "data/record/protobuf_wire.h"

namespace tenon {
namespace {

using wire::Field;
using Kind = Feature::Kind;

// Field numbers of Feature's oneof are those of Kind; each list has its values in field 1.
constexpr uint32_t kUnpackedInt64 = wire::tag(1, wire::kVarint);
constexpr uint32_t kUnpackedFloat = wire::tag(1, wire::kFixed32);
constexpr uint32_t kLengthDelimited = wire::tag(1, wire::kBytes);

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return "nothing";
    case Kind::kBytes:
      return "bytes";
    case Kind::kFloat:
      return "floats";
    case Kind::kInt64:
      return "integers";
  }
  return "nothing";
}

float load_float(const char* bytes) {
  float value;
  std::memcpy(&value, bytes, 4);
  return value;
}

// The functions below walk over bytes that parse has checked.

// Calls f(list) for each list message in a feature's fields; f returns false to stop.
template <class F>
void each_list(std::string_view feature, Kind kind, F f) {
  Field field;
  while (!feature.empty() && wire::take_field(&feature, &field))
    if (field.tag == wire::tag(static_cast<uint32_t>(kind), wire::kBytes) && !f(field.contents)) return;
}

template <class F>
void each_bytes(std::string_view feature, F f) {
  each_list(feature, Kind::kBytes, [&](std::string_view list) {
    for (Field field; !list.empty() && wire::take_field(&list, &field);)
      if (field.tag == kLengthDelimited && !f(field.contents)) return false;
    return true;
  });
}

template <class F>
void each_float(std::string_view feature, F f) {
  each_list(feature, Kind::kFloat, [&](std::string_view list) {
    for (Field field; !list.empty() && wire::take_field(&list, &field);) {
      if (field.tag != kUnpackedFloat && field.tag != kLengthDelimited) continue;
      for (size_t i = 0; i < field.contents.size(); i += 4)
        if (!f(load_float(field.contents.data() + i))) return false;
    }
    return true;
  });
}

template <class F>
void each_int64(std::string_view feature, F f) {
  each_list(feature, Kind::kInt64, [&](std::string_view list) {
    for (Field field; !list.empty() && wire::take_field(&list, &field);) {
      if (field.tag == kUnpackedInt64 && !f(static_cast<int64_t>(field.varint))) return false;
      if (field.tag != kLengthDelimited) continue;
      for (uint64_t value; !field.contents.empty() && wire::take_varint(&field.contents, &value);)
        if (!f(static_cast<int64_t>(value))) return false;
    }
    return true;
  });
}

// The walker at `index` of a list.
template <class T, class Each>
T value_at(std::string_view feature, size_t index, Each each) {
  T result{};
  each(feature, [&](T value) {
    result = value;
    return index-- > 0;
  });
  return result;
}

// The functions below check bytes; they give the address of the first bad field, or null.

const char* count_packed(std::string_view packed, Kind kind, size_t* count) {
  if (kind == Kind::kFloat) {
    *count += packed.size() / 4;
    return packed.size() % 4 == 0 ? nullptr : packed.data();
  }
  for (uint64_t value; !packed.empty(); ++*count) {
    const char* start = packed.data();
    if (!wire::take_varint(&packed, &value)) return start;
  }
  return nullptr;
}

// The tag of a value that stands alone.
uint32_t tag_of_one(Kind kind) {
  return kind == Kind::kBytes ? kLengthDelimited : kind == Kind::kInt64 ? kUnpackedInt64 : kUnpackedFloat;
}

// Adds the values of one list message to *count.
const char* count_list(std::string_view list, Kind kind, size_t* count) {
  for (Field field; !list.empty();) {
    const char* start = list.data();
    if (!wire::take_field(&list, &field)) return start;
    if (field.tag == tag_of_one(kind)) {
      ++*count;
    } else if (field.tag == kLengthDelimited) {
      if (const char* bad = count_packed(field.contents, kind, count)) return bad;
    }
  }
  return nullptr;
}

struct Checked {
  Kind kind = Kind::kNone;
  std::string_view fields;  // from the first list of the last kind on
  size_t count = 0;
};

// A oneof: the last kind counts, and lists of one kind that follow each other are one list.
const char* check_feature(std::string_view feature, Checked* out) {
  for (Field field; !feature.empty();) {
    const std::string_view rest = feature;
    if (!wire::take_field(&feature, &field)) return rest.data();
    if (field.number() > 3 || (field.tag & 7) != wire::kBytes) continue;
    const Kind kind = static_cast<Kind>(field.number());
    if (kind != out->kind) *out = {kind, rest, 0};
    if (const char* bad = count_list(field.contents, kind, &out->count)) return bad;
  }
  return nullptr;
}

Status broken(const char* at, const char* base) {
  return invalid("tf.train.Example at byte ", at - base, ": expected a protobuf field that ends inside its message");
}

}  // namespace

std::string_view Feature::bytes(size_t index) const {
  return value_at<std::string_view>(wire_, index, [](auto... a) { each_bytes(a...); });
}

float Feature::float32(size_t index) const {
  return value_at<float>(wire_, index, [](auto... a) { each_float(a...); });
}

int64_t Feature::int64(size_t index) const {
  return value_at<int64_t>(wire_, index, [](auto... a) { each_int64(a...); });
}

void Feature::copy(std::string_view* out) const {
  each_bytes(wire_, [&](std::string_view value) { return *out++ = value, true; });
}

void Feature::copy(float* out) const {
  each_float(wire_, [&](float value) { return *out++ = value, true; });
}

void Feature::copy(int64_t* out) const {
  each_int64(wire_, [&](int64_t value) { return *out++ = value, true; });
}

// One entry of Features' map: key = 1, value = 2.
Status Example::parse_entry(std::string_view bytes, const char* base) {
  Named named;
  Checked checked;
  bool has_value = false;
  for (Field field; !bytes.empty();) {
    const char* start = bytes.data();
    if (!wire::take_field(&bytes, &field)) return broken(start, base);
    if (field.tag == wire::tag(1, wire::kBytes)) named.name = field.contents;
    if (field.tag != wire::tag(2, wire::kBytes)) continue;
    if (std::exchange(has_value, true))
      return invalid("tf.train.Example at byte ", start - base, ": feature '", abbreviated(named.name),
                     "' has two values");
    if (const char* bad = check_feature(field.contents, &checked)) return broken(bad, base);
  }
  named.feature.kind_ = checked.kind;
  named.feature.wire_ = checked.fields;
  named.feature.size_ = checked.count;
  features_.push_back(named);
  return {};
}

Status Example::parse_features(std::string_view bytes, const char* base) {
  for (Field field; !bytes.empty();) {
    const char* start = bytes.data();
    if (!wire::take_field(&bytes, &field)) return broken(start, base);
    if (field.tag != wire::tag(1, wire::kBytes)) continue;
    if (features_.size() == kMaxFeatures)
      return invalid("tf.train.Example at byte ", start - base, ": expected at most ", kMaxFeatures,
                     " features, found more");
    TENON_TRY(parse_entry(field.contents, base));
  }
  return {};
}

Status Example::parse(std::string_view bytes) {
  features_.clear();
  const char* base = bytes.data();
  Status status;
  for (Field field; status.ok() && !bytes.empty();) {
    const char* start = bytes.data();
    if (!wire::take_field(&bytes, &field)) {
      status = broken(start, base);
    } else if (field.tag == wire::tag(1, wire::kBytes)) {
      status = parse_features(field.contents, base);
    }
  }
  if (!status.ok()) features_.clear();
  return status;
}

const Feature* Example::find(std::string_view name) const {
  for (size_t i = features_.size(); i-- > 0;)
    if (features_[i].name == name) return &features_[i].feature;
  return nullptr;
}

Result<const Feature*> Example::single(std::string_view name, Kind kind) const {
  const Feature* feature = find(name);
  if (feature == nullptr) {
    std::vector<std::string> names;
    for (size_t i = 0; i < features_.size() && i < 20; ++i) names.push_back(abbreviated(features_[i].name));
    return invalid("tf.train.Example: expected a feature '", name, "', found ",
                   names.empty() ? std::string("none") : join(names));
  }
  if (feature->kind() != kind || feature->size() != 1)
    return invalid("tf.train.Example: feature '", name, "': expected 1 value of ", kind_name(kind), ", found ",
                   feature->size(), " of ", kind_name(feature->kind()));
  return feature;
}

Result<std::string_view> Example::bytes(std::string_view name) const {
  TENON_ASSIGN(const Feature* feature, single(name, Kind::kBytes));
  return feature->bytes();
}

Result<float> Example::float32(std::string_view name) const {
  TENON_ASSIGN(const Feature* feature, single(name, Kind::kFloat));
  return feature->float32();
}

Result<int64_t> Example::int64(std::string_view name) const {
  TENON_ASSIGN(const Feature* feature, single(name, Kind::kInt64));
  return feature->int64();
}

}  // namespace tenon
