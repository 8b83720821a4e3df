// Where an HTTP answer ends: the little of it that a client needs who asks one thing again and again.
#pragma once

#include <string>
#include <string_view>

namespace tenon::server {

// Answers have a Content-Length.
class ResponseReader {
 public:
  // The next bytes. False: they are no such answer, or more than one.
  bool take(std::string_view bytes);
  bool complete() const { return body_ >= 0 && received_ == body_; }
  int code() const { return code_; }
  bool closes() const { return closes_; }  // the peer closes the connection behind it

 private:
  bool read_head();
  std::string head_;
  int code_ = 0;
  int64_t body_ = -1, received_ = 0;  // bytes; -1: the head is not there yet
  bool closes_ = false;
};

}  // namespace tenon::server
