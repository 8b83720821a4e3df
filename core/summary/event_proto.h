// The messages of tfevents (tensorflow/core/util/event.proto, framework/summary.proto, tensor.proto), as far as summaries
// have them. Each function appends to, or returns, the bytes of a message.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/record/protobuf_wire.h"
#include "tenon/types.h"

namespace tenon::event_proto {

// Fields of Event, Summary, Summary.Value, SessionLog, TensorProto and SummaryMetadata.
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kGraphDef = 4, kSummary = 5, kSessionLog = 7;
constexpr uint32_t kValue = 1;
constexpr uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
constexpr uint32_t kStatus = 1, kStart = 1;
constexpr uint32_t kDType = 1, kShape = 2, kContent = 4, kFloats = 5, kDoubles = 6, kStrings = 8;
constexpr uint32_t kPluginData = 1, kPluginName = 1, kPluginContent = 2, kDisplayName = 2, kDescription = 3;
// Numbers of TensorFlow's DataType.
constexpr uint32_t kFloat = 1, kDouble = 2, kString = 7;

void put_number(std::string& out, uint32_t field, int64_t value);
void put_double(std::string& out, uint32_t field, double value);
void put_float(std::string& out, uint32_t field, float value);
void put_text(std::string& out, uint32_t field, std::string_view text);  // nothing where it is empty

std::string shape(std::span<const int64_t> dims);  // TensorShapeProto
std::string tensor(std::span<const float> values, const Shape& dims);
std::string tensor(std::span<const double> values, const Shape& dims);
std::string tensor(const std::vector<std::string>& values, const Shape& dims);

struct Plugin {
  std::string_view name;
  std::string content = {}, display_name = {}, description = {};
};
// Summary.Value of a tensor, and of a number as TensorFlow 1 has it.
std::string value(std::string_view tag, const Plugin& plugin, std::string_view tensor);
std::string simple_value(std::string_view tag, double number, const Plugin& plugin);

// Event without its time: the first of a file, one with values of a step, with a graph, and the beginning of a training.
std::string file_version();
std::string summary(int64_t step, const std::vector<std::string>& values);
std::string graph(std::string_view graph_def);
std::string session_start(int64_t step);

// Calls take(field) for each field as far as the message is sound.
template <class Take>
void each_field(std::string_view message, const Take& take) {
  for (wire::Field field; !message.empty() && wire::take_field(&message, &field);) take(field);
}

}  // namespace tenon::event_proto
