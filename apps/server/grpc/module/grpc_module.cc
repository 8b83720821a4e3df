// grpc.so: TF Serving's services on grpc++.
#include <fstream>
#include <iterator>
#include <string_view>

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include "prediction_service.grpc.pb.h"
#include "server/grpc/grpc_server.h"
#include "server/grpc/module/tensor_proto.h"

namespace tenon::server {
namespace {

grpc::Status refusal(const GrpcHandler& handler, grpc::StatusCode code, const std::string& message) {
  return {code, handler.shown(message)};
}
grpc::Status grpc_status(const GrpcHandler& handler, const GrpcStatus& status) {
  return status.code == 0 ? grpc::Status::OK
                          : refusal(handler, static_cast<grpc::StatusCode>(status.code), status.message);
}

GrpcModel read_model(const proto::ModelSpec& from) {
  GrpcModel out{from.name(), from.signature_name(), from.version_label(), {}};
  if (from.has_version()) out.version = from.version().value();
  return out;
}

void write_model(const GrpcModel& from, proto::ModelSpec* to) {
  to->set_name(from.name);
  to->set_signature_name(from.signature);
  if (from.version) to->mutable_version()->set_value(*from.version);
}

// Each example, with the features of all before its own: of two of one name the last counts.
std::vector<std::string> read_examples(const proto::Input& input) {
  if (!input.has_example_list_with_context())
    return {input.example_list().examples().begin(), input.example_list().examples().end()};
  const proto::ExampleListWithContext& list = input.example_list_with_context();
  std::vector<std::string> out;
  for (const std::string& example : list.examples()) out.push_back(list.context() + example);
  return out;
}

void write_result(const GrpcResult& from, proto::ClassificationResult* to) {
  for (const auto& classes : from.classes) {
    proto::Classifications* const one = to->add_classifications();
    for (const GrpcClass& c : classes) {
      proto::Class* const added = one->add_classes();
      added->set_label(c.label);
      added->set_score(c.score);
    }
  }
}
void write_result(const GrpcResult& from, proto::RegressionResult* to) {
  for (const float value : from.values) to->add_regressions()->set_value(value);
}

// nullopt: the task has another method.
std::optional<GrpcTask> read_task(const proto::InferenceTask& task) {
  const bool regression = task.method_name() == "tensorflow/serving/regress";
  if (!regression && task.method_name() != "tensorflow/serving/classify") return std::nullopt;
  return GrpcTask{read_model(task.model_spec()), regression};
}

GrpcModelConfig read_config(const proto::ModelConfig& from) {
  GrpcModelConfig out{from.name(), from.base_path(), from.model_platform()};
  const auto& policy = from.model_version_policy();
  if (policy.has_latest() && policy.latest().num_versions() > 0) out.newest = policy.latest().num_versions();
  if (policy.has_all()) out.newest = 0;
  out.only.assign(policy.specific().versions().begin(), policy.specific().versions().end());
  out.labels.insert(from.version_labels().begin(), from.version_labels().end());
  return out;
}

bool allowed(const GrpcHandler& handler, const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  return handler.allow(found == metadata.end() ? std::string_view()
                                               : std::string_view(found->second.data(), found->second.size()));
}

const grpc::Status& unauthenticated() {
  static const grpc::Status status(grpc::StatusCode::UNAUTHENTICATED,
                                   "expected authorization: Bearer with a token of the server");
  return status;
}

// The call's end, where there is nothing to wait for.
grpc::ServerUnaryReactor* end(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

class Predictions final : public proto::PredictionService::CallbackService {
 public:
  Predictions(GrpcHandler* handler, int64_t max_tensor_bytes)
      : handler_(handler), max_tensor_bytes_(max_tensor_bytes) {}

  grpc::ServerUnaryReactor* Predict(grpc::CallbackServerContext* context, const proto::PredictRequest* request,
                                    proto::PredictResponse* response) override {
    if (!allowed(*handler_, *context)) return end(context, unauthenticated());
    GrpcPrediction prediction{
        read_model(request->model_spec()), {}, {request->output_filter().begin(), request->output_filter().end()}};
    int64_t budget = max_tensor_bytes_;
    for (const auto& [name, tensor] : request->inputs())
      if (const std::string wrong = read_tensor(tensor, &budget, &prediction.inputs[name]); !wrong.empty())
        return end(context, refusal(*handler_, grpc::StatusCode::INVALID_ARGUMENT, "input \"" + name + "\": " + wrong));
    prediction.gone = [context] { return context->IsCancelled(); };
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    handler_->predict(std::move(prediction), [this, reactor, response](GrpcAnswer&& answer) {
      if (answer.status.code == 0) {
        write_model(answer.model, response->mutable_model_spec());
        for (const auto& [name, tensor] : answer.outputs) write_tensor(tensor, &(*response->mutable_outputs())[name]);
      }
      reactor->Finish(grpc_status(*handler_, answer.status));
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* Classify(grpc::CallbackServerContext* context, const proto::ClassificationRequest* request,
                                     proto::ClassificationResponse* response) override {
    return infer_one(context, *request, false, response);
  }
  grpc::ServerUnaryReactor* Regress(grpc::CallbackServerContext* context, const proto::RegressionRequest* request,
                                    proto::RegressionResponse* response) override {
    return infer_one(context, *request, true, response);
  }

  grpc::ServerUnaryReactor* MultiInference(grpc::CallbackServerContext* context,
                                           const proto::MultiInferenceRequest* request,
                                           proto::MultiInferenceResponse* response) override {
    if (!allowed(*handler_, *context)) return end(context, unauthenticated());
    GrpcInference inference;
    for (const proto::InferenceTask& task : request->tasks()) {
      const auto read = read_task(task);
      if (!read)
        return end(context, refusal(*handler_, grpc::StatusCode::UNIMPLEMENTED,
                                    "Unsupported signature method_name: " + task.method_name()));
      if (inference.tasks.size() == kMostTasks)
        return end(context, {grpc::StatusCode::INVALID_ARGUMENT, "there are more tasks than a call may have"});
      inference.tasks.push_back(*read);
    }
    inference.examples = read_examples(request->input());
    return infer(context, std::move(inference), [response](const GrpcResults& results) {
      for (const GrpcResult& result : results.results) {
        proto::InferenceResult* const to = response->add_results();
        write_model(result.model, to->mutable_model_spec());
        result.regression ? write_result(result, to->mutable_regression_result())
                          : write_result(result, to->mutable_classification_result());
      }
    });
  }

  grpc::ServerUnaryReactor* GetModelMetadata(grpc::CallbackServerContext* context,
                                             const proto::GetModelMetadataRequest* request,
                                             proto::GetModelMetadataResponse* response) override {
    if (!allowed(*handler_, *context)) return end(context, unauthenticated());
    for (const std::string& field : request->metadata_field())
      if (field != "signature_def")
        return end(context, refusal(*handler_, grpc::StatusCode::INVALID_ARGUMENT,
                                    "Metadata field " + field + " is not supported"));
    if (request->metadata_field().empty())
      return end(context, {grpc::StatusCode::INVALID_ARGUMENT,
                           "GetModelMetadataRequest must specify at least one metadata_field"});
    const GrpcMetadata found = handler_->metadata(read_model(request->model_spec()));
    if (found.status.code != 0) return end(context, grpc_status(*handler_, found.status));
    write_model(found.model, response->mutable_model_spec());
    proto::SignatureDefMap map;
    for (const GrpcSignature& signature : found.signatures)
      write_signature(signature, &(*map.mutable_signature_def())[signature.key]);
    google::protobuf::Any& any = (*response->mutable_metadata())["signature_def"];
    any.set_type_url("type.googleapis.com/tensorflow.serving.SignatureDefMap");
    any.set_value(map.SerializeAsString());
    return end(context, grpc::Status::OK);
  }

 private:
  static constexpr size_t kMostTasks = 64;

  template <class Write>
  grpc::ServerUnaryReactor* infer(grpc::CallbackServerContext* context, GrpcInference&& inference, Write write) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    handler_->infer(std::move(inference), [this, reactor, write](GrpcResults&& results) {
      if (results.status.code == 0) write(results);
      reactor->Finish(grpc_status(*handler_, results.status));
    });
    return reactor;
  }
  template <class Request, class Response>
  grpc::ServerUnaryReactor* infer_one(grpc::CallbackServerContext* context, const Request& request, bool regression,
                                      Response* response) {
    if (!allowed(*handler_, *context)) return end(context, unauthenticated());
    GrpcInference inference{{{read_model(request.model_spec()), regression}}, read_examples(request.input())};
    return infer(context, std::move(inference), [response](const GrpcResults& results) {
      write_model(results.results[0].model, response->mutable_model_spec());
      write_result(results.results[0], response->mutable_result());
    });
  }

  static void write_signature(const GrpcSignature& from, proto::SignatureDef* to) {
    to->set_method_name(from.method_name);
    for (const auto& [name, type] : from.inputs) write_type(name, type, &(*to->mutable_inputs())[name]);
    for (const auto& [name, type] : from.outputs) write_type(name, type, &(*to->mutable_outputs())[name]);
  }
  static void write_type(const std::string& name, const GrpcTensor& type, proto::TensorInfo* to) {
    to->set_name(name + ":0");
    to->set_dtype(type.dtype);
    for (const int64_t d : type.dims) to->mutable_tensor_shape()->add_dim()->set_size(d);
  }

  GrpcHandler* handler_;
  int64_t max_tensor_bytes_;
};

class Models final : public proto::ModelService::CallbackService {
 public:
  explicit Models(GrpcHandler* handler) : handler_(handler) {}

  grpc::ServerUnaryReactor* GetModelStatus(grpc::CallbackServerContext* context,
                                           const proto::GetModelStatusRequest* request,
                                           proto::GetModelStatusResponse* response) override {
    if (!allowed(*handler_, *context)) return end(context, unauthenticated());
    const GrpcStates found = handler_->states(read_model(request->model_spec()));
    for (const GrpcVersionState& state : found.versions) {
      proto::ModelVersionStatus& to = *response->add_model_version_status();
      to.set_version(state.version);
      to.set_state(state.state);
      to.mutable_status()->set_error_code(state.error.code);
      to.mutable_status()->set_error_message(handler_->shown(state.error.message));
    }
    return end(context, grpc_status(*handler_, found.status));
  }

  grpc::ServerUnaryReactor* HandleReloadConfigRequest(grpc::CallbackServerContext* context,
                                                      const proto::ReloadConfigRequest* request,
                                                      proto::ReloadConfigResponse* response) override {
    if (!allowed(*handler_, *context)) return end(context, unauthenticated());
    if (!request->config().has_model_config_list())
      return end(context, {grpc::StatusCode::INVALID_ARGUMENT, "expected a config with a model_config_list"});
    std::vector<GrpcModelConfig> models;
    for (const proto::ModelConfig& config : request->config().model_config_list().config())
      models.push_back(read_config(config));
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    handler_->reload(std::move(models), [this, reactor, response](const GrpcStatus& status) {
      response->mutable_status()->set_error_code(status.code);
      response->mutable_status()->set_error_message(handler_->shown(status.message));
      reactor->Finish(grpc_status(*handler_, status));
    });
    return reactor;
  }

 private:
  GrpcHandler* handler_;
};

// gRPC says in its log alone why it cannot listen: {.., os_error:"Address already in use", ..}
std::string* reason = nullptr;
void keep_reason(gpr_log_func_args* args) {
  constexpr std::string_view kBefore = "os_error:\"";
  const std::string_view line = args->message;
  const size_t at = line.find(kBefore);
  if (at == line.npos) return;
  const std::string_view rest = line.substr(at + kBefore.size());
  *reason = rest.substr(0, rest.find('"'));
}

bool read_file(const std::string& path, std::string* out) {
  std::ifstream file(path, std::ios::binary);
  out->assign(std::istreambuf_iterator<char>(file), {});
  return file.good() || file.eof();
}

class Server final : public GrpcServer {
 public:
  Server(const GrpcOptions& options, GrpcHandler* handler)
      : predictions_(handler, options.max_tensor_bytes), models_(handler) {}
  ~Server() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  // "": it listens; else why not.
  std::string listen(const GrpcOptions& options) {
    grpc::EnableDefaultHealthCheckService(true);
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!options.key.empty()) {
      grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
      if (!read_file(options.key, &pair.private_key)) return "cannot read '" + options.key + "'";
      if (!read_file(options.certificate, &pair.cert_chain)) return "cannot read '" + options.certificate + "'";
      grpc::SslServerCredentialsOptions ssl;
      ssl.pem_key_cert_pairs.push_back(std::move(pair));
      credentials = grpc::SslServerCredentials(ssl);
    }
    const bool six = options.host.find(':') != std::string::npos;
    const std::string address = (six ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, credentials, &port_);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<int64_t>(options.max_message_bytes, INT32_MAX)));
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(&predictions_);
    builder.RegisterService(&models_);
    std::string why;
    reason = &why;
    gpr_set_log_function(keep_reason);
    server_ = builder.BuildAndStart();
    gpr_set_log_function(nullptr);
    if (server_ && port_ != 0) return {};
    return "gRPC cannot listen at " + address + (why.empty() ? "" : ": " + why);
  }

  int port() const override { return port_; }
  void set_ready(bool ready) override { server_->GetHealthCheckService()->SetServingStatus(ready); }
  bool drain(std::chrono::milliseconds limit) override {
    const auto until = std::chrono::system_clock::now() + limit;
    server_->Shutdown(until);
    return std::chrono::system_clock::now() < until;
  }

 private:
  Predictions predictions_;
  Models models_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace
}  // namespace tenon::server

extern "C" __attribute__((visibility("default"))) unsigned tenon_grpc_version() { return kGrpcVersion; }

extern "C" __attribute__((visibility("default"))) tenon::server::GrpcServer* tenon_grpc_start(
    const tenon::server::GrpcOptions* options, tenon::server::GrpcHandler* handler, std::string* error) {
  auto server = std::make_unique<tenon::server::Server>(*options, handler);
  *error = server->listen(*options);
  return error->empty() ? server.release() : nullptr;
}
