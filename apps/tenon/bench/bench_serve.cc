#include "bench/bench_serve.h"

#include <charconv>

#include "serve/onnx_models.h"
#include "server/json/base64.h"
#include "server/load/load.h"
#include "tenon/exported_model.h"
#include "tenon/text_file.h"

namespace tenon::runner {
namespace {

using Kind = ServingValue::Kind;

// How a request is made.
struct Asked {
  std::string name;  // of the model at the server
  ExportedModel model;
  const ServingSignature* signature;
  int64_t rows;
};

// One number of it: any does, as no time depends on it.
std::string number_text(DType dtype) {
  return dtype == DType::kBool ? "true" : is_integer(dtype) || dtype == DType::kU8 ? "1" : "0.25";
}

std::string nested(const std::vector<int64_t>& dims, size_t axis, const std::string& number) {
  if (axis == dims.size()) return number;
  std::string one = nested(dims, axis + 1, number), out = "[";
  for (int64_t i = 0; i < dims[axis]; ++i) out += (i ? "," : "") + one;
  return out + "]";
}

std::string row_of(const Asked& asked, const std::string& image) {
  std::string out;
  for (const ServingValue& input : asked.signature->inputs) {
    const std::string value = input.kind == Kind::kImage
                                  ? "{\"b64\":\"" + server::to_base64(image) + "\"}"
                                  : nested(input.type.shape.vec(), 0, number_text(input.type.dtype));
    if (asked.signature->inputs.size() == 1) return value;
    out += (out.empty() ? "\"" : ",\"") + input.name + "\":" + value;
  }
  return "{" + out + "}";
}

std::string request_of(const Asked& asked, const std::string& host, const std::string& image) {
  const std::string row = row_of(asked, image);
  std::string body = "{\"signature_name\":\"" + asked.signature->key + "\",\"instances\":[";
  for (int64_t r = 0; r < asked.rows; ++r) body += (r ? "," : "") + row;
  body += "]}";
  return "POST /v1/models/" + asked.name + ":predict HTTP/1.1\r\nHost: " + host +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool takes_images(const ServingSignature& signature) {
  for (const ServingValue& input : signature.inputs)
    if (input.kind == Kind::kImage) return true;
  return false;
}

// The one that was named; else one that there is something to ask with.
const ServingSignature* signature_of(const ExportedModel& model, const std::string& named, bool image) {
  for (const ServingSignature& s : model.signatures())
    if (named.empty() ? takes_images(s) == image : s.key == named) return &s;
  if (named.empty())
    throw UsageError{image ? "--image: the model takes no images" : "--image is missing: the model takes images alone"};
  throw UsageError{"--signature: the model has no '" + named + "'"};
}

// The version that `directory` is, or the newest one in it, as `tenon serve --model` names them.
std::string version_of(const std::string& directory) {
  const auto versions = exported_versions(directory);
  return versions.ok() && !versions->empty() ? versions->front().path : directory;
}

Asked asked_of(const Flags& flags) {
  const std::string model = flags.required("model");
  const size_t equals = model.find('=');
  if (equals == model.npos || equals == 0) throw UsageError{"--model: expected NAME=DIR, found '" + model + "'"};
  const std::string version = version_of(model.substr(equals + 1));
  if (const std::string file = onnx_file_of(version); !file.empty())
    throw UsageError{
        format("--model: '%s' is an ONNX file, expected a version that says what it takes: `tenon import %s "
               "--output DIR` writes one",
               file.c_str(), file.c_str())};
  ExportedModel opened = ExportedModel::open(version).take();
  const bool image = !flags.text("image").empty();
  const ServingSignature* signature = signature_of(opened, flags.text("signature"), image);
  if (takes_images(*signature) != image)
    throw UsageError{image ? "--image: the signature '" + signature->key + "' takes no images"
                           : "--image is missing: the signature '" + signature->key + "' takes images"};
  return {model.substr(0, equals), std::move(opened), signature, flags.integer("rows")};
}

// "127.0.0.1:8501"
void read_address(const std::string& text, server::LoadOptions* options) {
  const size_t colon = text.rfind(':');
  const char* end = text.data() + text.size();
  if (colon == text.npos || std::from_chars(text.data() + colon + 1, end, options->port).ptr != end ||
      colon + 1 == text.size())
    throw UsageError{"--address: expected ADDRESS:PORT, found '" + text + "'"};
  options->host = text.substr(0, colon);
  if (options->host.size() > 2 && options->host.front() == '[')
    options->host = options->host.substr(1, options->host.size() - 2);
}

int64_t refused(const server::LoadResult& r) {
  int64_t out = 0;
  for (const auto& [code, count] : r.codes) out += code == 200 ? 0 : count;
  return out;
}

void print_table_head() {
  print_line("  asked/s  answers/s  mean ms   p50 ms   p90 ms   p99 ms p99.9 ms   max ms  refused");
}

void print_row(double rate, const server::LoadResult& r) {
  print_line(format("%9s %10.1f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8ld",
                    rate > 0 ? format("%.1f", rate).c_str() : "all", r.answers_per_second(), r.mean() * 1e3,
                    r.percentile(50) * 1e3, r.percentile(90) * 1e3, r.percentile(99) * 1e3, r.percentile(99.9) * 1e3,
                    r.percentile(100) * 1e3, static_cast<long>(refused(r))));
}

void print_json(const Flags& flags, double rate, const server::LoadResult& r) {
  std::string codes;
  for (const auto& [code, count] : r.codes)
    add_item(codes, "\"" + std::to_string(code) + "\": " + std::to_string(count));
  print_line(Json("result")
                 .add("model", flags.text("model"))
                 .add("asked_per_second", rate)
                 .add("rows", flags.integer("rows"))
                 .add("connections", flags.integer("connections"))
                 .add("asked", r.asked)
                 .add("answers_per_second", r.answers_per_second())
                 .add("mean_ms", r.mean() * 1e3)
                 .add("p50_ms", r.percentile(50) * 1e3)
                 .add("p90_ms", r.percentile(90) * 1e3)
                 .add("p99_ms", r.percentile(99) * 1e3)
                 .add("p99_9_ms", r.percentile(99.9) * 1e3)
                 .add("max_ms", r.percentile(100) * 1e3)
                 .raw("codes", "{" + codes + "}")
                 .str());
}

// "100,200"; none: a closed loop.
std::vector<double> rates_of(const std::string& text) {
  std::vector<double> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    double rate = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, rate);
    if (error != std::errc() || stop != text.data() + end || !(rate > 0 && rate <= 1e7))
      throw UsageError{"--rate: expected requests a second, as 100,200, found '" + text + "'"};
    out.push_back(rate);
    at = end + 1;
  }
  return out.empty() ? std::vector<double>{0} : out;
}

}  // namespace

void declare_bench_serve(Flags& flags) {
  flags.leave_out({"device", "threads", "seed"});
  flags.text("model", "",
             "NAME=DIR: what the server calls the model, and where it lies, which says what it takes: its versions, or "
             "one of them");
  flags.text("signature", "",
             "that is asked for; empty: the first that takes numbers, with --image the first that takes files");
  flags.text("image", "", "file of an image, to ask with");
  flags.text("address", "127.0.0.1:8501", "of the server's REST interface");
  flags.text(
      "rate", "",
      "requests a second, R,R,.. one after the other, whatever the answers take; empty: as fast as answers come");
  flags.number("seconds", 5, "in which requests are due, for each rate", 0.1, 86400);
  flags.integer("connections", 16, "that requests are shared among", 1, 10000);
  flags.integer("rows", 1, "examples in a request", 1, 1 << 16);
}

int run_bench_serve(const Flags& flags) {
  const std::vector<double> rates = rates_of(flags.text("rate"));
  const Asked asked = asked_of(flags);
  server::LoadOptions options;
  read_address(flags.text("address"), &options);
  const std::string& image = flags.text("image");
  options.request = request_of(asked, flags.text("address"), image.empty() ? "" : read_text_file(image).take());
  options.seconds = flags.number("seconds");
  options.connections = static_cast<int>(flags.integer("connections"));
  const bool json = flags.boolean("json");
  if (!json) print_table_head();
  bool answered = true;
  std::string codes;
  for (const double rate : rates) {
    options.rate = rate;
    const server::LoadResult result = server::run_load(options).take();
    json ? print_json(flags, rate, result) : print_row(rate, result);
    if (!result.latencies.empty()) continue;
    answered = false;
    for (const auto& [code, count] : result.codes) add_item(codes, std::to_string(code));
  }
  if (!answered)
    throw Error(Status(Code::kUnavailable,
                       "no request was answered with 200" + (codes.empty() ? codes : ", but with " + codes)));
  return 0;
}

}  // namespace tenon::runner
