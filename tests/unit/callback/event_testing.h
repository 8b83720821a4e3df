// Reads what is written for TensorBoard: TFRecords of Event messages, taken apart by the rules of protobuf alone.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "data/record/wire.h"
#include "tenon/tfrecord.h"

namespace tenon::callback_testing {

struct Scalar {
  int64_t step = 0;
  std::string tag;
  float value = 0;
  bool operator==(const Scalar&) const = default;
};

// The fields of one protobuf message.
inline std::vector<wire::Field> fields_of(std::string_view message) {
  std::vector<wire::Field> out;
  for (wire::Field field; !message.empty();) {
    EXPECT_TRUE(wire::take_field(&message, &field));
    out.push_back(field);
  }
  return out;
}

inline Scalar scalar_of(std::string_view value, int64_t step) {
  Scalar out{step, "", 0};
  for (const wire::Field& field : fields_of(value)) {
    if (field.number() == 1) out.tag = field.contents;
    if (field.number() == 2) std::memcpy(&out.value, field.contents.data(), sizeof out.value);
  }
  return out;
}

// What TensorBoard shows of a file; every record begins with the time of day.
inline std::vector<Scalar> scalars_of(const std::string& path) {
  RecordReader reader = RecordReader::open(path).take();
  std::vector<Scalar> out;
  for (std::string_view record; reader.next(&record).take();) {
    int64_t step = 0;
    const std::vector<wire::Field> event = fields_of(record);
    EXPECT_EQ(event.at(0).tag, wire::tag(1, wire::kFixed64));
    for (const wire::Field& field : event) {
      EXPECT_TRUE(field.number() != 3 || field.contents == "brain.Event:2");
      if (field.number() == 2) step = static_cast<int64_t>(field.varint);
      if (field.number() != 5) continue;
      for (const wire::Field& value : fields_of(field.contents)) out.push_back(scalar_of(value.contents, step));
    }
  }
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
