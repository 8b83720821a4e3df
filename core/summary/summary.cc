#include "tenon/summary.h"

#include <chrono>

#include "base/strings.h"
#include "data/image/image.h"
#include "summary/event_file.h"
#include "summary/event_proto.h"
#include "summary/summary_values.h"

namespace tenon {
namespace {

using event_proto::Plugin;
using event_proto::value;

// 1 channel or 3 of bytes.
struct Pixels {
  int64_t images, height, width, channels;
  std::vector<uint8_t> bytes;
  const uint8_t* image(int64_t i) const { return bytes.data() + i * height * width * channels; }
};

// As tf.image.convert_image_dtype rounds.
uint8_t byte_of(float shade) {
  if (!(shade > 0)) return 0;
  return static_cast<uint8_t>(std::min(shade * 255.5f, 255.0f));
}

Pixels pixels_of(const std::string& name, const Array& data, int64_t most) {
  const int64_t stored = data.shape().rank() == 4 ? data.dim(3) : 0;
  if (stored < 1 || stored > 4 || (data.dtype() != DType::kU8 && !is_float(data.dtype())))
    fail("image summary '", name, "' is ", data.type().str(),
         ", expected floats or u8 [images, height, width, 1 to 4 channels]");
  Pixels out{std::min(data.dim(0), std::max<int64_t>(most, 0)), data.dim(1), data.dim(2), stored < 3 ? 1 : 3, {}};
  const Array first = data.rows(0, out.images);
  const auto take = [&](auto values, auto as_byte) {
    for (size_t pixel = 0; pixel < values.size(); pixel += static_cast<size_t>(stored))
      for (size_t c = 0; c < static_cast<size_t>(out.channels); ++c) out.bytes.push_back(as_byte(values[pixel + c]));
  };
  if (data.dtype() == DType::kU8)
    take(first.to<uint8_t>(), [](uint8_t v) { return v; });
  else
    take(first.to<float>(), byte_of);
  return out;
}

}  // namespace

SummaryWriter::SummaryWriter(const std::string& logdir, SummaryWriterOptions options) : options_(std::move(options)) {
  if (logdir.empty()) fail("SummaryWriter: logdir is '', expected a directory");
  file_ = EventFile::of(logdir, options_.tf1 ? "" : options_.filename_suffix);
}

void SummaryWriter::put(const std::string& value, int64_t step) {
  if (file_) file_->add(event_proto::summary(step, {value}));
}

void SummaryWriter::scalar(const std::string& name, double data, int64_t step, const ScalarSummaryOptions& options) {
  put(scalar_value(name, data, options.description, options_.tf1), step);
}

void SummaryWriter::scalars(const std::map<std::string, double>& by_name, int64_t step) {
  std::vector<std::string> values;
  for (const auto& [name, data] : by_name) values.push_back(scalar_value(name, data, {}, options_.tf1));
  if (file_ && !values.empty()) file_->add(event_proto::summary(step, values));
}

void SummaryWriter::histogram(const std::string& name, const Array& data, int64_t step,
                              const HistogramSummaryOptions& options) {
  if (options.buckets < 1) fail("histogram summary '", name, "': buckets is ", options.buckets, ", expected 1 or more");
  const std::vector<double> buckets = histogram_buckets(data, options.buckets);
  put(value(name, {"histograms", "", "", options.description}, event_proto::tensor(buckets, {options.buckets, 3})),
      step);
}

void SummaryWriter::image(const std::string& name, const Array& data, int64_t step,
                          const ImageSummaryOptions& options) {
  const Pixels pixels = pixels_of(name, data, options.max_outputs);
  std::vector<std::string> strings{cat(pixels.width), cat(pixels.height)};
  for (int64_t i = 0; i < pixels.images; ++i)
    strings.push_back(encode_png(pixels.image(i), static_cast<int>(pixels.width), static_cast<int>(pixels.height),
                                 static_cast<int>(pixels.channels))
                          .take());
  put(value(name, {"images", "", "", options.description}, event_proto::tensor(strings, {std::ssize(strings)})), step);
}

void SummaryWriter::text(const std::string& name, const std::vector<std::string>& data, int64_t step,
                         const TextSummaryOptions& options) {
  put(value(name, {"text", "", "", options.description}, event_proto::tensor(data, {std::ssize(data)})), step);
}

void SummaryWriter::text(const std::string& name, const std::string& data, int64_t step,
                         const TextSummaryOptions& options) {
  put(value(name, {"text", "", "", options.description}, event_proto::tensor(std::vector{data}, {})), step);
}

void SummaryWriter::pr_curve(const std::string& name, const Array& labels, const Array& predictions, int64_t step,
                             const PrCurveSummaryOptions& options) {
  const std::vector<float> curve = pr_curve_values(name, labels, predictions, options);
  std::string content;
  event_proto::put_number(content, 2, options.num_thresholds);
  const std::string& shown = options.display_name.empty() ? name : options.display_name;
  put(value(name + "/pr_curves", {"pr_curves", content, shown, options.description},
            event_proto::tensor(curve, {6, options.num_thresholds})),
      step);
}

void SummaryWriter::graph(const std::vector<GraphNode>& nodes) {
  if (file_) file_->add(event_proto::graph(graph_def(nodes)));
}

void SummaryWriter::hparams(const Params& values, const std::string& trial_id) {
  put(hparams_start_value(values, trial_id), 0);
}

void SummaryWriter::hparams_end(bool success) { put(hparams_end_value(success), 0); }

void SummaryWriter::hparams_config(const std::vector<HParamInfo>& hparams, const std::vector<MetricInfo>& metrics) {
  put(hparams_experiment_value(hparams, metrics), 0);
}

void SummaryWriter::restarted(int64_t step) {
  if (file_) file_->add(event_proto::session_start(step + 1));
}

const std::string& SummaryWriter::path() const {
  static const std::string none;
  return file_ ? file_->path() : none;
}

const std::string& SummaryWriter::notice() const {
  static const std::string none;
  return file_ ? file_->notice() : none;
}

}  // namespace tenon
