// A connection that sends bytes just as a test says.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace tenon::server {

struct RawResponse {
  int status = 0;  // 0: the connection ended before one came
  std::string head, body;
};

class RawClient {
 public:
  explicit RawClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;  // the server closed: what it said is still to be read
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }

  // The next response. Without `has_body` its Content-Length is that of a body that does not come (HEAD).
  RawResponse receive(bool has_body = true) {
    RawResponse out;
    size_t end;
    while ((end = in_.find("\r\n\r\n")) == in_.npos)
      if (!more()) return out;
    out.head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    out.status = std::stoi(out.head.substr(9, 3));
    const size_t field = out.head.find("Content-Length: ");
    const size_t length = !has_body || field == out.head.npos ? 0 : std::stoul(out.head.substr(field + 16));
    while (in_.size() < length)
      if (!more()) break;
    out.body = in_.substr(0, length);
    in_.erase(0, length);
    return out;
  }
  RawResponse ask(std::string_view bytes) {
    send(bytes);
    return receive();
  }
  // Whether the server has ended the connection; waits for it to end or say something.
  bool ended() { return in_.empty() && !more(); }

 private:
  bool more() {
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    in_.append(buffer, static_cast<size_t>(n));
    return true;
  }

  int fd_;
  std::string in_;
};

inline std::string post(const std::string& target, const std::string& body, const std::string& fields = "") {
  return "POST " + target + " HTTP/1.1\r\nHost: h\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}
inline std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

}  // namespace tenon::server
