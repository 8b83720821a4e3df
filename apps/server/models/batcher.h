// Requests for one version of a model meet in batches: a queue for each signature, and one thread that calls the model.
//
// A request that comes while nothing is computed is computed at once, alone. Those that come meanwhile wait for the thread and go
// together, at most max_rows() of them; with `timeout` the thread waits for more until the first of them is as old. A request with
// more rows is computed in parts, between which other requests have their turn.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/metrics.h"
#include "server/served_model.h"

namespace tenon::server {

using Clock = std::chrono::steady_clock;

struct BatchOptions {
  std::chrono::microseconds timeout{0};
  int64_t max_queued_rows = 512;  // of all signatures together
};

struct BatchRequest {
  const ServingSignature* signature = nullptr;  // one of the model's
  Arrays inputs;                                // tensors of the signature's inputs, all with `rows` rows, of its types
  int64_t rows = 0;                             // at least 1
  Clock::time_point deadline = Clock::time_point::max();
  // Called once, by the batcher's thread: the outputs' tensors; kTimeout where the deadline passed while it waited, kUnavailable
  // where the batcher ended. It must not throw.
  std::function<void(Result<Arrays>)> done;
};

class Batcher {
 public:
  Batcher(std::unique_ptr<ServedModel> model, const BatchOptions& options, std::shared_ptr<VersionMetrics> metrics);
  ~Batcher();  // end()
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  const ServedModel& model() const { return *model_; }
  int64_t max_queued_rows() const { return options_.max_queued_rows; }
  // Thread safe. False, and nothing was taken, where as many rows wait as may: a request with more of them is only taken when none
  // waits.
  bool submit(BatchRequest&& request);
  // Whether submit() would refuse any request now. Thread safe.
  bool full() const { return queued_rows_ >= options_.max_queued_rows; }
  // Ends the thread; what still waits, and what comes then, is refused with kUnavailable. One thread at a time.
  void end();

 private:
  struct Waiting {
    BatchRequest request;
    Clock::time_point arrival;
    bool met_idle = false;  // nothing was computed when it came
    int64_t taken = 0;      // rows that were computed
    Arrays outputs = {};
  };
  struct Queue {
    std::deque<Waiting> waiting;
    int64_t rows = 0;
  };
  void add_rows(Queue* queue, int64_t rows);
  // Rows of a batch: `count` of its request's.
  struct Part {
    Waiting waiting;
    int64_t count;
  };

  void run();
  Queue* next_queue();
  bool wait_for_more(std::unique_lock<std::mutex>* lock, Queue* queue);
  std::vector<Part> take(Queue* queue, std::vector<Waiting>* expired);
  void compute(std::vector<Part>* parts);
  Result<Arrays> call(const ServingSignature& signature, const Arrays& inputs, int64_t rows);
  void deliver(std::vector<Part>* parts, Result<Arrays> result);

  std::unique_ptr<ServedModel> model_;
  BatchOptions options_;
  std::shared_ptr<VersionMetrics> metrics_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Queue> queues_;  // by signature
  std::atomic<int64_t> queued_rows_ = 0;
  bool computing_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tenon::server
