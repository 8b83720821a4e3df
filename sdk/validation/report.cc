#include "validation/report.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "tenon/plugin/validation.h"

namespace tenon::plugin {
namespace validation {
namespace {

constexpr uint64_t kShown = 100;
constexpr size_t kQuoted = 300;

void print(void*, const char* line) {
  static std::atomic<uint64_t> printed{0};
  const uint64_t n = ++printed;
  if (n <= kShown) std::fprintf(stderr, "%s\n", line);
  if (n == kShown) std::fprintf(stderr, "tenon: further violations are counted and not shown\n");
}

struct Reports {
  std::atomic<uint64_t> count{0};
  void (*sink)(void*, const char*) = print;
  void* ctx = nullptr;
};

Reports& reports() {
  static Reports& r = *new Reports;
  return r;
}

}  // namespace

std::string report(const std::string& backend, const char* entry, const Broken& broken) {
  ++reports().count;
  const std::string who = broken.side == Side::kHost ? "tenon: the host" : "backend " + backend;
  std::string line = who + " broke the contract in " + entry + ": " + broken.what;
  reports().sink(reports().ctx, line.c_str());
  return line;
}

tenon_status answer(int32_t code, const std::string& message) {
  static thread_local std::string kept;
  kept = message;
  return {code, 0, kept.c_str()};
}

std::string quoted(const char* text) {
  std::string out(text, ::strnlen(text, kQuoted));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

}  // namespace validation

void report_violations_to(void (*sink)(void*, const char*), void* ctx) {
  validation::reports().sink = sink ? sink : validation::print;
  validation::reports().ctx = ctx;
}

uint64_t violation_count() { return validation::reports().count; }

}  // namespace tenon::plugin
