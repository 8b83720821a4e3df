// Requests for one version of a model meet in batches (server/models/job_queue.h says which): those of one signature.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "server/models/job_queue.h"
#include "server/served_model.h"

namespace tenon::server {

// What a batch of each size takes, where it is known.
using SizeSeconds = std::map<int64_t, double>;
// How many of so many rows are computed now, where a batch is padded to the next of `sizes`: all of them, or, where the padding would
// cost more than two batches, as many as the next smaller size has. REQUIRED: 1 <= rows <= the last size.
int64_t rows_worth(int64_t rows, const std::vector<int64_t>& sizes, const SizeSeconds& seconds);

struct BatchRequest {
  const ServingSignature* signature = nullptr;  // one of the model's
  Arrays inputs;                                // tensors of the signature's inputs, all with `rows` rows, of its types
  int64_t rows = 0;                             // at least 1
  Clock::time_point deadline = Clock::time_point::max();
  // Called once, by the batcher's thread: the outputs' tensors; kTimeout where the deadline passed while it waited, kUnavailable
  // where the batcher ended. It must not throw.
  std::function<void(Result<Arrays>)> done;
};

class Batcher : private JobWorker {
 public:
  Batcher(std::unique_ptr<ServedModel> model, const BatchOptions& options, std::shared_ptr<VersionMetrics> metrics);

  const ServedModel& model() const { return *model_; }
  // As those of JobQueue.
  int64_t max_queued_rows() const { return queue_.max_queued_rows(); }
  bool submit(BatchRequest&& request);
  bool full() { return queue_.full(); }
  void end() { queue_.end(); }

 private:
  int64_t max_rows() const override { return model_->max_rows(); }
  int64_t rows_of(int64_t waiting) const override;
  void work(std::span<JobPart> parts) override;
  Result<Arrays> call(const ServingSignature& signature, const Arrays& inputs, int64_t rows);
  void learn(int64_t rows, double seconds);

  const std::unique_ptr<ServedModel> model_;
  const std::shared_ptr<VersionMetrics> metrics_;
  const std::vector<int64_t> sizes_;
  SizeSeconds seconds_;  // the queue's thread alone uses it
  JobQueue queue_;       // the last: its thread uses the others
};

}  // namespace tenon::server
