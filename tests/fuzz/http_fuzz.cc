// Bytes of HTTP requests, as a connection takes them: in pieces or at once they become the same requests, and none is larger than the limits.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/request_parser.h"

using tenon::server::HttpRequest;
using tenon::server::RequestParser;

namespace {

constexpr uint32_t kMaxHeader = 512;
constexpr uint64_t kMaxBody = 1024;

struct Outcome {
  std::vector<HttpRequest> requests;
  int status = 0;  // of the problem that ended it
};

void require(bool condition) {
  if (!condition) std::abort();
}

// All requests that end in `in`; whether there was no problem.
bool take_all(RequestParser* parser, std::string* in, Outcome* out) {
  for (;;) {
    const size_t before = in->size();
    const RequestParser::Problem problem = parser->take(in);
    out->status = problem.status;
    if (problem.status) return require(problem.status >= 400 && *problem.why), false;
    require(in->size() <= before && parser->body_bytes() <= static_cast<int64_t>(kMaxBody));
    if (parser->head_done()) require(parser->head().target.starts_with('/') && !parser->head().method.empty());
    if (!parser->done()) return true;
    require(parser->head_done());
    out->requests.push_back(parser->request());
    require(out->requests.back().body.size() <= kMaxBody && !parser->started());
    if (in->empty()) return true;
  }
}

Outcome in_pieces(std::string_view bytes, size_t piece) {
  RequestParser parser(kMaxHeader, kMaxBody);
  Outcome out;
  std::string in;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    in += bytes.substr(at, piece);
    if (!take_all(&parser, &in, &out)) break;
  }
  return out;
}

}  // namespace

// The first byte: how long the pieces are.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = in_pieces(bytes, bytes.size() + 1), pieces = in_pieces(bytes, size_t{1} + data[0] % 64);
  if (bytes.size() >= kMaxHeader) return 0;  // what is too long may be seen earlier or later
  require(whole.requests.size() ==
          pieces.requests.size());  // a head that has no end yet may be refused already, or not
  for (size_t i = 0; i < whole.requests.size(); ++i) {
    const HttpRequest &a = whole.requests[i], &b = pieces.requests[i];
    require(a.method == b.method && a.target == b.target && a.body == b.body);
  }
  return 0;
}
