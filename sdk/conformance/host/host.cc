#include "conformance/host/host.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "conformance/host/elf_note.h"
#include "conformance/validator.h"

namespace tenon::conformance {
namespace {

Host& host_of(void* ctx) { return *static_cast<Host*>(ctx); }

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string stem_of(const std::string& path) {
  const size_t slash = path.rfind('/'), first = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.rfind(".so");
  return path.substr(first, dot == std::string::npos || dot < first ? std::string::npos : dot - first);
}

bool is_name(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() < 64 && std::all_of(name.begin(), name.end(), plain);
}

// The message lives until the thread's next call.
tenon_status error(tenon_code code, std::string text) {
  static thread_local std::string message;
  message = std::move(text);
  return {code, 0, message.c_str()};
}

}  // namespace

Host::Host(const std::string& library, uint32_t threads) : folder_(folder_of(library)), gang_(threads) {
  backends_[stem_of(library)] = {};
  table_.struct_size = sizeof table_;
  table_.abi_major = TENON_ABI_MAJOR;
  table_.abi_minor = TENON_ABI_MINOR;
  table_.ctx = this;
  table_.name = "tenon-conform";
  table_.version = "1";
  table_.log = on_log;
  table_.threads = threads;
  table_.gang = on_gang;
  table_.cache_get = on_cache_get;
  table_.cache_put = on_cache_put;
  table_.open_backend = on_open_backend;
}

void Host::on_log(void* ctx, int32_t, const char* text) {
  Host& host = host_of(ctx);
  std::lock_guard lock(host.mutex_);
  ++host.log_.logs;
  if (text && host.log_.lines.size() < 1000) host.log_.lines.emplace_back(text);
}

uint32_t Host::on_gang(void* ctx, uint32_t want, Gang::Fn fn, void* arg) {
  Host& host = host_of(ctx);
  {
    std::lock_guard lock(host.mutex_);
    ++host.log_.gangs;
  }
  return host.gang_.run(want, fn, arg);
}

tenon_status Host::on_cache_get(void* ctx, const char* key, void* data, uint64_t* bytes) {
  Host& host = host_of(ctx);
  if (!key || !bytes) return error(TENON_INVALID, "cache_get: needs a key and room");
  {
    const std::lock_guard lock(host.mutex_);
    ++host.log_.cache_gets;
  }
  const tenon_code code = host.cache_.get(key, data, bytes);
  if (code == TENON_OK) return {};
  return error(code, code == TENON_UNAVAILABLE ? "cache_get: no such entry" : "cache_get: too little room");
}

tenon_status Host::on_cache_put(void* ctx, const char* key, const void* data, uint64_t bytes) {
  Host& host = host_of(ctx);
  if (!key || (!data && bytes)) return error(TENON_INVALID, "cache_put: needs a key and data");
  {
    const std::lock_guard lock(host.mutex_);
    ++host.log_.cache_puts;
  }
  if (host.cache_.put(key, data, bytes) != TENON_OK) return error(TENON_INVALID, "cache_put: the entry is too large");
  return {};
}

const tenon_backend* Host::load(const std::string& name) {
  expect(is_name(name), "open_backend: '" + name + "' is no backend's name");
  const auto found = backends_.find(name);
  if (found != backends_.end()) {
    expect(found->second.name != nullptr, "open_backend: '" + name + "' stands on itself");
    return &found->second;
  }
  backends_[name] = {};  // being loaded: a cycle ends here
  try {
    return &(backends_[name] = load_backend(folder_ + "/" + name + ".so", &table_));
  } catch (...) {
    backends_.erase(name);
    throw;
  }
}

tenon_status Host::on_open_backend(void* ctx, const char* name, tenon_backend* out) {
  if (!name || !out || out->struct_size < sizeof out->struct_size)
    return error(TENON_INVALID, "open_backend: needs a name and a table");
  try {
    const tenon_backend* inner = host_of(ctx).load(name);
    const uint64_t bytes = std::min(out->struct_size, inner->struct_size);
    std::memcpy(out, inner, bytes);
    out->struct_size = bytes;
    return {};
  } catch (const Failure& failure) {
    return error(TENON_UNAVAILABLE, failure.text);
  } catch (const Unavailable& unavailable) {
    return error(TENON_UNAVAILABLE, unavailable.reason);
  } catch (const Unsupported& unsupported) {
    return error(TENON_UNSUPPORTED, unsupported.reason);
  }
}

tenon_backend load_backend(const std::string& path, const tenon_host* host) {
  const AbiNote note = read_abi_note(path);
  expect(note.major == TENON_ABI_MAJOR, "the note of " + path + " says ABI version " + std::to_string(note.major) +
                                            ", expected " + std::to_string(TENON_ABI_MAJOR));
  void* library =
      dlopen(path.find('/') == std::string::npos ? ("./" + path).c_str() : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(std::string("cannot be loaded: ") + dlerror());
  const auto init = reinterpret_cast<decltype(&tenon_backend_init)>(dlsym(library, "tenon_backend_init"));
  expect(init != nullptr, path + " exports no tenon_backend_init");
  tenon_backend table{};
  table.struct_size = sizeof table;
  expect_ok(init_backend(init, *host, stem_of(path), &table), "tenon_backend_init");
  expect(table.struct_size >= TENON_SIZE(tenon_backend, wait) && table.struct_size <= sizeof table,
         "tenon_backend_init filled " + std::to_string(table.struct_size) + " bytes, expected " +
             std::to_string(TENON_SIZE(tenon_backend, wait)) + " to " + std::to_string(sizeof table));
  return table;
}

}  // namespace tenon::conformance
