// System calls that nobody sees interrupted or cut short. Errors are errno's.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace tenon::conformance {

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

// All of it, or false.
inline bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = retry([&] { return ::write(fd, text.data(), text.size()); });
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace tenon::conformance
