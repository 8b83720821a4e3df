#include "server/load/response_reader.h"

#include <algorithm>
#include <charconv>

namespace tenon::server {
namespace {

constexpr size_t kMostHead = 65536;

bool equal(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

template <class T>
bool read_number(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool ResponseReader::take(std::string_view bytes) {
  if (body_ >= 0) {
    received_ += static_cast<int64_t>(bytes.size());
    return received_ <= body_;
  }
  head_ += bytes;
  const size_t end = head_.find("\r\n\r\n");
  if (end == head_.npos) return head_.size() <= kMostHead;
  received_ = static_cast<int64_t>(head_.size() - end - 4);
  head_.resize(end + 2);
  return read_head() && received_ <= body_;
}

// "HTTP/1.1 200 OK", then a field a line.
bool ResponseReader::read_head() {
  const std::string_view head = head_;
  if (!head.starts_with("HTTP/1.1 ") || head.size() < 13 || !read_number(head.substr(9, 3), &code_)) return false;
  for (size_t at = head.find("\r\n") + 2; at < head.size();) {
    const size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    at = end + 2;
    const size_t colon = line.find(':');
    if (colon == line.npos) return false;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (equal(line.substr(0, colon), "content-length") && !read_number(value, &body_)) return false;
    if (equal(line.substr(0, colon), "connection")) closes_ = equal(value, "close");
  }
  return body_ >= 0;
}

}  // namespace tenon::server
