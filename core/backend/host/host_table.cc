#include "backend/host/host_table.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "backend/abi.h"
#include "backend/host/device_log.h"
#include "backend/load/loader.h"
#include "base/process/process_pool.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kMaxKey = 4096;

BackendHost& host_of(void* ctx) { return *static_cast<BackendHost*>(ctx); }

// The message lives until this thread's next call.
tenon_status to_abi(const Status& status) {
  static thread_local std::string message;
  if (status.ok()) return {TENON_OK, 0, nullptr};
  message = status.message();
  return {static_cast<int32_t>(status.code()), 0, message.c_str()};
}

// Nothing of the host's is thrown into a plugin.
template <class F>
tenon_status guarded(F work) {
  try {
    return to_abi(work());
  } catch (...) {
    return {TENON_OUT_OF_MEMORY, 0, "the host is out of memory"};
  }
}

// Nothing of the host's is thrown into a plugin.
void log_line(const char* text, bool detail) {
  try {
    DeviceLog::write(one_line(printable(text)), detail);
  } catch (...) {
  }
}

void log(void* ctx, int32_t level, const char* text) {
  if (!text) return;
  if (level < TENON_LOG_WARNING) return log_line(text, level < TENON_LOG_INFO);
  std::fprintf(stderr, "%s: %s\n", host_of(ctx).name().c_str(), one_line(printable(text)).c_str());
}

// The exception that a gang's function of the plugin threw, on whatever thread: it goes on in the plugin's caller of
// the gang, and so to the entry, once no member is at work any more.
struct GangMembers {
  void (*fn)(void*, uint32_t, uint32_t);
  void* arg;
  std::atomic<bool> threw{false};
  std::exception_ptr thrown{};
};

void gang_member(void* arg, uint32_t index, uint32_t count) {
  auto& members = *static_cast<GangMembers*>(arg);
  try {
    members.fn(members.arg, index, count);
  } catch (...) {
    if (!members.threw.exchange(true)) members.thrown = std::current_exception();
  }
}

uint32_t gang(void*, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  GangMembers members{fn, arg};
  const uint32_t count = process_pool().gang(want, gang_member, &members);
  if (members.thrown) std::rethrow_exception(members.thrown);
  if (members.threw) throw std::runtime_error("a gang's function threw what is no C++ exception");
  return count;
}

uint32_t gang_of_one(void*, uint32_t, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  fn(arg, 0, 1);
  return 1;
}

Status get(BackendHost& host, const char* key, void* data, uint64_t* bytes) {
  if (!key || !bytes || ::strnlen(key, kMaxKey) == kMaxKey) return invalid("cache_get: needs a key and room");
  TENON_ASSIGN(const std::string found, host.cache().get(key));
  const uint64_t room = *bytes;
  *bytes = found.size();
  if (!data) return {};
  if (room < found.size()) return invalid("cache_get: ", found.size(), " bytes, there is room for ", room);
  std::memcpy(data, found.data(), found.size());
  return {};
}

Status put(BackendHost& host, const char* key, const void* data, uint64_t bytes) {
  if (!key || (!data && bytes) || ::strnlen(key, kMaxKey) == kMaxKey) return invalid("cache_put: needs a key and data");
  if (bytes > kCacheEntryBytes) return invalid("cache_put: ", bytes, " bytes, expected at most ", kCacheEntryBytes);
  return host.cache().put(key, {static_cast<const char*>(data), bytes});
}

Status open(BackendHost& host, const char* name, tenon_backend* out) {
  if (!name || !out || out->struct_size < sizeof out->struct_size)
    return invalid("open_backend: needs a name and a table");
  TENON_ASSIGN(const LoadedBackend* inner, load_for(host.name(), printable(name)));
  const uint64_t bytes = std::min(out->struct_size, inner->table.struct_size);
  std::memcpy(out, &inner->table, bytes);
  out->struct_size = bytes;
  return {};
}

tenon_status cache_get(void* ctx, const char* key, void* data, uint64_t* bytes) {
  return guarded([&] { return get(host_of(ctx), key, data, bytes); });
}

tenon_status cache_put(void* ctx, const char* key, const void* data, uint64_t bytes) {
  return guarded([&] { return put(host_of(ctx), key, data, bytes); });
}

void no_log(void*, int32_t, const char*) {}

tenon_status no_cache_get(void*, const char*, void*, uint64_t*) {
  return {TENON_UNAVAILABLE, 0, "cache: no such entry"};
}

tenon_status no_cache_put(void*, const char*, const void*, uint64_t) { return {TENON_OK, 0, nullptr}; }

tenon_status open_backend(void* ctx, const char* name, tenon_backend* out) {
  return guarded([&] { return open(host_of(ctx), name, out); });
}

}  // namespace

BackendHost::BackendHost(std::string name, std::string fingerprint)
    : name_(std::move(name)), cache_(std::move(fingerprint)) {}

tenon_host BackendHost::common() {
  tenon_host host{};
  host.struct_size = sizeof host;
  host.abi_major = TENON_ABI_MAJOR;
  host.abi_minor = TENON_ABI_MINOR;
  host.ctx = this;
  host.name = "tenon";
  host.version = "0.1.0";
  host.log = log;
  host.open_backend = open_backend;
  return host;
}

const tenon_host& BackendHost::table() {
  table_ = common();
  table_.threads = static_cast<uint32_t>(process_threads());
  table_.gang = gang;
  table_.cache_get = cache_get;
  table_.cache_put = cache_put;
  return table_;
}

const tenon_host& BackendHost::trial_table() {
  table_ = common();
  table_.log = no_log;
  table_.threads = 1;
  table_.gang = gang_of_one;
  table_.cache_get = no_cache_get;
  table_.cache_put = no_cache_put;
  return table_;
}

}  // namespace tenon
