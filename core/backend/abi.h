// The ABI inside core/backend: nobody outside this folder includes it.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/status.h"

namespace tenon {

// "BACKEND: message". Unknown codes count as kInternal; the text is made printable.
Status from_abi(const tenon_status& status, std::string_view backend, std::string_view entry);

// kAbi, "DEVICE: what it did".
Status broke_abi(std::string_view device, std::string_view what);

// "BACKEND: the backend broke the ABI: threw out of `ENTRY`: what()". REQUIRED: an exception is being handled.
Status thrown_out_of(std::string_view backend, std::string_view entry);
// The same where there is no status to answer with: one line on stderr, for the first few.
void log_thrown_out_of(std::string_view backend, std::string_view entry);

// Calls an entry. Nothing that it throws, which the contract forbids, comes further than this.
template <class Body>
Status call_entry(std::string_view backend, std::string_view entry, Body&& body) {
  tenon_status status;
  try {
    status = body();
  } catch (...) {
    return thrown_out_of(backend, entry);
  }
  return from_abi(status, backend, entry);
}

// The same for entries without a status.
template <class Body>
void call_void_entry(std::string_view backend, std::string_view entry, Body&& body) noexcept {
  try {
    body();
  } catch (...) {
    log_thrown_out_of(backend, entry);
  }
}

// Bytes of an ordinary text, and of one that may have many lines: a message, advice.
constexpr size_t kMaxText = 4096, kMaxReport = 65536;

// Whether what a backend filled may be read: a low flag that this core does not know says that it means something else.
inline bool is_readable(uint64_t flags, uint64_t known = 0) { return (flags & UINT32_MAX & ~known) == 0; }

// Text of a plugin is not trusted: control characters and what is no UTF-8 become '?', length is
// bounded. Lines are kept.
std::string printable(std::string_view text, size_t most = kMaxText);
// NULL counts as empty; no more than `most` bytes are looked at.
std::string printable(const char* text, size_t most = kMaxText);

// The same in one line.
std::string one_line(std::string_view text);

constexpr uint32_t kMaxRows = 1 << 20;

// The rows of a backend's table, as far as they go.
template <class Row, class Make>
auto rows_of(const Row* rows, uint64_t n, uint64_t stride, Make make) {
  std::vector<decltype(make(*rows))> out;
  for (uint64_t i = 0; rows && i < std::min<uint64_t>(n, kMaxRows); ++i) {
    Row row{};
    std::memcpy(&row, reinterpret_cast<const uint8_t*>(rows) + i * stride, std::min<uint64_t>(stride, sizeof row));
    out.push_back(make(row));
  }
  return out;
}

}  // namespace tenon
