#include "backend/load/loader.h"

#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "backend/abi.h"
#include "backend/bring_up.h"
#include "backend/host/host_table.h"
#include "backend/load/trial.h"
#include "backend/load/trust.h"
#include "base/process/exit_order.h"
#include "base/strings.h"
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

// A file that was checked, and what was seen of it.
struct Tried {
  std::unique_ptr<CheckedLibrary> library;  // until it is loaded or refused
  Result<Sighting> seen;
};

// All that lives for ever. Recursive: a backend that is being initialised may open another.
struct State {
  std::recursive_mutex mutex;
  std::chrono::milliseconds probe_limit{10000};
  std::map<std::pair<FileIdentity, std::string>, Tried> tried;   // of a file and a spec
  std::map<std::string, std::unique_ptr<LoadedBackend>> loaded;  // by resolved path
  std::set<std::pair<std::string, std::string>> stands_on;       // user, inner
  std::vector<std::unique_ptr<BackendHost>> hosts;               // a plugin may have kept its own, whatever it answered
  bool trial = false;                                            // this is a child that tries a backend
};

State& state() {
  static State& s = *new State;
  return s;
}

// In a child that tries a backend the lock is held already, by the thread of the parent that forked. What that backend stands
// on is tried in a child of the child, which has to be given up before the child is.
void begin_trial() {
  state().trial = true;
  state().probe_limit /= 2;
}

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

// Whether both sides of every call are to be checked; a child that only tries a backend makes few calls.
bool validating() {
  const char* value = ::secure_getenv("TENON_VALIDATE");
  return value && std::string_view(value) == "1" && !state().trial;
}

// The layer's table takes the place of the backend's.
Status put_validation_over(tenon_backend* table) {
  const tenon_backend inner = *table;
  *table = {};
  table->struct_size = sizeof *table;
  return from_abi(plugin::validate_backend(inner, table), inner.name, "validation");
}

// Whether what was seen is all that there is to know before such a use; `to_load`: and the copy is still there.
bool answers(const Tried& tried, const Use& use, bool to_load) {
  if (tried.seen.ok() && to_load && !tried.library) return false;
  return !tried.seen.ok() || !tried.seen->enumerated.ok() || tried.seen->open_tried || use.opens == Use::kNothing ||
         (use.opens == Use::kUnlessEmulated && (tried.seen->units[0].flags & TENON_UNIT_EMULATED));
}

// What a request for one library comes to: an answer that is known, or a trial.
struct Request {
  std::pair<FileIdentity, std::string> key;
  Tried tried{nullptr, Status(Code::kInternal, "was not tried")};
  bool pending = false;
};

Result<Request> prepare(const std::string& real, const std::string& name, const Use& use, bool to_load) {
  TENON_ASSIGN(FileIdentity identity, identify(real, name));
  Request out{{std::move(identity), use.spec}};
  if (const auto it = state().tried.find(out.key); it != state().tried.end() && answers(it->second, use, to_load)) {
    out.tried.seen = it->second.seen;
    if (to_load) out.tried.library = std::move(it->second.library);
    return out;
  }
  Result<CheckedLibrary> checked = check_library(real);
  out.pending = checked.ok();
  if (checked.ok())
    out.tried.library = std::make_unique<CheckedLibrary>(std::move(*checked));
  else
    out.tried.seen = checked.status();
  return out;
}

// Where the file has changed since it was asked for, nobody knows which of the two was seen: the answer is for this once.
void remember(Request& request, const std::string& real, const std::string& name) {
  const Result<FileIdentity> now = identify(real, name);
  if (!request.tried.seen.ok()) request.tried.library.reset();
  if (now.ok() && *now == request.key.first) state().tried.insert_or_assign(request.key, std::move(request.tried));
}

// One answer a library.
std::vector<Request> try_together(const std::vector<Candidate>& reals, const Use& use, bool to_load) {
  std::vector<Request> requests;
  std::vector<Trial> trials;
  for (const Candidate& c : reals) {
    Result<Request> request = prepare(c.path, c.name, use, to_load);
    if (!request.ok()) request = Request{.tried = {nullptr, request.status()}};
    requests.push_back(std::move(*request));
    if (requests.back().pending) trials.push_back({requests.back().tried.library.get(), c.name});
  }
  std::vector<Result<Sighting>> seen = try_all(trials, use, begin_trial, state().probe_limit);
  size_t next = 0;
  for (Request& request : requests)
    if (request.pending) request.tried.seen = std::move(seen[next++]);
  return requests;
}

const LoadedBackend* find_loaded(const std::string& real) {
  const auto it = state().loaded.find(real);
  return it == state().loaded.end() ? nullptr : it->second.get();
}

Status check_same_name(const LoadedBackend& backend, const std::string& name) {
  if (backend.name == name) return {};
  return Status(Code::kAbi, cat("is '", backend.name, "', which is loaded already, the file's name is '", name, "'"));
}

// "gpu" means "opencl-gpu", and never "cpu", which is a letter away.
std::string_view meant_by(std::string_view name, const std::vector<std::string>& names) {
  for (const std::string& n : names)
    if (!name.empty() && n.find(name) != std::string::npos) return n;
  return name == "cpu" || name == "gpu" || name == "tpu" ? std::string_view() : nearest(name, names);
}

Status not_found(const SearchPath& search, std::string_view name) {
  std::vector<Refusal> ignored;
  std::vector<std::string> names;
  for (const Candidate& c : find_candidates(search, &ignored)) names.push_back(c.name);
  const std::string_view near = meant_by(name, names);
  std::string text = cat("device '", name, "': no ", name, ".so in ", join(search.directories));
  for (const Refusal& r : search.refusals) text += cat("; not searched: ", r.path, " ", r.cause);
  if (!near.empty()) text += cat("; did you mean '", near, "'?");
  if (near.empty() && !names.empty()) text += cat("; there are: ", join(names));
  if (near.empty()) text += "; TENON_PLUGIN_PATH names other folders to look in";
  return Status(Code::kUnavailable, std::move(text));
}

bool reaches(const std::string& from, const std::string& to) {
  if (from == to) return true;
  for (const auto& [user, inner] : state().stands_on)
    if (user == from && reaches(inner, to)) return true;
  return false;
}

// The very copy that was tried, to be loaded. *own: what the backend itself said as it was tried, which then is not loaded.
Result<std::unique_ptr<CheckedLibrary>> take_tried(const std::string& real, const std::string& name, const Use& use,
                                                   Status* own) {
  std::vector<Request> one = try_together({{name, real}}, use, true);
  Tried& tried = one[0].tried;
  if (!tried.seen.ok()) {
    const Status refusal = tried.seen.status();
    if (one[0].pending) remember(one[0], real, name);
    return refusal;
  }
  if (use.opens != Use::kNothing) *own = tried.seen->enumerated.ok() ? tried.seen->opened : tried.seen->enumerated;
  if (!own->ok()) return *own;
  return std::move(tried.library);
}

Result<const LoadedBackend*> load(const std::string& name, const std::string& path, const Use& use, Status* own) {
  const Lock lock;
  TENON_ASSIGN(const std::string real, trusted_file(path));
  if (const LoadedBackend* loaded = find_loaded(real)) {
    TENON_TRY(check_same_name(*loaded, name));
    return loaded;
  }
  TENON_ASSIGN(const std::unique_ptr<CheckedLibrary> library, take_tried(real, name, use, own));
  state().hosts.push_back(std::make_unique<BackendHost>(name, library->copy.fingerprint()));
  BackendHost& host = *state().hosts.back();
  auto backend = std::make_unique<LoadedBackend>();
  const tenon_host& table = state().trial ? host.trial_table() : host.table();
  void* handle = nullptr;  // never closed
  const Status status = bring_up(
      *library, name, table, validating(), [](const char*) {}, &backend->table, &handle);
  renew_exit_guard();
  TENON_TRY(status);
  if (validating()) TENON_TRY(put_validation_over(&backend->table));
  backend->name = backend->table.name;
  backend->version = one_line(backend->table.version);
  backend->path = path;
  return state().loaded.emplace(real, std::move(backend)).first->second.get();
}

}  // namespace

Status with_device(std::string_view name, const std::string& spec, const Status& status) {
  if (status.ok() || spec.empty()) return status;
  return Status(status.code(), cat("device '", one_line(name), ":", one_line(spec), "': ", status.message()));
}

std::vector<Result<Sighting>> see_backends(const std::vector<Candidate>& candidates, const Use& use) {
  const Lock lock;
  std::vector<Result<Sighting>> out;
  std::vector<Candidate> unknown;
  std::vector<size_t> whose;
  for (const Candidate& c : candidates) {
    const Result<std::string> real = trusted_file(c.path);
    const LoadedBackend* loaded = real.ok() ? find_loaded(*real) : nullptr;
    out.push_back(Status(Code::kInternal, ""));
    if (!real.ok()) {
      out.back() = real.status();
    } else if (!loaded) {
      unknown.push_back({c.name, *real});
      whose.push_back(out.size() - 1);
    } else if (const Status same = check_same_name(*loaded, c.name); !same.ok()) {
      out.back() = same;
    } else {
      out.back() = look_at(*loaded, {use.spec}, [](const char*) {});
    }
  }
  std::vector<Request> requests = try_together(unknown, use, false);
  for (size_t i = 0; i < requests.size(); ++i) {
    out[whose[i]] = requests[i].tried.seen;
    if (requests[i].pending) remember(requests[i], unknown[i].path, unknown[i].name);
  }
  return out;
}

void drop_copies() {
  const Lock lock;
  for (auto& [key, tried] : state().tried) tried.library.reset();
}

Result<const LoadedBackend*> load_backend(const std::string& name, const std::string& path, const Use& use) {
  Status own;
  return load(name, path, use, &own);
}

Result<const LoadedBackend*> load_by_name(std::string_view name, const Use& use) {
  if (!is_backend_name(name))
    return invalid("device '", one_line(name), "': expected a backend's name (letters, digits, '-', '_', '.')");
  const SearchPath search = search_path();
  const std::string path = find_candidate(search, name);
  if (path.empty()) return not_found(search, name);
  Status own;
  Result<const LoadedBackend*> loaded = load(std::string(name), path, use, &own);
  if (!own.ok()) return with_device(name, use.spec, own);
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
