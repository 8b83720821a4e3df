#include "server/http/connection.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <ctime>
#include <new>

#include "server/http/gunzip.h"
#include "server/json/rest_answers.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kLingerTime{1000};
constexpr std::chrono::milliseconds kRest{
    500};  // so long is a request on its way to a connection, at the end of the port
constexpr std::chrono::milliseconds kProbe{1000};
constexpr int64_t kLeastBytesPerSecond = 65536;
constexpr int64_t kMostUnsent = int64_t{1} << 20;  // bytes of parts: who reads so slowly has gone
constexpr int kMostWaiting = 128 << 10;
constexpr int64_t kMoreWireBytes = int64_t{1} << 20;  // than the body's: heads of chunks

// "Thu, 26 Nov 2026 22:12:13 GMT"; made once a second.
const std::string& date_text() {
  thread_local std::time_t made = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != std::exchange(made, now)) {
    std::tm parts{};
    char buffer[64];
    ::gmtime_r(&now, &parts);
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return text;
}

}  // namespace

// Parts of an answer come from another thread, and go by the connection's own.
class Connection::Parts : public PartSink {
 public:
  Parts(std::weak_ptr<Connection> connection, asio::io_context& context, std::shared_ptr<std::atomic<int64_t>> unsent)
      : connection_(std::move(connection)), context_(context), unsent_(std::move(unsent)) {}
  bool open() const override { return *unsent_ >= 0; }
  bool send(std::string part) override {
    if (!open() || (*unsent_ += std::ssize(part)) > kMostUnsent) return false;
    post([part = std::move(part)](Connection& c) { c.send_part(part); });
    return true;
  }
  void end() override {
    post([](Connection& c) { c.end_parts(); });
  }

 private:
  template <class Work>
  void post(Work work) {
    if (const auto connection = connection_.lock())
      asio::post(context_, [connection, work = std::move(work)] { work(*connection); });
  }
  std::weak_ptr<Connection> connection_;
  asio::io_context& context_;
  std::shared_ptr<std::atomic<int64_t>> unsent_;
};

Connection::Connection(asio::io_context& context, tcp::socket socket, HttpShared* shared)
    : context_(context),
      socket_(std::move(socket)),
      shared_(shared),
      parser_(std::make_unique<RequestParser>(shared->options.max_header_bytes,
                                              static_cast<uint64_t>(shared->options.max_body_bytes))) {
  ++shared_->metrics->connections;
  ++shared_->metrics->accepted;
}

Connection::~Connection() { end(); }

void Connection::start(bool too_many) {
  boost::system::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  // What the system keeps of answers that a peer does not read: it would keep megabytes for each.
  const int most = kMostWaiting;
  (void)::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
  socket_.non_blocking(true, ignored);
  if (shared_->options.tls) tls_ = shared_->options.tls->session();
  set_deadline(0);
  if (too_many && !tls_) return refuse(503, "the server has as many connections as it takes");
  too_many ? end() : read();
}

void Connection::end() {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  *gone_ = true;
  if (unsent_) *unsent_ = INT64_MIN / 2;
  take_back_bytes();
  boost::system::error_code ignored;
  socket_.close(ignored);
  --shared_->metrics->connections;
}

// From now on: time for an idle connection, and for bytes that go or come at a least rate.
void Connection::set_deadline(int64_t bytes) {
  deadline_ =
      Clock::now() + shared_->options.idle_time + std::chrono::milliseconds(bytes * 1000 / kLeastBytesPerSecond);
}

// A peer that sends no more may still read, or have gone: its system answers bytes by a reset then. Any number of answers of 1xx may
// stand before the one that counts (RFC 9110, 15.2); HTTP/1.0 has none.
void Connection::look_for_peer(Clock::time_point now) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
  if (info.tcpi_state == TCP_CLOSE) return end();
  if (info.tcpi_state != TCP_CLOSE_WAIT || state_ != State::kHandling || old_version_) return;
  if (now < probe_) return;
  probe_ = now + kProbe;
  send("HTTP/1.1 100 Continue\r\n\r\n");
}

void Connection::check_time(Clock::time_point now) {
  if (state_ == State::kEnded) return;
  if (in_parts_ || (state_ == State::kHandling && gone_.use_count() > 1)) look_for_peer(now);
  if (state_ == State::kHandling || state_ == State::kEnded) return;
  const bool idle = state_ == State::kReading && in_.empty() && !parser_->started();
  boost::system::error_code ignored;
  const bool rests = now - (deadline_ - shared_->options.idle_time) >= kRest;
  if (idle && shared_->closing && rests && socket_.available(ignored) == 0) return end();
  if (now < deadline_) return;
  if (state_ == State::kReading && !idle && !writing_) return refuse(408, "the request did not come in time");
  // What a peer did not read in all the time goes, too: else the system would keep it, megabytes for each, for minutes.
  int unread = 0;
  if (::ioctl(socket_.native_handle(), SIOCOUTQ, &unread) == 0 && unread > 0)
    socket_.set_option(tcp::socket::linger(true, 0), ignored);
  end();
}

void Connection::take_back_bytes() {
  shared_->metrics->body_bytes -= body_bytes_;
  body_bytes_ = 0;
}

// Connections that wait have no buffer.
void Connection::read() {
  if (reading_ || state_ == State::kEnded) return;
  reading_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const auto& error) {
    self->reading_ = false;
    if (self->state_ == State::kEnded) return;
    error ? self->end() : self->on_readable();
  });
}

void Connection::on_readable() {
  thread_local std::array<char, 65536> buffer;
  boost::system::error_code error;
  const size_t bytes = socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block) return read();
  if (error) return end();
  take({buffer.data(), bytes});
}

void Connection::take(std::string_view came) {
  const auto bytes = static_cast<int64_t>(came.size());
  wire_bytes_ += bytes;
  if (state_ == State::kLingering) return wire_bytes_ > kMoreWireBytes * 64 ? end() : read();
  if (!tls_) {
    in_ += came;
  } else {
    const bool fine = tls_->receive(came, &in_);
    next_ += tls_->take_output();
    write();
    if (!fine && in_.empty()) return writing_ ? linger() : end();
    if (in_.empty()) return read();
  }
  parse();
}

void Connection::parse() {
  if (state_ != State::kReading) return;
  const bool first = !parser_->started();
  if (first && in_.empty()) return read();
  if (first) set_deadline(0), wire_bytes_ = std::ssize(in_);
  const bool had_head = parser_->head_done();
  const RequestParser::Problem problem = parser_->take(&in_);
  if (problem.status) return refuse(problem.status, problem.why);
  if (!had_head && parser_->head_done() && !check_head()) return;
  const int64_t more = parser_->body_bytes() - body_bytes_;
  if (more > 0) {
    body_bytes_ += more;
    deadline_ += std::chrono::milliseconds(more * 1000 / kLeastBytesPerSecond);
    if ((shared_->metrics->body_bytes += more) > shared_->options.max_all_body_bytes)
      return refuse(503, "the server has as many requests as it takes");
  }
  if (parser_->done()) return handle();
  if (wire_bytes_ > shared_->options.max_body_bytes + kMoreWireBytes) return refuse(413, "the request is too large");
  read();
}

// False: it was refused.
bool Connection::check_head() {
  keep_ = parser_->keep_alive();
  old_version_ = parser_->old_version();
  const RequestHead head = parser_->head();
  head_only_ = head.method == "HEAD";
  if (std::optional<HttpResponse> refusal = shared_->handler->refuse(head)) {
    keep_ = keep_ && parser_->done();
    if (parser_->done()) (void)parser_->request();
    respond(std::move(*refusal));
    return false;
  }
  if (parser_->expects_continue() && !parser_->done() && in_.empty() && parser_->body_bytes() == 0)
    send("HTTP/1.1 100 Continue\r\n\r\n");
  return true;
}

void Connection::handle() {
  state_ = State::kHandling;
  Respond later = [self = shared_from_this()](std::unique_ptr<Answer> answer) {
    asio::post(self->context_, [self, kept = std::shared_ptr<Answer>(std::move(answer))]() mutable {
      HttpResponse response = kept->make();
      kept.reset();
      self->respond(std::move(response));
    });
  };
  probe_ = {};
  const bool packed = parser_->head().content_coding == ContentCoding::kGzip;
  HttpRequest request = parser_->request();
  request.gone = [gone = gone_] { return gone->load(); };
  if (packed && !request.body.empty() && !unpack(&request)) return;
  if (std::optional<HttpResponse> response = shared_->handler->handle(std::move(request), std::move(later)))
    respond(std::move(*response));
}

// False: it was refused.
bool Connection::unpack(HttpRequest* request) try {
  std::string plain;
  const Gunzip found = gunzip(request->body, shared_->options.max_body_bytes, &plain);
  if (found == Gunzip::kDamaged)
    return respond({400, error_answer("the body is no gzip, which Content-Encoding says")}), false;
  if (found == Gunzip::kTooLarge) return refuse(413, "the request's body is too large when it is unpacked"), false;
  const int64_t more = std::ssize(plain) - std::ssize(request->body);
  request->body = std::move(plain);
  body_bytes_ += more;
  if ((shared_->metrics->body_bytes += more) <= shared_->options.max_all_body_bytes) return true;
  return refuse(503, "the server has as many requests as it takes"), false;
} catch (const std::bad_alloc&) {
  return refuse(503, "out of memory"), false;
}

void Connection::refuse(int status, const std::string& message) {
  keep_ = false;
  HttpResponse response{status, error_answer(message)};
  if (status == 503) response.retry_after = 1;
  respond(std::move(response));
}

void Connection::respond(HttpResponse response) {
  if (state_ == State::kEnded) return;
  state_ = State::kAnswering;
  take_back_bytes();
  shared_->metrics->count_response(response.status);
  if (shared_->draining) keep_ = false;
  if (!keep_) parser_.reset(), std::string().swap(in_);  // of a refused request: it is counted no more
  std::string out;
  out.reserve(320 + response.body.size());
  out += "HTTP/1.1 ";
  out += std::to_string(response.status) + " " + reason_of(response.status);
  out += "\r\nDate: " + date_text() + "\r\nContent-Type: " + response.content_type;
  if (!response.parts)
    out += "\r\nContent-Length: " + std::to_string(response.body.size());
  else
    out += "\r\nTransfer-Encoding: chunked";
  out += "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store";
  if (response.allow) out += std::string("\r\nAllow: ") + response.allow;
  if (response.retry_after) out += "\r\nRetry-After: " + std::to_string(response.retry_after);
  if (response.status == 401) out += "\r\nWWW-Authenticate: Bearer";
  out += keep_ ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n";
  if (response.parts) return begin_parts(std::move(out), response);
  if (!head_only_) out += response.body;
  head_only_ = false;
  set_deadline(std::ssize(out));
  send(std::move(out));
}

void Connection::begin_parts(std::string head, const HttpResponse& response) {
  in_parts_ = true;
  unsent_ = std::make_shared<std::atomic<int64_t>>(0);
  deadline_ = Clock::time_point::max();  // how long parts take is the handler's affair
  send(std::move(head));
  if (state_ != State::kEnded) response.parts(std::make_shared<Parts>(weak_from_this(), context_, unsent_));
}

// A chunk: its size in hexadecimal digits, its bytes.
void Connection::send_part(const std::string& part) {
  if (state_ == State::kEnded || !in_parts_) return;
  char size[32];
  const int digits = std::snprintf(size, sizeof size, "%zx\r\n", part.size());
  send(std::string(size, static_cast<size_t>(digits)) + part + "\r\n");
  *unsent_ -= std::ssize(part);
  if (std::ssize(next_) > kMostUnsent) end();
}

void Connection::end_parts() {
  if (state_ == State::kEnded || !in_parts_) return;
  in_parts_ = false;
  set_deadline(0);
  send("0\r\n\r\n");
}

void Connection::send(std::string bytes) {
  if (tls_) {
    if (!tls_->send(bytes)) return end();
    if (!keep_ && state_ == State::kAnswering && !in_parts_) tls_->close();
    bytes = tls_->take_output();
  }
  next_.empty() ? next_.swap(bytes) : void(next_ += bytes);
  write();
}

void Connection::write() {
  if (writing_ || next_.empty()) return;
  writing_ = true;
  out_ = std::exchange(next_, {});
  asio::async_write(socket_, asio::buffer(out_), [self = shared_from_this()](const auto& error, size_t) {
    self->writing_ = false;
    if (self->state_ == State::kEnded) return;
    if (error) return self->end();
    self->on_written();
  });
}

void Connection::on_written() {
  if (!next_.empty()) return write();
  out_.clear();
  if (state_ != State::kAnswering || in_parts_) return;
  if (!keep_) return linger();
  state_ = State::kReading;
  set_deadline(0);
  parse();
}

void Connection::linger() {
  state_ = State::kLingering;
  wire_bytes_ = 0;
  deadline_ = Clock::now() + kLingerTime;
  boost::system::error_code error;
  if (!writing_) socket_.shutdown(tcp::socket::shutdown_send, error);
  read();
}

}  // namespace tenon::server
