#include "server/http/request_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/field.hpp>

namespace tenon::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// A chunked request that has begun its body has so many bytes before it: with fewer, Beast's assertions fail.
constexpr size_t kLeastChunked = 5;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

ContentCoding coding_of(const std::string& field) {
  if (field.empty() || beast::iequals(field, "identity")) return ContentCoding::kNone;
  return beast::iequals(field, "gzip") || beast::iequals(field, "x-gzip") ? ContentCoding::kGzip
                                                                          : ContentCoding::kOther;
}

// Keeps what the server looks at, and no other field.
class BeastParser : public http::basic_parser<true> {
 public:
  std::string method, target, authorization, content_encoding, expect, body;
  int hosts = 0, lengths = 0;
  bool old_version = false, odd_length = false, odd_encoding = false, encoded = false;

 private:
  using Error = beast::error_code;
  void on_request_impl(http::verb, beast::string_view m, beast::string_view t, int version, Error&) override {
    method = view(m);
    target = view(t);
    old_version = version == 10;
  }
  void on_response_impl(int, beast::string_view, int, Error&) override {}
  void on_field_impl(http::field field, beast::string_view, beast::string_view value, Error&) override {
    if (is_header_done()) return;  // a trailer
    switch (field) {
      case http::field::host:
        ++hosts;
        break;
      case http::field::content_length:
        ++lengths;
        odd_length |= value.find_first_not_of("0123456789") != value.npos;
        break;
      case http::field::transfer_encoding:
        encoded = true;
        odd_encoding |= !beast::iequals(value, "chunked");
        break;
      case http::field::authorization:
        authorization = view(value);
        break;
      case http::field::content_encoding:
        if (!content_encoding.empty()) content_encoding += ", ";  // several fields are a list
        content_encoding += view(value);
        break;
      case http::field::expect:
        expect = view(value);
        break;
      default:
        break;
    }
  }
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Error&) override {
    if (length)
      body.reserve(static_cast<size_t>(std::min<std::uint64_t>(*length, 65536)) + 64);  // what is said is not believed
  }
  std::size_t on_body_impl(beast::string_view part, Error&) override { return body += view(part), part.size(); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view part, Error&) override {
    return body += view(part), part.size();
  }
  void on_finish_impl(Error&) override {}
};

}  // namespace

struct RequestParser::Impl {
  uint32_t max_header;
  uint64_t max_body;
  std::optional<BeastParser> parser;
  bool checked = false;

  void reset() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(max_header);
    parser->body_limit(max_body);
    checked = false;
  }
};

RequestParser::RequestParser(uint32_t max_header_bytes, uint64_t max_body_bytes)
    : impl_(new Impl{max_header_bytes, max_body_bytes, {}}) {
  impl_->reset();
}
RequestParser::~RequestParser() = default;

RequestParser::Problem RequestParser::take(std::string* in) {
  BeastParser& parser = *impl_->parser;
  size_t taken = 0;
  beast::error_code error;
  while (taken < in->size() && !parser.is_done()) {
    if (parser.is_header_done() && parser.chunked() && in->size() - taken < kLeastChunked) break;
    const size_t n = parser.put(boost::asio::buffer(in->data() + taken, in->size() - taken), error);
    taken += n;
    if (error || n == 0) break;
  }
  in->erase(0, taken);
  if (error && error != http::error::need_more) {
    if (error == http::error::header_limit) return {431, "the request's head is too large"};
    if (error == http::error::body_limit) return {413, "the request's body is too large"};
    if (error == http::error::bad_version) return {505, "expected HTTP/1.1 or HTTP/1.0"};
    return {400, "the request is no HTTP"};
  }
  // A chunk's head, or what follows the last chunk, that does not end.
  if (parser.is_header_done() && !parser.is_done() && in->size() > impl_->max_header)
    return {431, "a chunk's head is too large"};
  if (parser.is_header_done() && !impl_->checked) {
    impl_->checked = true;
    return check_head();
  }
  return {};
}

RequestParser::Problem RequestParser::check_head() {
  const BeastParser& parser = *impl_->parser;
  if (parser.lengths > 1 || parser.odd_length) return {400, "expected one Content-Length that is a number"};
  if (parser.odd_encoding) return {400, "expected the Transfer-Encoding to be chunked"};
  if (parser.encoded && (parser.lengths || parser.old_version)) return {400, "Transfer-Encoding is not allowed there"};
  if (parser.hosts > 1 || (parser.hosts == 0 && !parser.old_version)) return {400, "expected one Host field"};
  if (!parser.target.starts_with('/')) return {400, "expected a target that begins with /"};
  if (!parser.expect.empty() && !beast::iequals(parser.expect, "100-continue"))
    return {417, "expected Expect: 100-continue"};
  return {};
}

bool RequestParser::started() const { return impl_->parser->got_some(); }
bool RequestParser::head_done() const { return impl_->parser->is_header_done(); }
bool RequestParser::done() const { return impl_->parser->is_done(); }
bool RequestParser::keep_alive() const { return impl_->parser->keep_alive(); }
bool RequestParser::old_version() const { return impl_->parser->old_version; }
bool RequestParser::expects_continue() const { return !impl_->parser->expect.empty() && !impl_->parser->old_version; }
int64_t RequestParser::body_bytes() const { return std::ssize(impl_->parser->body); }

RequestHead RequestParser::head() const {
  const BeastParser& p = *impl_->parser;
  return {p.method, p.target, p.authorization, p.content_encoding, coding_of(p.content_encoding)};
}

HttpRequest RequestParser::request() {
  BeastParser& p = *impl_->parser;
  HttpRequest out{std::move(p.method), std::move(p.target), std::move(p.body)};
  impl_->reset();
  return out;
}

}  // namespace tenon::server
