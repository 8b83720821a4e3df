#include "backend/loader.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "backend/abi.h"
#include "backend/conduct.h"
#include "backend/elf_check.h"
#include "backend/host_table.h"
#include "backend/probe.h"
#include "backend/process_state.h"
#include "backend/search_path.h"
#include "backend/table_check.h"
#include "backend/trust.h"
#include "base/text.h"
#include "tenon/plugin/validation.h"

namespace tenon {
namespace {

// A file with these contents, as far as the file system tells.
struct FileIdentity {
  std::string path, name;
  dev_t device;
  ino_t inode;
  off_t size;
  int64_t modified, changed;  // ns

  auto operator<=>(const FileIdentity&) const = default;
};

int64_t nanoseconds(const timespec& t) { return t.tv_sec * int64_t{1000000000} + t.tv_nsec; }

Result<FileIdentity> identify(const std::string& path, const std::string& name) {
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return Status(Code::kUnavailable, "cannot be inspected");
  return FileIdentity{path, name, s.st_dev, s.st_ino, s.st_size, nanoseconds(s.st_mtim), nanoseconds(s.st_ctim)};
}

// All that lives for ever. Recursive: a backend that is being initialised may open another.
struct State {
  std::recursive_mutex mutex;
  std::chrono::milliseconds probe_limit{10000};
  std::map<FileIdentity, Result<AbiVersion>> verdicts;
  std::map<std::string, std::unique_ptr<LoadedBackend>> loaded;  // by resolved path
  std::set<std::pair<std::string, std::string>> stands_on;       // user, inner
  bool trial = false;                                            // this is a child that tries a backend
};

State& state() {
  static State& s = *new State;
  return s;
}

// In a child that tries a backend the lock is held already, by the thread of the parent that forked.
class Lock {
 public:
  Lock() : locked_(!state().trial) {
    if (locked_) state().mutex.lock();
  }
  ~Lock() {
    if (locked_) state().mutex.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  bool locked_;
};

// A plugin's text may be of any length; the stage in which it went wrong comes first.
Status in_init(const Status& status) {
  return status.ok() ? status : Status(status.code(), cat("tenon_backend_init: ", one_line(status.message())));
}

// Whether both sides of every call are to be checked; a child that only tries a backend makes no calls.
bool validating() {
  const char* value = ::secure_getenv("TENON_VALIDATE");
  return value && std::string_view(value) == "1" && !state().trial;
}

tenon_status call_init(decltype(&tenon_backend_init) init, const tenon_host& host, const std::string& name,
                       tenon_backend* out) {
  try {
    return validating() ? plugin::validate_init(init, host, name.c_str(), out) : init(&host, out);

  } catch (...) {
    return {TENON_ABI, 0, "threw an exception"};
  }
}

// The handle of the library, whose constructors have then run.
Result<void*> open_library(const std::string& path) {
  try {
    if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  } catch (...) {
    return Status(Code::kAbi, "threw an exception in its constructors (dlopen)");
  }
  const char* error = ::dlerror();
  return Status(Code::kUnavailable, cat("cannot be loaded: ", one_line(printable(error))));
}

void call_enumerate(const tenon_backend& table, uint32_t* units) {
  try {
    table.enumerate(table.self, nullptr, nullptr, 0, units);
  } catch (...) {  // the call that counts says so
  }
}

// Runs the file's code, here or in a child. *library is its handle once it is open.
Status bring_up(const std::string& path, const std::string& name, const AbiVersion& version, const tenon_host& host,
                tenon_backend* out, const ProbeStage& stage, void** library) {
  const ProcessState restored_at_return;
  stage("its constructors (dlopen)");
  TENON_ASSIGN(*library, open_library(path));
  const auto init = reinterpret_cast<decltype(&tenon_backend_init)>(::dlsym(*library, "tenon_backend_init"));
  if (!init) return Status(Code::kAbi, "exports no tenon_backend_init");
  stage("tenon_backend_init");
  *out = {};
  out->struct_size = sizeof *out;
  TENON_TRY(in_init(from_abi(call_init(init, host, name, out), name, "tenon_backend_init")));
  return check_table(*out, name, version);
}

// The layer's table takes the place of the backend's.
Status put_validation_over(tenon_backend* table) {
  const tenon_backend inner = *table;
  *table = {};
  table->struct_size = sizeof *table;
  return from_abi(plugin::validate_backend(inner, table), inner.name, "validation");
}

Status try_in_child(const std::string& path, const std::string& name, const AbiVersion& version) {
  return probe(
      [&](const ProbeStage& stage) {
        state().trial = true;
        BackendHost host(name, path);
        tenon_backend table;
        const Conduct conduct;
        void* library = nullptr;
        TENON_TRY(bring_up(path, name, version, host.trial_table(), &table, stage, &library));
        TENON_TRY(conduct.check());
        stage("enumerate");  // where vendors' drivers wake up: what it says does not matter here
        uint32_t units = 0;
        if (table.enumerate) call_enumerate(table, &units);
        stage("its destructors (exit)");
        if (!conduct.has_threads()) ::dlclose(library);  // a thread of a driver's may still be in its code
        return Status();
      },
      state().probe_limit);
}

Result<AbiVersion> verify(const std::string& path, const std::string& name) {
  TENON_ASSIGN(const File file, File::open(path));
  TENON_ASSIGN(const AbiVersion version, check_elf(file));
  TENON_TRY(try_in_child(path, name, version));
  return version;
}

// A file is verified once. Time limits are not remembered: the machine may have been busy.
Result<AbiVersion> verify_once(const std::string& path, const std::string& name) {
  TENON_ASSIGN(const FileIdentity identity, identify(path, name));
  if (const auto it = state().verdicts.find(identity); it != state().verdicts.end()) return it->second;
  Result<AbiVersion> verdict = verify(path, name);
  if (verdict.status().code() != Code::kTimeout) state().verdicts.emplace(identity, verdict);
  return verdict;
}

Status check_same_name(const LoadedBackend& backend, const std::string& name) {
  if (backend.name == name) return {};
  return Status(Code::kAbi, cat("is '", backend.name, "', which is loaded already, the file's name is '", name, "'"));
}

Status not_found(const SearchPath& search, std::string_view name) {
  std::vector<Refusal> ignored;
  std::vector<std::string> names;
  for (const Candidate& c : find_candidates(search, &ignored)) names.push_back(c.name);
  const std::string_view near = nearest(name, names);
  std::string text = cat("device '", name, "': no ", name, ".so in ", join(search.directories));
  for (const Refusal& r : search.refusals) text += cat("; not searched: ", r.path, " ", r.cause);
  if (!near.empty()) text += cat("; did you mean '", near, "'?");
  return Status(Code::kUnavailable, std::move(text));
}

bool reaches(const std::string& from, const std::string& to) {
  if (from == to) return true;
  for (const auto& [user, inner] : state().stands_on)
    if (user == from && reaches(inner, to)) return true;
  return false;
}

}  // namespace

Result<const LoadedBackend*> load_backend(const std::string& name, const std::string& path) {
  const Lock lock;
  TENON_ASSIGN(const std::string real, trusted_file(path));
  if (const auto it = state().loaded.find(real); it != state().loaded.end()) {
    TENON_TRY(check_same_name(*it->second, name));
    return it->second.get();
  }
  TENON_ASSIGN(const AbiVersion version, verify_once(real, name));
  auto host = std::make_unique<BackendHost>(name, real);
  auto backend = std::make_unique<LoadedBackend>();
  const tenon_host& table = state().trial ? host->trial_table() : host->table();
  void* library = nullptr;  // never closed
  const Status status = bring_up(
      real, name, version, table, &backend->table, [](const char*) {}, &library);
  (void)host.release();  // the plugin may have kept it, whatever it answered
  TENON_TRY(status);
  if (validating()) TENON_TRY(put_validation_over(&backend->table));
  backend->name = backend->table.name;
  backend->version = one_line(backend->table.version);
  backend->path = path;
  return state().loaded.emplace(real, std::move(backend)).first->second.get();
}

Result<const LoadedBackend*> load_by_name(std::string_view name) {
  if (!is_backend_name(name))
    return invalid("device '", one_line(name), "': expected a backend's name (letters, digits, '-', '_', '.')");
  const SearchPath search = search_path();
  const std::string path = find_candidate(search, name);
  if (path.empty()) return not_found(search, name);
  Result<const LoadedBackend*> loaded = load_backend(std::string(name), path);
  if (!loaded.ok())
    return Status(loaded.status().code(), cat("device '", name, "': ", path, ": ", loaded.status().message()));
  return loaded;
}

Result<const LoadedBackend*> load_for(const std::string& user, std::string_view name) {
  const Lock lock;
  const std::string inner(name);
  if (reaches(inner, user))
    return Status(Code::kAbi, cat("open_backend: '", user, "' on '", one_line(name), "' is a cycle"));
  const bool added = state().stands_on.emplace(user, inner).second;
  Result<const LoadedBackend*> loaded = load_by_name(name);
  if (!loaded.ok() && added) state().stands_on.erase({user, inner});
  return loaded;
}

void set_probe_limit(std::chrono::milliseconds limit) {
  const Lock lock;
  state().probe_limit = limit;
}

}  // namespace tenon
