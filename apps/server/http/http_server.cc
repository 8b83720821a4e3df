#include "server/http/http_server.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "server/http/connection.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kLook{100};

// How long a handshake that has begun may take until its end, when the port closes.
constexpr std::chrono::milliseconds kHandshake{100};

// From now on the system takes no new handshakes: who comes tries again, and finds the port closed. Those that have begun go on.
void take_no_handshakes(int listener) {
  constexpr uint32_t kFlagsOffset = 13, kSyn = 2, kAck = 16;  // in a segment's head
  sock_filter steps[] = {{BPF_LD | BPF_B | BPF_ABS, 0, 0, kFlagsOffset},
                         {BPF_ALU | BPF_AND | BPF_K, 0, 0, kSyn | kAck},
                         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kSyn},
                         {BPF_RET | BPF_K, 0, 0, 0},
                         {BPF_RET | BPF_K, 0, 0, 0xffffffff}};
  const sock_fprog program = {5, steps};
  (void)::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// A thread with its connections.
class Worker {
 public:
  explicit Worker(HttpShared* shared) : shared_(shared), timer_(context_), guard_(context_.get_executor()) {}

  asio::io_context& context() { return context_; }
  void start() {
    look();
    thread_ = std::thread([this] { context_.run(); });
  }
  // By any thread.
  void give(tcp::socket socket) {
    ++shared_->arriving;
    asio::post(context_, [this, kept = std::make_shared<tcp::socket>(std::move(socket))] {
      adopt(std::move(*kept));
      --shared_->arriving;
    });
  }
  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    for (const auto& c : connections_) c->end();  // whoever works for one sees that it has gone
    connections_.clear();
  }

 private:
  void adopt(tcp::socket socket) {
    auto connection = std::make_shared<Connection>(context_, std::move(socket), shared_);
    connections_.push_back(connection);
    connection->start(shared_->metrics->connections > shared_->options.max_connections);
  }
  void look() {
    timer_.expires_after(kLook);
    timer_.async_wait([this](const error_code& error) {
      if (error) return;
      const auto now = Connection::Clock::now();
      for (const auto& c : connections_) c->check_time(now);
      std::erase_if(connections_, [](const auto& c) { return c->ended(); });
      look();
    });
  }

  HttpShared* const shared_;
  asio::io_context context_{1};
  asio::steady_timer timer_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

struct HttpServer::Impl {
  HttpShared shared;
  std::vector<std::unique_ptr<Worker>> workers;
  std::unique_ptr<tcp::acceptor> acceptor;
  std::unique_ptr<asio::steady_timer> pause;  // before the next try, where the system had nothing left
  size_t next = 0;

  Status listen();
  void accept();
  // For the acceptor's thread: `act` has been done when it returns.
  void on_first(const std::function<void()>& act);
};

Status HttpServer::Impl::listen() {
  const HttpOptions& o = shared.options;
  error_code error;
  const auto address = asio::ip::make_address(o.host == "localhost" ? "127.0.0.1" : o.host, error);
  if (error)
    return Status(Code::kInvalid, "'" + o.host + "' is no address of this machine, as 127.0.0.1, 0.0.0.0 or ::");
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(o.port));
  acceptor = std::make_unique<tcp::acceptor>(workers[0]->context());
  acceptor->open(endpoint.protocol(), error);
  if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->listen(1024, error);
  if (!error) acceptor->non_blocking(true, error);
  if (error) return Status(Code::kUnavailable, o.host + " port " + std::to_string(o.port) + ": " + error.message());
  return {};
}

void HttpServer::Impl::accept() {
  Worker& worker = *workers[next++ % workers.size()];
  acceptor->async_accept(worker.context(), [this, &worker](const error_code& error, tcp::socket socket) {
    if (!error) worker.give(std::move(socket));  // also where the port was closed meanwhile
    if (!acceptor->is_open()) return;
    if (!error) return accept();
    pause->expires_after(kLook);  // no descriptors, no memory
    pause->async_wait([this](const error_code& e) {
      if (!e && acceptor->is_open()) accept();
    });
  });
}

void HttpServer::Impl::on_first(const std::function<void()>& act) {
  std::mutex mutex;
  std::condition_variable changed;
  bool did = false;
  asio::post(workers[0]->context(), [&] {
    act();
    const std::lock_guard lock(mutex);
    did = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return did; });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options, HttpHandler* handler,
                                                      Metrics* metrics) {
  auto impl = std::unique_ptr<Impl>(new Impl{{options, handler, metrics}});
  for (int i = 0; i < options.threads; ++i) impl->workers.push_back(std::make_unique<Worker>(&impl->shared));
  TENON_TRY(impl->listen());
  impl->pause = std::make_unique<asio::steady_timer>(impl->workers[0]->context());
  impl->accept();
  for (const auto& worker : impl->workers) worker->start();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const {
  error_code error;
  return impl_->acceptor->local_endpoint(error).port();
}

bool HttpServer::drain(std::chrono::milliseconds grace, std::chrono::milliseconds limit) {
  impl_->shared.draining = true;
  std::this_thread::sleep_for(grace);
  impl_->on_first([this] { take_no_handshakes(impl_->acceptor->native_handle()); });
  std::this_thread::sleep_for(kHandshake);
  impl_->on_first([this] {
    // Those that wait in the system's queue have been accepted as their clients see it.
    for (error_code error; !error;) {
      Worker& worker = *impl_->workers[impl_->next++ % impl_->workers.size()];
      tcp::socket socket(worker.context());
      impl_->acceptor->accept(socket, error);
      if (!error) worker.give(std::move(socket));
    }
    error_code ignored;
    impl_->acceptor->close(ignored);
  });
  impl_->on_first([] {});  // behind one that was accepted just before
  impl_->shared.closing = true;
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto left = [this] { return impl_->shared.arriving > 0 || impl_->shared.metrics->connections > 0; };
  while (left() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !left();
}

void HttpServer::stop() {
  for (const auto& worker : impl_->workers) worker->stop();
}

HttpServer::~HttpServer() { stop(); }

}  // namespace tenon::server
