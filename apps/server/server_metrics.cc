#include "server/server_metrics.h"

#include <algorithm>
#include <charconv>

#include "tenon/text.h"

namespace tenon::server {
namespace {

constexpr double kSecondBounds[] = {1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05,
                                    0.1,  0.2,  0.5,  1,    2,    5,    10,   30};
constexpr double kRowBounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr size_t kKeptVersions = 16;

std::string shortest(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

size_t index_of_code(int code) {
  const auto at = std::find(kCountedCodes.begin(), kCountedCodes.end() - 1, code);
  return static_cast<size_t>(at - kCountedCodes.begin());
}

std::string code_text(size_t index) { return kCountedCodes[index] ? std::to_string(kCountedCodes[index]) : "other"; }

void open_family(std::string* out, const char* name, const char* type, const char* help) {
  *out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void sample(std::string* out, const std::string& name, const std::string& labels, const std::string& value) {
  *out += name + (labels.empty() ? " " : "{" + labels + "} ") + value + "\n";
}

std::string labels_of(const VersionMetrics& v) {
  return "model=" + json_string(v.model) + ",version=\"" + std::to_string(v.version) + "\"";
}

// TF Serving's name of what came of a request.
const char* tensorflow_status(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "INVALID_ARGUMENT";
    case 429:
      return "RESOURCE_EXHAUSTED";
    case 499:
      return "CANCELLED";
    case 503:
      return "UNAVAILABLE";
    case 504:
      return "DEADLINE_EXCEEDED";
    default:
      return "INTERNAL";
  }
}

}  // namespace

void Histogram::add(double value) {
  const auto bucket = static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t Histogram::count() const {
  uint64_t all = 0;
  for (const auto& c : counts_) all += c.load(std::memory_order_relaxed);
  return all;
}

void Histogram::write(std::string* out, const std::string& name, const std::string& labels) const {
  uint64_t up_to = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    up_to += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? shortest(bounds_[i]) : "+Inf";
    sample(out, name + "_bucket", labels + ",le=\"" + bound + "\"", std::to_string(up_to));
  }
  sample(out, name + "_sum", labels, shortest(sum_.load(std::memory_order_relaxed)));
  sample(out, name + "_count", labels, std::to_string(up_to));
}

VersionMetrics::VersionMetrics(std::string model_name, int64_t number)
    : model(std::move(model_name)),
      version(number),
      request_seconds(kSecondBounds),
      batch_rows(kRowBounds),
      batch_seconds(kSecondBounds) {}

void VersionMetrics::count_request(int code, double seconds) {
  requests[index_of_code(code)].fetch_add(1, std::memory_order_relaxed);
  request_seconds.add(seconds);
}

void VersionMetrics::count_batch(int64_t rows, double seconds) {
  batch_rows.add(static_cast<double>(rows));
  batch_seconds.add(seconds);
}

std::shared_ptr<VersionMetrics> Metrics::version(const std::string& model, int64_t version) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<VersionMetrics>> unloaded;
  for (const auto& v : versions_) {
    if (v->model != model) continue;
    if (v->version == version) return v;
    if (!v->loaded) unloaded.push_back(v);
  }
  if (unloaded.size() >= kKeptVersions) std::erase(versions_, unloaded.front());
  return versions_.emplace_back(std::make_shared<VersionMetrics>(model, version));
}

void Metrics::count_response(int code) { responses_[index_of_code(code)].fetch_add(1, std::memory_order_relaxed); }

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  const auto each_code = [&](const VersionMetrics& v, const auto& name, const auto& labels) {
    for (size_t i = 0; i < kCountedCodes.size(); ++i)
      if (const uint64_t n = v.requests[i].load(std::memory_order_relaxed); n > 0)
        sample(&out, name, labels(i), std::to_string(n));
  };
  open_family(&out, "tenon_requests_total", "counter", "Predictions that were asked for, by HTTP status.");
  for (const auto& v : versions_)
    each_code(*v, "tenon_requests_total", [&](size_t i) { return labels_of(*v) + ",code=\"" + code_text(i) + "\""; });
  open_family(&out, ":tensorflow:serving:request_count", "counter", "The same, by TF Serving's names.");
  for (const auto& v : versions_)
    each_code(*v, ":tensorflow:serving:request_count", [&](size_t i) {
      return "model_name=" + json_string(v->model) + ",version=\"" + std::to_string(v->version) + "\",code=\"" +
             code_text(i) + "\",status=\"" + tensorflow_status(kCountedCodes[i]) + "\"";
    });
  open_family(&out, "tenon_request_seconds", "histogram", "From a request's head to its answer.");
  for (const auto& v : versions_) v->request_seconds.write(&out, "tenon_request_seconds", labels_of(*v));
  open_family(&out, "tenon_batch_rows", "histogram", "Rows of a call of the model.");
  for (const auto& v : versions_) v->batch_rows.write(&out, "tenon_batch_rows", labels_of(*v));
  open_family(&out, "tenon_batch_seconds", "histogram", "The time of a call of the model.");
  for (const auto& v : versions_) v->batch_seconds.write(&out, "tenon_batch_seconds", labels_of(*v));
  open_family(&out, "tenon_queue_rows", "gauge", "Rows that wait for a batch.");
  for (const auto& v : versions_)
    if (v->loaded) sample(&out, "tenon_queue_rows", labels_of(*v), std::to_string(v->queued_rows.load()));
  open_family(&out, "tenon_tokens_total", "counter", "Tokens that models of text have written.");
  for (const auto& v : versions_)
    if (const int64_t tokens = v->tokens.load(); tokens >= 0)
      sample(&out, "tenon_tokens_total", labels_of(*v), std::to_string(tokens));
  open_family(&out, "tenon_http_responses_total", "counter", "Answers of the server, of any kind.");
  for (size_t i = 0; i < kCountedCodes.size(); ++i)
    if (const uint64_t n = responses_[i].load(std::memory_order_relaxed); n > 0)
      sample(&out, "tenon_http_responses_total", "code=\"" + code_text(i) + "\"", std::to_string(n));
  open_family(&out, "tenon_connections", "gauge", "Connections that are open.");
  sample(&out, "tenon_connections", "", std::to_string(connections.load()));
  open_family(&out, "tenon_connections_accepted_total", "counter", "Connections since the start.");
  sample(&out, "tenon_connections_accepted_total", "", std::to_string(accepted.load()));
  open_family(&out, "tenon_request_body_bytes", "gauge", "Bytes of requests that have no answer yet.");
  sample(&out, "tenon_request_body_bytes", "", std::to_string(body_bytes.load()));
  return out;
}

}  // namespace tenon::server
