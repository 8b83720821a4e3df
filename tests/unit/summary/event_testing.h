// Reads what is written for TensorBoard: TFRecords of Event messages, taken apart by the rules of protobuf alone.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "data/record/protobuf_wire.h"
#include "tenon/tfrecord.h"

namespace tenon::callback_testing {

struct Scalar {
  int64_t step = 0;
  std::string tag;
  float value = 0;
  bool operator==(const Scalar&) const = default;
};

// A Summary.Value with its step; of a tensor its numbers, or strings.
struct SummaryValue {
  int64_t step = 0;
  std::string tag, metadata;
  bool simple = false;  // a number of TensorFlow 1's
  std::vector<double> numbers = {};
  std::vector<std::string> strings = {};
  std::vector<int64_t> shape = {};
};

// The fields of one protobuf message, which has to stay.
inline std::vector<wire::Field> fields_of(std::string_view message) {
  std::vector<wire::Field> out;
  for (wire::Field field; !message.empty();) {
    if (!wire::take_field(&message, &field)) {
      ADD_FAILURE() << "no protobuf message";
      break;
    }
    out.push_back(field);
  }
  return out;
}
inline std::vector<wire::Field> fields_of(std::string&&) = delete;

// The contents of a field that is there once, of a path of such fields.
inline std::string field_at(std::string_view message, std::initializer_list<uint32_t> path) {
  std::string out(message);
  for (const uint32_t number : path) {
    std::string found;
    for (const wire::Field& field : fields_of(out))
      if (field.number() == number) found = field.contents.empty() ? std::to_string(field.varint) : field.contents;
    out = found;
  }
  return out;
}

template <class T>
void append_numbers(std::string_view bytes, std::vector<double>& out) {
  for (T value; bytes.size() >= sizeof value; bytes.remove_prefix(sizeof value)) {
    std::memcpy(&value, bytes.data(), sizeof value);
    out.push_back(static_cast<double>(value));
  }
}

inline void take_tensor(std::string_view tensor, SummaryValue& out) {
  const bool wide = field_at(tensor, {1}) == "2";  // DT_DOUBLE
  for (const wire::Field& field : fields_of(tensor)) {
    if (field.number() == 2)
      for (const wire::Field& dim : fields_of(field.contents))
        out.shape.push_back(std::stoll(field_at(dim.contents, {1})));
    if (field.number() == 4 && wide) append_numbers<double>(field.contents, out.numbers);
    if (field.number() == 4 && !wide) append_numbers<float>(field.contents, out.numbers);
    if (field.number() == 8) out.strings.emplace_back(field.contents);
  }
}

inline SummaryValue value_of(std::string_view value, int64_t step) {
  SummaryValue out{step};
  for (const wire::Field& field : fields_of(value)) {
    if (field.number() == 1) out.tag = field.contents;
    if (field.number() == 2) out.simple = true, append_numbers<float>(field.contents, out.numbers);
    if (field.number() == 8) take_tensor(field.contents, out);
    if (field.number() == 9) out.metadata = field.contents;
  }
  return out;
}

// The events of a file, without their times, with which every one begins.
inline std::vector<std::string> events_of(const std::string& path) {
  RecordReader reader = RecordReader::open(path).take();
  std::vector<std::string> out;
  for (std::string_view record; reader.next(&record).take();) {
    EXPECT_EQ(fields_of(record).at(0).tag, wire::tag(1, wire::kFixed64));
    out.emplace_back(record.substr(9));
  }
  EXPECT_FALSE(out.empty());
  EXPECT_EQ(field_at(out.empty() ? "" : out[0], {3}), "brain.Event:2");
  return out;
}

inline std::vector<SummaryValue> values_of(const std::string& path) {
  std::vector<SummaryValue> out;
  for (const std::string& event : events_of(path)) {
    int64_t step = 0;
    for (const wire::Field& field : fields_of(event)) {
      if (field.number() == 2) step = static_cast<int64_t>(field.varint);
      if (field.number() != 5) continue;
      for (const wire::Field& value : fields_of(field.contents)) out.push_back(value_of(value.contents, step));
    }
  }
  return out;
}

// The scalars of a file, as TensorFlow 1 writes them or as TensorFlow 2.
inline std::vector<Scalar> scalars_of(const std::string& path) {
  std::vector<Scalar> out;
  for (const SummaryValue& value : values_of(path))
    if (value.simple || (value.numbers.size() == 1 && field_at(value.metadata, {1, 1}) == "scalars"))
      out.push_back({value.step, value.tag, static_cast<float>(value.numbers[0])});
  return out;
}

// The only file of a directory.
inline std::string only_file(const std::string& directory) {
  std::string out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    EXPECT_TRUE(out.empty()) << directory << " has several files";
    out = entry.path();
  }
  return out;
}

}  // namespace tenon::callback_testing
