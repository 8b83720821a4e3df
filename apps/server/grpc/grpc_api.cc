#include "server/grpc/grpc_api.h"

#include <new>

#include "server/grpc/tensors.h"
#include "server/rest/rest_api.h"

namespace tenon::server {
namespace {

// gRPC's codes: https://grpc.github.io/grpc/core/md_doc_statuscodes.html
enum GrpcCode : int {
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14
};

GrpcStatus grpc_status(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return {};
    case Code::kInvalid:
      return {kInvalidArgument, status.message()};
    case Code::kUnsupported:
      return {kUnimplemented, status.message()};
    case Code::kUnavailable:
      return {kUnavailable, status.message()};
    case Code::kOutOfMemory:
      return {kResourceExhausted, status.message()};
    case Code::kTimeout:
      return {kDeadlineExceeded, status.message()};
    default:
      return {kInternal, status.message()};
  }
}

GrpcStatus not_found(const Status& status) { return {kNotFound, status.message()}; }

GrpcModel told(GrpcModel model, const LoadedVersion& version) {
  model.version = version.number;
  if (model.signature.empty()) model.signature = "serving_default";
  return model;
}

// A prediction on its way.
struct Call {
  Clock::time_point start = Clock::now();
  std::shared_ptr<LoadedVersion> version = {};
  const ServingSignature* signature = nullptr;
  GrpcAnswer answer = {};
  std::vector<std::string> output_filter = {};
  std::function<void(GrpcAnswer&&)> done = {};

  void end(const Status& status) {
    if (!status.ok()) answer.status = grpc_status(status);
    end_as(http_status(status));
  }
  void end_as(int counted) {
    if (version) version->metrics->count_request(counted, std::chrono::duration<double>(Clock::now() - start).count());
    done(std::move(answer));
  }
  void take(Result<Arrays> result) {
    if (!result.ok()) return end(result.status());
    Result<GrpcTensors> outputs = signature_outputs(*result, *signature, version->batcher.model(), output_filter);
    if (!outputs.ok()) return end(outputs.status());
    answer.outputs = outputs.take();
    end({});
  }
};

}  // namespace

Result<std::shared_ptr<LoadedVersion>> GrpcApi::find(const GrpcModel& model) const {
  const ModelVersions* const versions = models_->find(model.name);
  if (!versions) return Status(Code::kUnavailable, "Servable not found for request: Latest(" + model.name + ")");
  return versions->find({model.version, model.label});
}

void GrpcApi::predict(GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done) {
  const auto call = std::make_shared<Call>();
  call->done = std::move(done);
  auto version = find(request.model);
  if (!version.ok()) return call->answer.status = not_found(version.status()), call->end_as(404);
  call->version = std::move(*version);
  call->answer.model = told(std::move(request.model), *call->version);
  call->output_filter = std::move(request.output_filter);
  Batcher& batcher = call->version->batcher;
  call->signature = find_signature(batcher.model(), call->answer.model.signature);
  if (!call->signature)
    return call->end(Status(
        Code::kInvalid, "Serving signature name: \"" + call->answer.model.signature + "\" not found in signature def"));
  const auto too_busy = [&] {
    call->answer.status = {kResourceExhausted, "the queue of the model is full"};
    call->end_as(429);
  };
  if (batcher.full()) return too_busy();
  try {
    BatchRequest batch;
    Result<Arrays> inputs =
        signature_inputs(std::move(request.inputs), *call->signature, batcher.model(), limits_, &batch.rows);
    if (!inputs.ok()) return call->end(inputs.status());
    batch.signature = call->signature;
    batch.inputs = inputs.take();
    batch.deadline = Clock::now() + request_timeout_;
    batch.done = [call](Result<Arrays> result) { call->take(std::move(result)); };
    if (!batcher.submit(std::move(batch))) too_busy();
  } catch (const std::bad_alloc&) {
    call->end(Status(Code::kOutOfMemory, "out of memory"));
  }
}

GrpcMetadata GrpcApi::metadata(const GrpcModel& model) const {
  const auto version = find(model);
  if (!version.ok()) return {not_found(version.status()), {}, {}};
  GrpcMetadata out{{}, told(model, **version), {}};
  out.model.signature.clear();
  for (const ServingSignature& s : (*version)->batcher.model().signatures())
    out.signatures.push_back({s.key, s.method_name, value_types(s.inputs), value_types(s.outputs)});
  return out;
}

GrpcStates GrpcApi::states(const GrpcModel& model) const {
  const ModelVersions* const versions = models_->find(model.name);
  GrpcStates out;
  if (versions)
    for (const VersionStatus& s : versions->states())
      if (!model.version || s.number == *model.version)
        out.versions.push_back({s.number, 10 * (static_cast<int>(s.state) + 1), grpc_status(s.error)});
  if (out.versions.empty()) out.status = {kNotFound, "Could not find any versions of model " + model.name};
  return out;
}

}  // namespace tenon::server
