// The host's table as a backend sees it.
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/plugin/validation.h"
#include "validation/layer.h"

namespace tenon::plugin {
namespace validation {
namespace {

struct Host {
  tenon_host table{};
  const tenon_host* inner = nullptr;
  std::string backend;
};

Host& as_host(void* ctx) { return *static_cast<Host*>(ctx); }

// Never from a thread of the backend's own.
void check_inside() {
  if (!Call::inside_backend()) backend_broke("called the host from outside its entries");
}

void log(void* ctx, int32_t level, const char* text) {
  const Host& host = as_host(ctx);
  (void)checked(host.backend, "log", [&]() -> tenon_status {
    check_inside();
    if (level < TENON_LOG_DEBUG || level > TENON_LOG_ERROR) backend_broke("logs at level ", level);
    if (!text) backend_broke("logs nothing");
    host.inner->log(host.inner->ctx, level, text);
    return {TENON_OK, 0, nullptr};
  });
}

// One gang, on each of its threads.
struct Gang {
  const Host* host;
  void (*fn)(void*, uint32_t, uint32_t);
  void* arg;
  uint32_t want;
  std::atomic<uint32_t> members{0}, sum{0}, count{0};
};

void member(void* arg, uint32_t index, uint32_t count) {
  auto& gang = *static_cast<Gang*>(arg);
  ++gang.members;
  gang.sum += index;
  gang.count = count;
  const ThreadState before;
  {
    const struct Inside {  // also when it throws, which the entry that called the gang is told of
      Inside() { ++Call::inside_backend(); }
      ~Inside() { --Call::inside_backend(); }
    } inside;
    gang.fn(gang.arg, index, count);
  }
  if (const char* changed = before.restore())
    (void)report(gang.host->backend, "gang", {Side::kBackend, cat("left ", changed, " changed")});
}

uint32_t gang(void* ctx, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  const Host& host = as_host(ctx);
  uint32_t count = 0;
  const tenon_status status = checked(host.backend, "gang", [&]() -> tenon_status {
    check_inside();
    if (want == 0 || !fn) backend_broke("wants a gang of ", want, fn ? "" : " without work");
    Gang gang{&host, fn, arg, want};
    count = host.inner->gang(host.inner->ctx, want, member, &gang);
    const bool each_once = gang.members == count && gang.sum == count * (count - 1) / 2 && gang.count == count;
    if (count == 0 || count > want || !each_once)
      host_broke("made a gang of ", gang.members.load(), " threads, said ", count, ", asked were ", want);
    return {TENON_OK, 0, nullptr};
  });
  if (count == 0 && fn && status.code) {  // the work has to be done all the same
    fn(arg, 0, 1);
    count = 1;
  }
  return count;
}

tenon_status cache_get(void* ctx, const char* key, void* data, uint64_t* bytes) {
  const Host& host = as_host(ctx);
  return checked(host.backend, "cache_get", [&] {
    check_inside();
    if (!key || !*key || !bytes) backend_broke("asks the cache without a key or a size");
    const uint64_t room = *bytes;
    const tenon_status status = host.inner->cache_get(host.inner->ctx, key, data, bytes);
    if (status.code == TENON_OK && data && *bytes > room)
      host_broke("gave ", *bytes, " bytes, there was room for ", room);
    return status;
  });
}

tenon_status cache_put(void* ctx, const char* key, const void* data, uint64_t bytes) {
  const Host& host = as_host(ctx);
  return checked(host.backend, "cache_put", [&] {
    check_inside();
    if (!key || !*key || (bytes && !data)) backend_broke("stores without a key or data");
    return host.inner->cache_put(host.inner->ctx, key, data, bytes);
  });
}

tenon_status open_backend(void* ctx, const char* name, tenon_backend* out) {
  const Host& host = as_host(ctx);
  return checked(host.backend, "open_backend", [&] {
    check_inside();
    if (!name || !*name || !out) backend_broke("opens a backend without a name or a table");
    if (out->struct_size < TENON_SIZE(tenon_backend, wait))
      backend_broke("passes a table of ", out->struct_size, " bytes");
    const tenon_status status = host.inner->open_backend(host.inner->ctx, name, out);
    if (status.code == TENON_OK && !out->wait) host_broke("gave a table without entries");
    return status;
  });
}

// Lives for ever, as the backend may keep it, whatever it answers.
Host& new_host() {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<Host>>;
  const std::lock_guard lock(mutex);
  all.push_back(std::make_unique<Host>());
  return *all.back();
}

const Host& make_host(const tenon_host& inner, const char* name) {
  Host& host = new_host();
  host.inner = &inner;
  host.backend = name;
  std::memcpy(&host.table, &inner, inner.struct_size < sizeof host.table ? inner.struct_size : sizeof host.table);
  host.table.struct_size = sizeof host.table;
  host.table.ctx = &host;
  if (host.table.log) host.table.log = log;
  if (host.table.gang) host.table.gang = gang;
  if (host.table.cache_get) host.table.cache_get = cache_get;
  if (host.table.cache_put) host.table.cache_put = cache_put;
  if (host.table.open_backend) host.table.open_backend = open_backend;
  return host;
}

}  // namespace
}  // namespace validation

tenon_status validate_init(BackendInit init, const tenon_host& host, const char* name, tenon_backend* out) {
  using namespace validation;
  const std::string backend = name ? name : "?";
  return checked(backend, "tenon_backend_init", [&] {
    if (!init || !out) host_broke("passes no init or no table");
    static Layer& no_layer = *new Layer;  // a call of no table yet
    Call call(no_layer, "tenon_backend_init");
    const ProcessState before;
    const uint64_t room = out->struct_size;
    const tenon_status status =
        call.forward(nullptr, [&] { return init(&make_host(host, backend.c_str()).table, out); });
    if (const char* changed = before.difference()) backend_broke("changed ", changed);
    if (status.code == TENON_OK && out->struct_size > room)
      backend_broke("set struct_size ", out->struct_size, ", there was room for ", room);
    return status;
  });
}

}  // namespace tenon::plugin
