// The bytes of a request: Beast's parser behind a door, as its headers compile slowly. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace tenon::server {

class RequestParser {
 public:
  RequestParser(uint32_t max_header_bytes, uint64_t max_body_bytes);
  ~RequestParser();

  // What was wrong: the status of the answer, 0: nothing, and why.
  struct Problem {
    int status = 0;
    const char* why = "";
  };
  // Takes what it can from the beginning of `in`. A connection that has a problem has no next request.
  Problem take(std::string* in);

  bool started() const;    // a byte of it came
  bool head_done() const;  // valid from here on: head(), keep_alive(), expects_continue()
  bool done() const;
  RequestHead head() const;
  bool keep_alive() const;
  bool old_version() const;  // HTTP/1.0
  bool expects_continue() const;
  int64_t body_bytes() const;  // that came

  // REQUIRED: done(). The next request can be taken after it.
  HttpRequest request();

 private:
  struct Impl;
  Problem check_head();
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::server
