#include "server/grpc/grpc_api.h"

#include <new>

#include "server/grpc/grpc_status.h"
#include "server/grpc/tensors.h"
#include "server/rest/rest_api.h"

namespace tenon::server {
namespace {

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

GrpcStatus grpc_status(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return {};
    case Code::kInvalid:
      return {kGrpcInvalidArgument, status.message()};
    case Code::kUnsupported:
      return {kGrpcUnimplemented, status.message()};
    case Code::kUnavailable:
      return {kGrpcUnavailable, status.message()};
    case Code::kOutOfMemory:
      return {kGrpcResourceExhausted, status.message()};
    case Code::kTimeout:
      return {kGrpcDeadlineExceeded, status.message()};
    case Code::kInterrupted:
      return {kGrpcCancelled, status.message()};
    default:
      return {kGrpcInternal, status.message()};
  }
}

void GrpcApi::predict(GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done) {
  if (TextBatcher* const texts = texts_of(request.model.name))
    return write_texts(*texts, std::move(request), std::move(done));
  const auto call = std::make_shared<Call>();
  call->done = std::move(done);
  auto version = models_->find(request.model.name, {request.model.version, request.model.label});
  if (!version.ok()) return call->answer.status = grpc_not_found(version.status()), call->end_as(404);
  call->version = std::move(*version);
  call->answer.model = told(std::move(request.model), call->version->number);
  call->output_filter = std::move(request.output_filter);
  Batcher& batcher = call->version->batcher;
  call->signature = find_signature(batcher.model(), call->answer.model.signature);
  if (!call->signature) return call->end(no_signature(call->answer.model.signature));
  const auto too_busy = [&] {
    call->answer.status = grpc_too_busy();
    call->end_as(429);
  };
  if (batcher.full()) return too_busy();
  try {
    BatchRequest batch;
    Result<Arrays> inputs =
        signature_inputs(std::move(request.inputs), *call->signature, batcher.model(), options_.limits, &batch.rows);
    if (!inputs.ok()) return call->end(inputs.status());
    batch.signature = call->signature;
    batch.inputs = inputs.take();
    batch.deadline = deadline();
    batch.done = [call](Result<Arrays> result) { call->take(std::move(result)); };
    if (!batcher.submit(std::move(batch))) too_busy();
  } catch (const std::bad_alloc&) {
    call->end(Status(Code::kOutOfMemory, "out of memory"));
  }
}

GrpcMetadata GrpcApi::metadata(const GrpcModel& model) const {
  if (texts_of(model.name)) {
    if (!is_text_version({model.version, model.label})) return {grpc_not_found(no_text_version(model.name)), {}, {}};
    const auto type = [](const char* name) { return GrpcTensors{{name, {kTensorFlowString, {-1}, {}, {}}}}; };
    return {{},
            {.name = model.name, .signature = "", .label = "", .version = kTextVersion},
            {{"serving_default", "tensorflow/serving/predict", type(kTextInput), type(kTextOutput)}}};
  }
  const auto version = models_->find(model.name, {model.version, model.label});
  if (!version.ok()) return {grpc_not_found(version.status()), {}, {}};
  GrpcMetadata out{{}, told(model, (*version)->number), {}};
  out.model.signature.clear();
  for (const ServingSignature& s : (*version)->batcher.model().signatures())
    out.signatures.push_back({s.key, s.method_name, value_types(s.inputs), value_types(s.outputs)});
  return out;
}

GrpcStates GrpcApi::states(const GrpcModel& model) const {
  std::vector<VersionStatus> found;
  if (const auto versions = models_->find(model.name)) found = versions->states();
  if (texts_of(model.name)) found = {{kTextVersion, VersionState::kAvailable, {}}};
  GrpcStates out;
  for (const VersionStatus& s : found)
    if (!model.version || s.number == *model.version)
      out.versions.push_back({s.number, 10 * (static_cast<int>(s.state) + 1), grpc_status(s.error)});
  if (out.versions.empty()) out.status = {kGrpcNotFound, "Could not find any versions of model " + model.name};
  return out;
}

}  // namespace tenon::server
