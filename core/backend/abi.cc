#include "backend/abi.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/strings.h"
#include "tenon/text.h"

namespace tenon {
namespace {

constexpr int kMaxLogged = 20;

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string out;
  text = text.substr(0, most);
  while (!text.empty()) {
    const size_t n = utf8_sequence(text);
    if (n == 0 || (text[0] != '\n' && is_control(text.substr(0, n))))
      out += '?';
    else
      out += text.substr(0, n);
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  return out;
}

std::string printable(const char* text, size_t most) {
  return text ? printable(std::string_view(text, ::strnlen(text, most)), most) : std::string();
}

std::string one_line(std::string_view text) {
  std::string out = printable(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

Status from_abi(const tenon_status& s, std::string_view backend, std::string_view entry) {
  if (s.code == TENON_OK) return {};
  const int code = s.code > 0 && s.code <= TENON_INTERNAL ? s.code : TENON_INTERNAL;
  return Status(
      static_cast<Code>(code),
      cat(backend, ": ", s.message ? printable(s.message, kMaxReport) : cat(entry, " failed with code ", s.code)));
}

Status broke_abi(std::string_view device, std::string_view what) { return Status(Code::kAbi, cat(device, ": ", what)); }

namespace {

// What a plugin throws may be of a type that this process knows nothing of.
std::string text_of_exception() {
  try {
    throw;
  } catch (const std::exception& e) {
    return cat(": ", one_line(printable(e.what())));
  } catch (...) {
    return ", and no std::exception";
  }
}

}  // namespace

Status thrown_out_of(std::string_view backend, std::string_view entry) {
  return Status(Code::kInternal,
                cat(backend, ": the backend broke the ABI: threw out of `", entry, "`", text_of_exception()));
}

void log_thrown_out_of(std::string_view backend, std::string_view entry) {
  static std::atomic<int> logged{0};
  if (logged.load(std::memory_order_relaxed) >= kMaxLogged || ++logged > kMaxLogged) return;
  std::fprintf(stderr, "%s\n", thrown_out_of(backend, entry).message().c_str());
}

}  // namespace tenon
