#include "summary/event_proto.h"

#include <bit>

namespace tenon::event_proto {
namespace {

template <class Bits>
void put_fixed(std::string& out, uint32_t field, wire::Type type, Bits bits) {
  wire::put_varint(out, wire::tag(field, type));
  out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

std::string tensor_head(uint32_t dtype, const Shape& dims) {
  std::string out;
  put_number(out, kDType, dtype);
  wire::put_bytes(out, kShape, shape(dims.dims()));
  return out;
}

template <class T>
std::string tensor_of(uint32_t dtype, std::span<const T> values, const Shape& dims) {
  std::string out = tensor_head(dtype, dims);
  wire::put_bytes(out, kContent, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  return out;
}

std::string metadata(const Plugin& plugin) {
  std::string data, out;
  wire::put_bytes(data, kPluginName, plugin.name);
  put_text(data, kPluginContent, plugin.content);
  wire::put_bytes(out, kPluginData, data);
  put_text(out, kDisplayName, plugin.display_name);
  put_text(out, kDescription, plugin.description);
  return out;
}

}  // namespace

void put_number(std::string& out, uint32_t field, int64_t value) {
  wire::put_varint(out, wire::tag(field, wire::kVarint));
  wire::put_varint(out, static_cast<uint64_t>(value));
}

void put_double(std::string& out, uint32_t field, double value) {
  put_fixed(out, field, wire::kFixed64, std::bit_cast<uint64_t>(value));
}

void put_float(std::string& out, uint32_t field, float value) {
  put_fixed(out, field, wire::kFixed32, std::bit_cast<uint32_t>(value));
}

void put_text(std::string& out, uint32_t field, std::string_view text) {
  if (!text.empty()) wire::put_bytes(out, field, text);
}

std::string shape(std::span<const int64_t> dims) {
  std::string out;
  for (const int64_t size : dims) {
    std::string dim;
    put_number(dim, 1, size);
    wire::put_bytes(out, 2, dim);
  }
  return out;
}

std::string tensor(std::span<const float> values, const Shape& dims) { return tensor_of(kFloat, values, dims); }
std::string tensor(std::span<const double> values, const Shape& dims) { return tensor_of(kDouble, values, dims); }

std::string tensor(const std::vector<std::string>& values, const Shape& dims) {
  std::string out = tensor_head(kString, dims);
  for (const std::string& value : values) wire::put_bytes(out, kStrings, value);
  return out;
}

std::string value(std::string_view tag, const Plugin& plugin, std::string_view tensor) {
  std::string out;
  wire::put_bytes(out, kTag, tag);
  wire::put_bytes(out, kTensor, tensor);
  wire::put_bytes(out, kMetadata, metadata(plugin));
  return out;
}

std::string simple_value(std::string_view tag, double number, const Plugin& plugin) {
  std::string out;
  wire::put_bytes(out, kTag, tag);
  put_float(out, kSimpleValue, static_cast<float>(number));
  if (!plugin.description.empty()) wire::put_bytes(out, kMetadata, metadata(plugin));
  return out;
}

std::string file_version() {
  std::string out;
  wire::put_bytes(out, kFileVersion, "brain.Event:2");
  return out;
}

std::string summary(int64_t step, const std::vector<std::string>& values) {
  std::string all, out;
  for (const std::string& value : values) wire::put_bytes(all, kValue, value);
  put_number(out, kStep, step);
  wire::put_bytes(out, kSummary, all);
  return out;
}

std::string graph(std::string_view graph_def) {
  std::string out;
  wire::put_bytes(out, kGraphDef, graph_def);
  return out;
}

std::string session_start(int64_t step) {
  std::string log, out;
  put_number(log, kStatus, kStart);
  put_number(out, kStep, step);
  wire::put_bytes(out, kSessionLog, log);
  return out;
}

}  // namespace tenon::event_proto
