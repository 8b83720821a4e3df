#include "conformance/host/subject.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>

#include "conformance/host/host.h"
#include "conformance/host/poison.h"

namespace tenon::conformance {

std::string code_name(int32_t code) {
  static const char* const names[] = {"OK",          "INVALID", "UNSUPPORTED", "UNAVAILABLE", "OUT_OF_MEMORY",
                                      "DEVICE_LOST", "TIMEOUT", "ABI",         "INTERNAL"};
  return code >= 0 && code <= TENON_INTERNAL ? names[code] : "the unknown code " + std::to_string(code);
}

namespace {

std::string words(const tenon_status& status) {
  const std::string text = one_line(status.message);
  return code_name(status.code) + (text.empty() ? ", without a message" : ": " + text);
}

}  // namespace

// Control characters of a backend's text would break the report's lines.
std::string one_line(const char* text) {
  std::string line = text ? std::string(text, strnlen(text, 500)) : std::string();
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return line;
}

void fail(const std::string& text) { throw Failure{text}; }

void expect_ok(const tenon_status& status, const std::string& what) {
  if (status.code == TENON_OK) return;
  const std::string text = what + ": " + words(status);
  if (status.code == TENON_UNSUPPORTED) throw Unsupported{text};
  if (status.code == TENON_UNAVAILABLE) throw Unavailable{text};
  fail(text);
}

void expect_code(const tenon_status& status, int32_t code, const std::string& what) {
  if (status.code != code) fail(what + ": expected " + code_name(code) + ", found " + words(status));
  if (code == TENON_OK) return;
  if (!status.message || !*status.message) fail(what + ": " + code_name(code) + " comes without a message");
  if (std::strpbrk(status.message, "\n\r"))
    fail(what + ": the message has more than one line: " + one_line(status.message));
}

// malloc's memory is 0xFF, which is NaN: a byte that stands for "on" and inverts to that is 0x100.
Subject::Subject(std::string path, uint64_t seed, uint32_t threads, std::string spec)
    : path_(std::move(path)), spec_(std::move(spec)), seed_(seed) {
  mallopt(M_PERTURB, 0x100);
  static auto& hosts = *new std::vector<Host*>;  // they live for ever, and a leak checker should see it
  hosts.push_back(host_ = new Host(path_, std::max(threads, 1u)));
  backend_ = std::make_unique<tenon_backend>(load_backend(path_, host_->table()));
}

Subject::~Subject() { close_device(); }

const HostLog& Subject::log() const { return host_->log(); }

Cache& Subject::cache() { return host_->cache(); }

void Subject::limit_gang(uint32_t threads) { host_->gang().set_limit(threads); }

const std::vector<tenon_unit>& Subject::units() {
  if (!units_.empty()) return units_;
  uint32_t count = 0;
  expect_ok(backend_->enumerate(backend_->self, spec(), nullptr, sizeof(tenon_unit), &count), "enumerate");
  if (count == 0) throw Unavailable{"enumerate: no units"};
  expect(count <= 4096, "enumerate: " + std::to_string(count) + " units");
  std::vector<tenon_unit> units(count);
  expect_ok(backend_->enumerate(backend_->self, spec(), units.data(), sizeof(tenon_unit), &count), "enumerate");
  expect(count == units.size(),
         "enumerate: counts " + std::to_string(units.size()) + " units, then " + std::to_string(count));
  return units_ = std::move(units);
}

tenon_device* Subject::open_device(uint32_t n_units) {
  if (n_units > units().size()) throw Unavailable{"there are " + std::to_string(units().size()) + " units"};
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < n_units; ++i) indices.push_back(i);
  tenon_open open{};
  open.struct_size = sizeof open;
  open.spec = spec();
  open.units = indices.data();
  open.n_units = n_units;
  tenon_device* device = nullptr;
  expect_ok(backend_->device_open(backend_->self, &open, &device), "device_open");
  expect(device != nullptr, "device_open: OK without a device");
  return device;
}

tenon_device* Subject::device() {
  if (!device_) device_ = open_device();
  return device_;
}

void Subject::note_host_memory(const tenon_device* device, bool had) {
  if (device != device_) return;
  const int now = had ? 1 : -1, before = host_memory_.exchange(now);
  expect(before == 0 || before == now, std::string("buffer_alloc ") + (had ? "gives" : "refuses") +
                                           " a HOST buffer, but it did not do so with another one of the device");
}

void Subject::close_device() {
  poisons_.clear();
  if (device_) backend_->device_close(device_);
  host_memory_ = 0;
  device_ = nullptr;
}

// Poisons in few sizes, so that a backend whose compile is slow is not asked each time.
void Subject::poison(uint64_t bytes) {
  constexpr uint64_t kLeast = 1u << 14, kMost = 1u << 28;
  uint64_t size = kLeast;
  while (size < bytes && size < kMost) size *= 8;
  const auto [entry, fresh] = poisons_.try_emplace(size);
  if (fresh) entry->second = Poison::make(*this, device(), size);
  if (entry->second) entry->second->run();
}

}  // namespace tenon::conformance
