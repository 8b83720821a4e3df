// The server's gRPC interface: TF Serving's PredictionService and ModelService, and the health service that Kubernetes asks. The library
// that speaks gRPC is loaded only by who asks for it: lib/tenon/server/grpc.so (Debian: libgrpc++1.51), built where it has its headers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon::server {

// A tensor as TensorFlow's protobuf has it.
struct GrpcTensor {
  int32_t dtype = 0;  // TensorFlow's number
  std::vector<int64_t> dims = {};
  std::string bytes = {};                 // of numbers: dense, row-major, little-endian; as many as dims say
  std::vector<std::string> strings = {};  // of DT_STRING; as many as dims say
};
using GrpcTensors = std::map<std::string, GrpcTensor>;

struct GrpcModel {
  std::string name, signature, label;
  std::optional<int64_t> version = {};
};

// gRPC's status; code 0: all is well.
struct GrpcStatus {
  int code = 0;
  std::string message = {};
};

struct GrpcPrediction {
  GrpcModel model;
  GrpcTensors inputs;
  std::vector<std::string> output_filter;  // none: all
  // Whether the call was cancelled. May be asked by any thread, until `done` is called.
  std::function<bool()> gone = {};
};

struct GrpcAnswer {
  GrpcStatus status;
  GrpcModel model;
  GrpcTensors outputs;
};

// Classes, or a number, of each example.
struct GrpcTask {
  GrpcModel model;
  bool regression = false;
};

struct GrpcInference {
  std::vector<GrpcTask> tasks;        // at least one
  std::vector<std::string> examples;  // each a tf.train.Example
};

struct GrpcClass {
  std::string label;
  float score;
};

struct GrpcResult {
  GrpcModel model;
  bool regression = false;
  std::vector<std::vector<GrpcClass>> classes = {};
  std::vector<float> values = {};  // in place of them: of a regression
};

struct GrpcResults {
  GrpcStatus status;
  std::vector<GrpcResult> results;  // of the tasks
};

// A model that is to be served.
struct GrpcModelConfig {
  std::string name, base_path, platform;
  int64_t newest = 1;              // versions; 0: all
  std::vector<int64_t> only = {};  // where there are any: of these alone
  std::map<std::string, int64_t> labels = {};
};

struct GrpcSignature {
  std::string key, method_name;
  GrpcTensors inputs, outputs;  // types: the first size is -1
};

struct GrpcMetadata {
  GrpcStatus status;
  GrpcModel model;
  std::vector<GrpcSignature> signatures;
};

struct GrpcVersionState {
  int64_t version = 0;
  int state = 0;  // TF Serving's number
  GrpcStatus error = {};
};

struct GrpcStates {
  GrpcStatus status;
  std::vector<GrpcVersionState> versions;
};

// Who answers. Thread safe; throws nothing.
class GrpcHandler {
 public:
  virtual ~GrpcHandler() = default;
  // `authorization`: that of the call's metadata; "": none.
  virtual bool allow(std::string_view authorization) const = 0;
  // A message that may have names of a request, fit for where it is shown (tenon/text.h), which the library has not.
  virtual std::string shown(std::string_view message) const = 0;
  // `done` is called once, on any thread.
  virtual void predict(GrpcPrediction&& request, std::function<void(GrpcAnswer&&)> done) = 0;
  virtual void infer(GrpcInference&& request, std::function<void(GrpcResults&&)> done) = 0;
  // These models in place of those that there are; `done` as above.
  virtual void reload(std::vector<GrpcModelConfig>&& models, std::function<void(GrpcStatus)> done) = 0;
  virtual GrpcMetadata metadata(const GrpcModel& model) const = 0;
  virtual GrpcStates states(const GrpcModel& model) const = 0;
};

struct GrpcOptions {
  std::string host = "127.0.0.1";
  int port = 8500;  // 0: one that is free
  int64_t max_message_bytes = int64_t{64} << 20;
  int64_t max_tensor_bytes = int64_t{256} << 20;  // that the tensors of a request become
  std::string certificate = {}, key = {};         // PEM files; both or none
};

class GrpcServer {
 public:
  virtual ~GrpcServer() = default;  // cuts what is left
  virtual int port() const = 0;
  // What the health service says.
  virtual void set_ready(bool ready) = 0;
  // Takes no more calls and waits for those that there are, at most so long: false, and some are left.
  virtual bool drain(std::chrono::milliseconds limit) = 0;
};

// `handler` outlives it.
Result<std::unique_ptr<GrpcServer>> start_grpc(const GrpcOptions& options, GrpcHandler* handler);

}  // namespace tenon::server

// What the library exports: version kGrpcVersion, and a server that listens, or nullptr, and *error says why.
inline constexpr unsigned kGrpcVersion = 3;
extern "C" {
using tenon_grpc_version_fn = unsigned();
using tenon_grpc_start_fn = tenon::server::GrpcServer*(const tenon::server::GrpcOptions* options,
                                                       tenon::server::GrpcHandler* handler, std::string* error);
}
