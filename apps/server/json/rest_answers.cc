#include "server/json/rest_answers.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "tenon/text.h"

namespace tenon::server {
namespace {

template <class T>
void write_value(std::string* out, T value) {
  char text[40];
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return void(*out += "null");
  }
  const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
  const std::string_view written(text, static_cast<size_t>(end - text));
  *out += written;
  if constexpr (std::is_floating_point_v<T>)
    if (written.find_first_of(".e") == written.npos) *out += ".0";
}

// The elements of an output, with what is written for one.
class OutputWriter {
 public:
  OutputWriter(const ServedModel& model, const ServingValue& output, const Array& array)
      : model_(model), output_(output), array_(&array) {
    const DType dtype = array.dtype();
    if (dtype == DType::kF16 || dtype == DType::kBF16) {
      wide_ = Array(array.to<float>(), array.shape());
      array_ = &wide_;
    }
  }
  OutputWriter(const OutputWriter&) = delete;

  const std::string& name() const { return output_.name; }
  void write_all(std::string* out) const { write(out, 0, 0, array_->elements()); }
  void write_row(std::string* out, int64_t row) const {
    const int64_t size = array_->elements() / array_->dim(0);
    write(out, 1, row * size, size);
  }

 private:
  // `count` elements from `begin` on, which are axis `axis` and those behind it.
  void write(std::string* out, int axis, int64_t begin, int64_t count) const {
    if (axis == array_->shape().rank()) return write_element(out, begin);
    const int64_t size = array_->dim(axis);
    *out += '[';
    for (int64_t i = 0; i < size; ++i) {
      if (i) *out += ',';
      write(out, axis + 1, begin + i * (count / size), count / size);
    }
    *out += ']';
  }
  template <class T>
  T at(int64_t index) const {
    T value;
    std::memcpy(&value, array_->bytes().data() + static_cast<size_t>(index) * sizeof value, sizeof value);
    return value;
  }
  void write_element(std::string* out, int64_t index) const {
    if (output_.kind == ServingValue::Kind::kLabel)
      return void(*out +=
                  json_string(model_.label(array_->dtype() == DType::kI64 ? at<int64_t>(index) : at<int32_t>(index))));
    switch (array_->dtype()) {
      case DType::kF32:
        return write_value(out, at<float>(index));
      case DType::kF64:
        return write_value(out, at<double>(index));
      case DType::kI32:
        return write_value(out, at<int32_t>(index));
      case DType::kI64:
        return write_value(out, at<int64_t>(index));
      case DType::kU8:
        return write_value(out, static_cast<int>(at<uint8_t>(index)));
      case DType::kBool:
        return void(*out += at<uint8_t>(index) ? "true" : "false");
      default:
        return void(*out += "null");
    }
  }

  const ServedModel& model_;
  const ServingValue& output_;
  const Array* array_;
  Array wide_;
};

}  // namespace

std::string predict_answer(const ServedModel& model, const ServingSignature& signature, RequestFormat format,
                           const Arrays& outputs, int64_t rows) {
  std::vector<std::unique_ptr<OutputWriter>> writers;
  size_t bytes = 64;
  for (const ServingValue& output : signature.outputs) {
    const Array& array = outputs.at(output.tensor);
    writers.push_back(std::make_unique<OutputWriter>(model, output, array));
    bytes += static_cast<size_t>(array.elements()) * 12 + static_cast<size_t>(rows) * (output.name.size() + 8);
  }
  std::string out;
  out.reserve(bytes);
  const auto write_each = [&](const auto& write) {
    if (writers.size() == 1) return write(*writers[0]);
    out += '{';
    for (size_t i = 0; i < writers.size(); ++i) {
      out += (i ? "," : "") + json_string(writers[i]->name()) + ":";
      write(*writers[i]);
    }
    out += '}';
  };
  if (format == RequestFormat::kColumns) {
    out += "{\"outputs\":";
    write_each([&](const OutputWriter& w) { w.write_all(&out); });
    return out += "}\n";
  }
  out += "{\"predictions\":[";
  for (int64_t row = 0; row < rows; ++row) {
    if (row) out += ',';
    write_each([&](const OutputWriter& w) { w.write_row(&out, row); });
  }
  return out += "]}\n";
}

std::string classify_answer(const ServedModel& model, const ServingSignature& signature, const Arrays& outputs) {
  const Array& scores = class_scores(signature, outputs);
  const std::vector<float> values = scores.to<float>();
  std::string out = "{\"results\":[";
  const int64_t classes = scores.dim(1);
  for (int64_t row = 0; row < scores.dim(0); ++row) {
    out += row ? ",[" : "[";
    for (int64_t c = 0; c < classes; ++c) {
      out += (c ? ",[" : "[") + json_string(model.label(c)) + ",";
      write_value(&out, values[static_cast<size_t>(row * classes + c)]);
      out += ']';
    }
    out += ']';
  }
  return out += "]}\n";
}

std::string regress_answer(const ServingSignature& signature, const Arrays& outputs) {
  std::string out = "{\"results\":[";
  bool first = true;
  for (const float value : regression_values(signature, outputs)) {
    if (!std::exchange(first, false)) out += ',';
    write_value(&out, value);
  }
  return out += "]}\n";
}

std::string error_answer(std::string_view message) { return "{\"error\":" + json_string(message) + "}\n"; }

}  // namespace tenon::server
