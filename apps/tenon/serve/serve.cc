// tenon serve: answers for exported models, as TF Serving's users ask.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "command.h"
#include "onnx/dims.h"
#include "process.h"
#include "serve/onnx_models.h"
#include "serve/serve_models.h"
#include "serve/text_models.h"
#include "server/grpc/grpc_api.h"
#include "server/http/http_server.h"
#include "server/http/tls.h"
#include "server/models/base_path.h"
#include "server/models/exported.h"
#include "server/rest/rest_api.h"
#include "tenon/devices.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

using std::chrono::milliseconds;

void declare_serve(Flags& flags, const std::vector<std::string>&) {
  flags.leave_out({"seed", "verbose"});
  flags.texts(
      "model",
      "NAME=DIR of a model: DIR has its versions, as tenon export writes them; or NAME=FILE.onnx; once for each "
      "model");
  add_dim_flag(flags);
  flags.texts("translate",
              "NAME=MODEL_DIR of a transformer that was trained: it answers lines with their translations");
  flags.texts("summarize", "NAME=MODEL_DIR of one that was trained on summaries");
  flags.texts("generate", "NAME=MODEL_DIR of a gpt: it goes on with a text, whole or as a stream of events");
  flags.text("versions", "", "NAME=N or NAME=all, ..: the newest versions that are served; one, unless it is said");
  flags.text("version_labels", "", "NAME:LABEL=VERSION, ..: names for versions");
  flags.text("canary", "",
             "NAME=SHARE, ..: of the requests that name no version, the share that the newest version "
             "gets; the one before it gets the others");
  flags.integer("port", 8501, "of the REST interface; 0: one that is free", 0, 65535);
  flags.alias("rest_api_port", "port");
  flags.integer("grpc_port", 0,
                "of the gRPC interface, which there is where this is given; TF Serving's is 8500; 0: one that is free",
                0, 65535);
  flags.text("host", "127.0.0.1", "address to listen on; 0.0.0.0: all of this machine");
  flags.integer("http_threads", 0, "threads that read and write; 0: as many as cores, up to 4", 0, 256);
  flags.integer("max_batch_rows", 32, "rows that are computed together", 1, 4096);
  flags.integer("batch_timeout_micros", 0, "how long a request may wait for others while the server is busy", 0,
                10000000);
  flags.integer("max_queue_rows", 512, "rows that may wait, for each version; then the answer is 429", 1, 1 << 20);
  flags.integer("request_timeout_ms", 30000,
                "how long a request may wait, and one for a text be written; then the answer is 504", 1, 1 << 30);
  flags.integer("max_body_bytes", int64_t{64} << 20, "of a request; beyond it the answer is 413", 1024,
                int64_t{1} << 32);
  flags.integer("max_connections", 4096, "beyond it the answer is 503", 1, 1 << 20);
  flags.integer("idle_seconds", 10, "then a connection without a request is closed, and a slow one is answered 408", 1,
                3600);
  flags.number("poll_seconds", 1, "how often directories are looked at for new versions", 0.01, 86400);
  flags.alias("file_system_poll_wait_seconds", "poll_seconds");
  flags.number("drain_seconds", 1, "at SIGTERM: how long requests are taken after /readyz has turned to 503", 0, 3600);
  flags.text("tls_certificate", "", "PEM file of the server's certificate: the port speaks TLS");
  flags.text("tls_key", "", "PEM file of its key");
  flags.text("allow_reload_config", "",
             "a directory: models below it may be served in place of the others by gRPC's HandleReloadConfigRequest; "
             "empty: none");
  flags.text("token_file", "", "who asks must bring one of its lines as Authorization: Bearer");
}

void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// Memory of large requests goes back to the system with them: malloc would keep up to 64 MiB of it, for each thread.
void keep_little_memory() {
  constexpr int kKept = 4 << 20;
  (void)mallopt(M_MMAP_THRESHOLD, kKept);
  (void)mallopt(M_TRIM_THRESHOLD, kKept);
}

int http_threads(const Flags& flags) {
  const auto asked = static_cast<int>(flags.integer("http_threads"));
  return asked > 0 ? asked : std::min(process_threads(), 4);
}

server::HttpOptions http_options(const Flags& flags) {
  server::HttpOptions out;
  out.host = flags.text("host");
  out.port = static_cast<int>(flags.integer("port"));
  out.threads = http_threads(flags);
  out.max_body_bytes = flags.integer("max_body_bytes");
  out.max_all_body_bytes = std::max(out.max_all_body_bytes, out.max_body_bytes * 4);
  out.max_connections = flags.integer("max_connections");
  out.idle_time = std::chrono::seconds(flags.integer("idle_seconds"));
  const std::string &certificate = flags.text("tls_certificate"), &key = flags.text("tls_key");
  if (certificate.empty() != key.empty()) throw UsageError{"--tls_certificate and --tls_key need each other"};
  if (!certificate.empty()) out.tls = server::open_tls(certificate, key).take();
  return out;
}

server::RestOptions rest_options(const Flags& flags) {
  server::RestOptions out;
  if (!flags.text("token_file").empty()) out.tokens = server::Tokens::read(flags.text("token_file")).take();
  out.request_timeout = milliseconds(flags.integer("request_timeout_ms"));
  out.limits.max_rows = flags.integer("max_queue_rows");
  out.limits.max_bytes = 4 * flags.integer("max_body_bytes");
  return out;
}

server::GrpcApiOptions grpc_options(const Flags& flags, const server::RestOptions& rest) {
  const std::string& root = flags.text("allow_reload_config");
  if (std::error_code error; !root.empty() && !std::filesystem::is_directory(root, error))
    throw UsageError{"--allow_reload_config: '" + root + "' is no directory"};
  if (!root.empty() && !flags.given("grpc_port"))
    throw UsageError{"--allow_reload_config needs --grpc_port, by which it is asked"};
  return {rest.tokens, rest.request_timeout, rest.limits, root};
}

server::BatchOptions batch_options(const Flags& flags) {
  return {std::chrono::microseconds(flags.integer("batch_timeout_micros")), flags.integer("max_queue_rows")};
}

struct TextModelNamed {
  std::string flag, name, directory;
};

// Those of --translate, --summarize and --generate. `taken`: other models.
std::vector<TextModelNamed> texts_named(const Flags& flags, const std::vector<server::ModelConfig>& taken) {
  std::vector<TextModelNamed> out;
  for (const char* flag : {"translate", "summarize", "generate"})
    for (const std::string& text : flags.list(flag)) {
      const auto [name, directory] = named_directory(flag, text);
      const auto same = [&name = name](const auto& other) { return other.name == name; };
      if (std::any_of(taken.begin(), taken.end(), same) || std::any_of(out.begin(), out.end(), same))
        throw UsageError{format("--%s: two models are called '%s'", flag, name.c_str())};
      out.push_back({flag, name, directory});
    }
  return out;
}

std::unique_ptr<server::TextModel> open_text_model(const TextModelNamed& named, const std::string& device) {
  // Its directory came by another flag than those who open it have.
  const auto by_flag = [&](const std::string& message) {
    const std::string own = "--model_dir";
    return message.starts_with(own) ? "--" + named.flag + message.substr(own.size()) : message;
  };
  try {
    return named.flag == "generate" ? generation_model(named.directory, device)
                                    : translation_model(named.directory, device, named.flag == "summarize");
  } catch (const UsageError& e) {
    throw UsageError{by_flag(e.message)};
  } catch (const Error& e) {
    throw Error(Status(e.status().code(), by_flag(e.status().message())));
  }
}

server::TextModels text_models(const Flags& flags, const std::vector<TextModelNamed>& named, server::Metrics* metrics) {
  server::TextModels out;
  const std::string& device = flags.text("device");
  for (const TextModelNamed& n : named) {
    out[n.name] = std::make_unique<server::TextBatcher>(open_text_model(n, device), batch_options(flags),
                                                        metrics->version(n.name, server::kTextVersion));
  }
  return out;
}

// Lines of several threads.
server::ServerLog log_of(bool json) {
  return [json, mutex = std::make_shared<std::mutex>()](const std::string& line) {
    const std::lock_guard lock(*mutex);
    print_line(json ? Json("log").add("message", line).str() : line);
  };
}

milliseconds seconds_of(const Flags& flags, const char* name) {
  return milliseconds(static_cast<int64_t>(flags.number(name) * 1000));
}

// None where no port is asked for.
std::unique_ptr<server::GrpcServer> grpc_server(const Flags& flags, server::GrpcApi* api) {
  if (!flags.given("grpc_port")) return nullptr;
  server::GrpcOptions options;
  options.host = flags.text("host");
  options.port = static_cast<int>(flags.integer("grpc_port"));
  options.max_message_bytes = flags.integer("max_body_bytes");
  options.max_tensor_bytes = 4 * flags.integer("max_body_bytes");
  options.certificate = flags.text("tls_certificate");
  options.key = flags.text("tls_key");
  auto server = server::start_grpc(options, api).take();
  server->set_ready(true);
  if (flags.boolean("json"))
    print_line(Json("grpc").add("host", options.host).add("port", server->port()).str());
  else
    print_line(format("gRPC at %s:%d", options.host.c_str(), server->port()));
  return server;
}

void print_address(const Flags& flags, int port) {
  const std::string& host = flags.text("host");
  const std::string shown = host.find(':') == host.npos ? host : "[" + host + "]";
  const std::string address =
      (flags.text("tls_key").empty() ? "http://" : "https://") + shown + ":" + std::to_string(port);
  print_line(flags.boolean("json") ? Json("address").add("address", address).add("port", port).str()
                                   : "listening at " + address);
}

// Sizes for ONNX files. Throws where a model lies nowhere.
std::map<std::string, int64_t> checked_dims(const Flags& flags, const std::vector<server::ModelConfig>& configs) {
  std::vector<std::string> base_paths;
  for (const server::ModelConfig& config : configs) {
    if (!server::is_base_path(config.base_path))
      throw Error(Status(Code::kUnavailable,
                         "'" + config.base_path + "' of the model " + config.name + " is no directory or ONNX file"));
    base_paths.push_back(config.base_path);
  }
  std::map<std::string, int64_t> dims = dims_of(flags);
  expect_dims(dims, base_paths);
  return dims;
}

// Both at once, so that the end takes as long as a request may beyond `grace`, and what it takes to say that one took longer. False:
// some are left.
bool drain(server::HttpServer& http, server::GrpcServer* grpc, milliseconds grace, milliseconds request_timeout) {
  const milliseconds limit = request_timeout + milliseconds(1000);
  std::future<bool> calls;
  if (grpc)
    calls = std::async(std::launch::async, [=] {
      std::this_thread::sleep_for(grace);
      return grpc->drain(limit);
    });
  const bool all = http.drain(grace, limit);
  return (!grpc || calls.get()) && all;
}

int run_serve(const Flags& flags, const std::vector<std::string>& words) {
  const std::vector<server::ModelConfig> configs = served_models_of(flags, words);
  const std::vector<TextModelNamed> named = texts_named(flags, configs);
  const std::map<std::string, int64_t> dims = checked_dims(flags, configs);
  // Else each version would fail by itself, and the server would wait for others.
  if (flags.text("device") != "auto") (void)resolve_device(flags.text("device")).take();
  set_stdout(Stdout::kLog);
  allow_many_files();
  keep_little_memory();
  const server::HttpOptions http = http_options(flags);
  const server::RestOptions rest = rest_options(flags);
  const server::GrpcApiOptions grpc_api_options = grpc_options(flags, rest);
  watch_interrupts();

  server::Metrics metrics;
  std::unique_ptr<server::HttpServer> server;  // ends after the models, which still answer
  const server::ServerLog log = log_of(flags.boolean("json"));
  const std::string& device = flags.text("device");
  const server::ModelLoader loader =
      with_onnx(server::exported_model_loader(device, flags.integer("max_batch_rows")), device, dims);
  const auto models = server::ServedModels::open(configs, loader, batch_options(flags), &metrics, log).take();
  const server::TextModels texts = text_models(flags, named, &metrics);
  const server::TextApi text_api(&texts, rest.request_timeout);
  for (const std::string& name : text_api.names()) log(name + " is ready");
  server::RestApi api(models.get(), &metrics, rest, &text_api);
  server::GrpcApi grpc_api(models.get(), grpc_api_options, &texts);
  const std::unique_ptr<server::GrpcServer> grpc = grpc_server(flags, &grpc_api);
  server = server::HttpServer::start(http, &api, &metrics).take();
  print_address(flags, server->port());
  models->watch(seconds_of(flags, "poll_seconds"));

  while (!interrupted()) std::this_thread::sleep_for(milliseconds(20));
  api.end_ready();
  if (grpc) grpc->set_ready(false);
  const bool all = drain(*server, grpc.get(), seconds_of(flags, "drain_seconds"), rest.request_timeout);
  server->stop();
  if (!all) throw Error(Status(Code::kTimeout, "some requests had no answer in time"));
  return 0;
}

}  // namespace

const Command kServe{
    .name = "serve",
    .arguments = "--model NAME=DIR|FILE.onnx .. [FLAGS]",
    .summary =
        "Answers for exported models and ONNX files, by TF Serving's REST and gRPC interfaces, and for models of text",
    .declare = declare_serve,
    .run = run_serve,
};

}  // namespace tenon::runner
