// Predict for models of text: the tensor of strings "inputs" becomes "outputs".
#include "server/grpc/grpc_api.h"
#include "server/grpc/grpc_status.h"
#include "server/rest/rest_api.h"
#include "tenon/tensorflow_types.h"

namespace tenon::server {
namespace {

Status wrong_texts(const std::string& message) { return Status(Code::kInvalid, message); }

Status check_request(const GrpcPrediction& request, int64_t most) {
  const GrpcModel& model = request.model;
  if (!model.signature.empty() && model.signature != "serving_default") return no_signature(model.signature);
  const auto found = request.inputs.find(kTextInput);
  if (found == request.inputs.end() || request.inputs.size() != 1)
    return wrong_texts("expected the input \"inputs\" alone, a list of texts");
  const GrpcTensor& given = found->second;
  if (given.dtype != kTensorFlowString)
    return wrong_texts("input \"inputs\": expected dtype DT_STRING, found " +
                       std::string(tensorflow_type_name(given.dtype)));
  const int64_t rows = std::ssize(given.strings);
  if (given.dims != std::vector<int64_t>{rows} || rows < 1)
    return wrong_texts("input \"inputs\": expected shape [-1] with at least one text");
  if (rows > most)
    return wrong_texts("the request has " + std::to_string(rows) + " texts, the server takes at most " +
                       std::to_string(most));
  for (const std::string& name : request.output_filter)
    if (name != kTextOutput)
      return wrong_texts("output tensor alias not found in signature: " + name +
                         " Outputs expected to be in the set {outputs}.");
  return {};
}

}  // namespace

TextBatcher* GrpcApi::texts_of(const std::string& model) const {
  if (!texts_) return nullptr;
  const auto found = texts_->find(model);
  return found == texts_->end() ? nullptr : found->second.get();
}

void GrpcApi::write_texts(TextBatcher& batcher, GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done) {
  const GrpcModel& model = request.model;
  if (!is_text_version({model.version, model.label}))
    return done({grpc_not_found(no_text_version(model.name)), {}, {}});
  const auto end = [&metrics = batcher.metrics(), start = Clock::now(), done = std::move(done)](GrpcAnswer&& answer,
                                                                                                int counted) {
    metrics.count_request(counted, std::chrono::duration<double>(Clock::now() - start).count());
    done(std::move(answer));
  };
  if (batcher.full()) return end({grpc_too_busy(), {}, {}}, 429);
  if (const Status status = check_request(request, batcher.max_queued_lines()); !status.ok())
    return end({grpc_status(status), {}, {}}, http_status(status));
  TextRequest text{std::move(request.inputs.at(kTextInput).strings), deadline(), std::move(request.gone)};
  text.done = [end, told = told(model, kTextVersion)](Result<Lines> texts) {
    GrpcAnswer answer{grpc_status(texts.status()), told, {}};
    if (texts.ok()) answer.outputs[kTextOutput] = {kTensorFlowString, {std::ssize(*texts)}, {}, *texts};
    end(std::move(answer), http_status(texts.status()));
  };
  if (!batcher.submit(std::move(text))) end({grpc_too_busy(), {}, {}}, 429);
}

}  // namespace tenon::server
