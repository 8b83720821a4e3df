// One connection of an HttpServer. For http_server.cc alone: it brings Asio.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "server/http/http_server.h"
#include "server/http/request_parser.h"
#include "server/http/tls.h"

namespace tenon::server {

// What connections share. Thread safe.
struct HttpShared {
  const HttpOptions options;
  HttpHandler* const handler;
  Metrics* const metrics;
  std::atomic<int64_t> arriving = 0;   // connections that were accepted, and are not counted yet
  std::atomic<bool> draining = false;  // each answer is its connection's last
  std::atomic<bool> closing = false;   // connections without a request are closed
};

// All of it runs on the thread of `context`, except what another thread responds.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(boost::asio::io_context& context, boost::asio::ip::tcp::socket socket, HttpShared* shared);
  ~Connection();

  // Begins to read, or refuses what comes.
  void start(bool too_many);
  // Ends it when its time is over; called several times a second.
  void check_time(Clock::time_point now);
  bool ended() const { return state_ == State::kEnded; }
  void end();

 private:
  enum class State : uint8_t {
    kReading,    // a request, or waits for one
    kHandling,   // somebody works on the answer
    kAnswering,  // writes it
    kLingering,  // the last answer is written: reads what the peer still sends, so that it can read the answer
    kEnded,
  };

  void read();
  void on_readable();
  void take(std::string_view came);
  void parse();
  bool check_head();
  void handle();
  bool unpack(HttpRequest* request);
  void respond(HttpResponse response);
  void begin_parts(std::string head, const HttpResponse& response);
  void send_part(const std::string& part);
  void end_parts();
  void refuse(int status, const std::string& message);
  void send(std::string bytes);
  void write();
  void on_written();
  void linger();
  void set_deadline(int64_t bytes);
  void take_back_bytes();
  void look_for_peer(Clock::time_point now);
  class Parts;

  boost::asio::io_context& context_;
  boost::asio::ip::tcp::socket socket_;
  HttpShared* const shared_;
  std::unique_ptr<TlsSession> tls_;
  std::unique_ptr<RequestParser> parser_;  // none when the last answer is made
  State state_ = State::kReading;
  Clock::time_point deadline_;
  std::string in_;          // what came and is not parsed; of TLS in clear
  std::string out_, next_;  // what is written, and what will be then
  bool reading_ = false, writing_ = false;
  bool keep_ = true;                              // the connection, after this answer
  bool head_only_ = false;                        // the request is HEAD
  bool old_version_ = false;                      // it is of HTTP/1.0
  bool in_parts_ = false;                         // the answer has not come to its end
  std::shared_ptr<std::atomic<int64_t>> unsent_;  // bytes of parts that wait; negative: the connection has ended
  // It has ended. Handlers that work long keep it, too.
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
  Clock::time_point probe_{};  // when to try whether a peer that sends no more still reads
  int64_t wire_bytes_ = 0;     // of this request
  int64_t body_bytes_ = 0;     // that were added to the metric
};

}  // namespace tenon::server
