// tf.train.Example: a set of named features, each a list of byte strings, floats or integers. The
// usual content of a TFRecord.
//
//   Example example;                       // reuse one for many records
//   TENON_TRY(example.parse(record));
//   TENON_ASSIGN(std::string_view jpeg, example.bytes("image/encoded"));
//   TENON_ASSIGN(int64_t label, example.int64("image/class/label"));
//
//   ExampleBuilder builder;
//   builder.add_bytes("image/encoded", jpeg);
//   builder.add_int64("image/class/label", label);
//   TENON_TRY(writer.write(builder.finish()));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// The list of one feature, looking into the bytes that Example::parse was given.
class Feature {
 public:
  enum class Kind { kNone, kBytes, kFloat, kInt64 };

  Kind kind() const { return kind_; }
  size_t size() const { return size_; }  // values in the list

  // The value at `index`, in time proportional to it. REQUIRED: the kind, and index < size().
  std::string_view bytes(size_t index = 0) const;
  float float32(size_t index = 0) const;
  int64_t int64(size_t index = 0) const;

  // All size() values. REQUIRED: the kind.
  void copy(std::string_view* out) const;
  void copy(float* out) const;
  void copy(int64_t* out) const;

 private:
  friend class Example;
  Kind kind_ = Kind::kNone;
  std::string_view wire_;  // the Feature message's fields of this kind, checked by parse
  size_t size_ = 0;
};

// A parsed Example. Nothing is copied: it looks into the bytes it was given, which must stay as they
// are while it is used. Parsing allocates only when a record has more features than any before.
// Packed and unpacked lists and unknown fields are accepted, as protobuf does; of two features of
// one name the last counts. One thread at a time.
class Example {
 public:
  static constexpr size_t kMaxFeatures = 65536;

  struct Named {
    std::string_view name;
    Feature feature;
  };

  // Checks every length in `bytes`; an error names the byte offset inside the record. After an error
  // the example is empty.
  Status parse(std::string_view bytes);

  // Null when there is none of that name.
  const Feature* find(std::string_view name) const;

  // In the order of the record.
  std::span<const Named> features() const { return features_; }

  // The only value of a feature that has to be there. The error says what the record has instead.
  Result<std::string_view> bytes(std::string_view name) const;
  Result<float> float32(std::string_view name) const;
  Result<int64_t> int64(std::string_view name) const;

 private:
  Result<const Feature*> single(std::string_view name, Feature::Kind kind) const;
  Status parse_features(std::string_view bytes, const char* base);
  Status parse_entry(std::string_view bytes, const char* base);

  std::vector<Named> features_;
};

// Builds the bytes of an Example, features in the order of the calls, numbers packed. A name must be
// added once only. Reuses its memory. One thread at a time.
class ExampleBuilder {
 public:
  void add_bytes(std::string_view name, std::string_view value);
  void add_bytes(std::string_view name, std::span<const std::string_view> values);
  void add_float(std::string_view name, float value) { add_floats(name, {&value, 1}); }
  void add_floats(std::string_view name, std::span<const float> values);
  void add_int64(std::string_view name, int64_t value) { add_int64s(name, {&value, 1}); }
  void add_int64s(std::string_view name, std::span<const int64_t> values);

  // The record, valid until the next call; the builder starts anew with the next add.
  std::string_view finish();

 private:
  void add(std::string_view name, int kind, std::string_view list);

  std::string list_;
  std::string features_;
  std::string record_;
  bool finished_ = false;
};

}  // namespace tenon
