// What a server counts, in the text format of Prometheus. Counting takes no lock. Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tenon::server {

// Counts of values up to each bound, and beyond the last.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void add(double value);
  // "NAME_bucket{LABELS,le="0.001"} 3" and so on; `labels` as within the braces.
  void write(std::string* out, const std::string& name, const std::string& labels) const;
  uint64_t count() const;

 private:
  std::span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

// HTTP's status codes that the server answers with, and 499 of who has gone before; others are counted as the last.
inline constexpr std::array kCountedCodes = {200, 400, 401, 404, 405, 408, 413, 415, 417,
                                             429, 431, 499, 500, 501, 503, 504, 505, 0};
using CodeCounts = std::array<std::atomic<uint64_t>, kCountedCodes.size()>;

// What is counted of a model's version. It stays when the version has gone.
struct VersionMetrics {
  VersionMetrics(std::string model_name, int64_t number);

  const std::string model;
  const int64_t version;
  CodeCounts requests{};      // of predictions, by code
  Histogram request_seconds;  // from the head of a request to its answer
  Histogram batch_rows;       // of calls of the model; of texts: lines
  Histogram batch_seconds;    // the time of such a call
  std::atomic<int64_t> queued_rows = 0;
  std::atomic<int64_t> tokens = -1;  // that were written; -1: it writes no texts
  std::atomic<int> loaded = 0;       // how often it is loaded: twice while a model's configuration changes

  void count_request(int code, double seconds);
  void count_batch(int64_t rows, double seconds);
};

class Metrics {
 public:
  // The same object for the same version. Of versions that are no longer loaded the newest 16 a model are kept.
  std::shared_ptr<VersionMetrics> version(const std::string& model, int64_t version);
  void count_response(int code);  // any, of predictions too

  std::atomic<int64_t> connections = 0;
  std::atomic<int64_t> body_bytes = 0;  // of requests that have no answer yet
  std::atomic<uint64_t> accepted = 0;

  std::string text() const;

 private:
  CodeCounts responses_{};
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<VersionMetrics>> versions_;  // in the order in which they were loaded
};

}  // namespace tenon::server
