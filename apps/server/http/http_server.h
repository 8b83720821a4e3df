// HTTP/1.1 on a port: what comes in is bounded in size, number and time; who answers is an HttpHandler.
//
// Each thread has its connections; a connection reads one request after the other, those that were sent ahead (pipelining) too. A
// request with both Content-Length and Transfer-Encoding, two lengths, another coding than chunked, no or several Host fields or bytes
// that are no HTTP is answered with 400 and its connection closed; too large ones with 413 and 431, slow ones with 408.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "server/http/message.h"
#include "server/server_metrics.h"
#include "tenon/status.h"

namespace tenon::server {

class TlsContext;

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address of this machine
  int port = 8501;                 // 0: one that is free
  int threads = 2;
  int64_t max_body_bytes = int64_t{64} << 20;
  int64_t max_all_body_bytes = int64_t{256}
                               << 20;  // of all requests that have no answer yet; beyond it the answer is 503
  uint32_t max_header_bytes = 16384;
  int64_t max_connections = 4096;  // beyond it the answer is 503
  // How long a connection may have no request, a request's head may take, and its body, or the peer's reading of the answer, with a
  // second more for each 64 KiB.
  std::chrono::milliseconds idle_time{10000};
  std::shared_ptr<TlsContext> tls = {};  // nullptr: none
};

class HttpServer {
 public:
  // Listens and answers until the end. kUnavailable: the address or port cannot be had. `handler` and `metrics` outlive it.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpHandler* handler, Metrics* metrics);
  // REQUIRED: no `respond` is called after it.
  ~HttpServer();

  int port() const;

  // Ends in order: for `grace` connections and requests are taken as before, but each answer is its connection's last; then the port is
  // closed, and so are connections that had no request for half a second. Returns when all requests have their answer, or after `limit` beyond
  // grace: false, and some are left.
  bool drain(std::chrono::milliseconds grace, std::chrono::milliseconds limit);
  // Ends at once: connections are cut, the handler is called no more; what is responded is lost.
  void stop();

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::server
