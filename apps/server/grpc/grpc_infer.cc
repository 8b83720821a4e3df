// Classify, Regress and MultiInference: each task is a request of its own for the batcher.
#include <atomic>
#include <new>

#include "server/grpc/examples.h"
#include "server/grpc/grpc_api.h"
#include "server/grpc/grpc_status.h"
#include "server/models/methods.h"
#include "server/rest/rest_api.h"

namespace tenon::server {
namespace {

RequestMethod method_of(const GrpcTask& task) {
  return task.regression ? RequestMethod::kRegress : RequestMethod::kClassify;
}

// A call on its way, until the last of its tasks has ended.
class Inference {
 public:
  Inference(size_t tasks, std::function<void(GrpcResults&&)> done) : done_(std::move(done)), left_(tasks) {
    results_.results.resize(tasks);
  }

  void end(const std::shared_ptr<LoadedVersion>& version, size_t task, Result<GrpcResult> result) {
    if (result.ok())
      results_.results[task] = result.take();
    else
      fail(grpc_status(result.status()));
    end_as(version, http_status(result.status()));
  }
  void refuse(const std::shared_ptr<LoadedVersion>& version, GrpcStatus status, int counted) {
    fail(std::move(status));
    end_as(version, counted);
  }

 private:
  void fail(GrpcStatus status) {
    if (!failed_.exchange(true)) results_.status = std::move(status);  // the first one
  }
  void end_as(const std::shared_ptr<LoadedVersion>& version, int counted) {
    if (version) version->metrics->count_request(counted, std::chrono::duration<double>(Clock::now() - start_).count());
    if (--left_ > 0) return;
    if (results_.status.code != 0) results_.results.clear();
    done_(std::move(results_));
  }

  const Clock::time_point start_ = Clock::now();
  std::function<void(GrpcResults&&)> done_;
  GrpcResults results_;
  std::atomic<bool> failed_ = false;
  std::atomic<size_t> left_;
};

GrpcResult result_of(const GrpcTask& task, const ServingSignature& signature, const ServedModel& model,
                     const Arrays& outputs) {
  GrpcResult out{task.model, task.regression, {}, {}};
  if (task.regression) {
    out.values = regression_values(signature, outputs);
    return out;
  }
  const Array& scores = class_scores(signature, outputs);
  const std::vector<float> values = scores.to<float>();
  auto value = values.begin();
  for (int64_t row = 0; row < scores.dim(0); ++row) {
    out.classes.emplace_back();
    for (int64_t c = 0; c < scores.dim(1); ++c) out.classes.back().push_back({model.label(c), *value++});
  }
  return out;
}

// What all tasks of a call are about.
Status check_tasks(const std::vector<GrpcTask>& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    const GrpcModel &first = tasks[0].model, &model = tasks[i].model;
    if (model.name != first.name || model.version != first.version || model.label != first.label)
      return Status(Code::kInvalid, "All ModelSpecs in a MultiInferenceRequest must access the same model and version");
    for (size_t k = 0; k < i; ++k)
      if (tasks[k].model.signature == model.signature && tasks[k].regression == tasks[i].regression)
        return Status(Code::kInvalid, "Duplicate evaluation of signature: " + model.signature);
  }
  return tasks.empty() ? Status(Code::kInvalid, "Inference request contains no tasks") : Status();
}

// Gives the task to the batcher, or ends it.
void begin(const std::shared_ptr<Inference>& call, const std::shared_ptr<LoadedVersion>& version, size_t index,
           GrpcTask task, const std::vector<std::string>& examples, const RequestLimits& limits,
           Clock::time_point deadline) {
  Batcher& batcher = version->batcher;
  task.model = told(std::move(task.model), version->number);
  const ServingSignature* const signature = find_signature(batcher.model(), task.model.signature);
  if (!signature) return call->end(version, index, no_signature(task.model.signature));
  if (const Status status = check_method(*signature, method_of(task)); !status.ok())
    return call->end(version, index, status);
  if (batcher.full()) return call->refuse(version, grpc_too_busy(), 429);
  Result<Arrays> inputs = example_inputs(examples, *signature, batcher.model(), limits);
  if (!inputs.ok()) return call->end(version, index, inputs.status());
  BatchRequest batch{signature, inputs.take(), std::ssize(examples), deadline, {}};
  batch.done = [=](Result<Arrays> outputs) {
    if (outputs.ok())
      call->end(version, index, result_of(task, *signature, version->batcher.model(), *outputs));
    else
      call->end(version, index, outputs.status());
  };
  if (!batcher.submit(std::move(batch))) call->refuse(version, grpc_too_busy(), 429);
}

}  // namespace

void GrpcApi::infer(GrpcInference&& request, std::function<void(GrpcResults&&)> done) {
  if (const Status status = check_tasks(request.tasks); !status.ok()) return done({grpc_status(status), {}});
  const GrpcModel model = request.tasks[0].model;
  if (texts_of(model.name))
    return done({{kGrpcInvalidArgument, "the model " + model.name + " writes texts: expected Predict"}, {}});
  const auto version = models_->find(model.name, {model.version, model.label});
  if (!version.ok()) return done({grpc_not_found(version.status()), {}});
  const auto call = std::make_shared<Inference>(request.tasks.size(), std::move(done));
  for (size_t i = 0; i < request.tasks.size(); ++i) try {
      begin(call, *version, i, std::move(request.tasks[i]), request.examples, options_.limits, deadline());
    } catch (const std::bad_alloc&) {
      call->end(*version, i, Status(Code::kOutOfMemory, "out of memory"));
    }
}

}  // namespace tenon::server
