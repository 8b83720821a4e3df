// Requests and answers, and who answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::server {

// How a body was coded, of what the server knows.
enum class ContentCoding : uint8_t { kNone, kGzip, kOther };

// The head of a request: valid while the function that gets it runs.
struct RequestHead {
  std::string_view method;         // "POST"
  std::string_view target;         // "/v1/models/flowers:predict"
  std::string_view authorization;  // that field's value
  std::string_view content_encoding;
  ContentCoding content_coding = ContentCoding::kNone;  // what it says
};

// An answer that is sent as it is made. Thread safe; throws nothing.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual bool send(std::string part) = 0;  // false: the peer has gone, or does not read
  virtual bool open() const = 0;            // whether send() may be true
  virtual void end() = 0;                   // once
};

struct HttpResponse {
  int status = 200;
  std::string body;
  const char* content_type = "application/json";
  const char* allow = nullptr;  // of 405: the methods that there are
  int retry_after = 0;          // seconds; 0: is not said
  // In place of `body`: is called once, when the head is on its way, and gives parts to the sink, perhaps later, by any thread.
  std::function<void(std::shared_ptr<PartSink>)> parts = {};
};

// A request whose body has come; one that was compressed is so no more.
struct HttpRequest {
  std::string method, target, body;
  // Whether who asked has gone: for handlers that work long. May be kept, and asked by any thread.
  std::function<bool()> gone = {};
};

// What makes the answer, on the connection's thread, once.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual HttpResponse make() = 0;
};

// Called once, by any thread.
using Respond = std::function<void(std::unique_ptr<Answer>)>;

// Thread safe.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // An answer refuses the request before its body comes. It throws nothing.
  virtual std::optional<HttpResponse> refuse(const RequestHead& head) = 0;
  // Answers at once, or takes `respond` to answer later. It throws nothing.
  virtual std::optional<HttpResponse> handle(HttpRequest&& request, Respond respond) = 0;
};

// "Not Found"
const char* reason_of(int status);

}  // namespace tenon::server
