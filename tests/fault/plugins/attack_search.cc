// Attempts to have a library loaded that somebody else put there.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "attack.h"
#include "backend/registry.h"
#include "unit/backend/plugin_testing.h"

namespace tenon::attack {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 12345;

// A fresh place for one attempt. `evil` leaves a mark when its code runs.
class Scene {
 public:
  Scene() {
    fs::create_directories(here());
    fs::create_directories(trusted());
    ::setenv("TENON_SPECIMEN_MARK", mark().c_str(), 1);
    ::setenv("TENON_PLUGIN_PATH", trusted().c_str(), 1);
    ::setenv("XDG_DATA_HOME", (root_ / "data").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", root_.path().c_str(), 1);
    ::unsetenv("LD_LIBRARY_PATH");
  }
  std::string here() const { return root_ / "here"; }
  std::string trusted() const { return root_ / "trusted"; }
  std::string mark() const { return root_ / "mark"; }
  std::string path(const std::string& name) const { return root_ / name; }
  bool ran() const { return fs::exists(mark()); }
  // Whether code of a file in this directory of the scene has.
  bool ran_in(const std::string& directory) const {
    return root_.read("mark").find(path(directory) + "/") != std::string::npos;
  }
  std::string put_evil(const std::string& directory) const {
    fs::create_directories(directory);
    fs::copy_file(specimen_path("specimen"), directory + "/evil.so", fs::copy_options::overwrite_existing);
    return directory + "/evil.so";
  }
  static void search(const std::string& path) { ::setenv("TENON_PLUGIN_PATH", path.c_str(), 1); }

 private:
  TemporaryDirectory root_;
};

// What a loader does that looks everywhere and asks nothing.
std::string load_naively(const std::string& name) {
  std::vector<std::string> places{"."};
  std::string path = std::getenv("TENON_PLUGIN_PATH");
  for (size_t at = 0; at <= path.size();
       at = path.find(':', at) == std::string::npos ? path.size() + 1 : path.find(':', at) + 1)
    places.push_back(path.substr(at, path.find(':', at) - at));
  places.push_back(std::string(std::getenv("XDG_DATA_HOME")) + "/tenon/plugins");
  for (const std::string& place : places)
    if (::dlopen(((place.empty() ? "." : place) + "/" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL)) return {};
  return ::dlopen((name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) ? "" : "nothing";
}

struct Hijack {
  const char* name;
  bool needs_root;
  // Sets the scene, then loads "evil" (or `device`) in this process.
  std::function<std::string(const Scene&)> set;  // the device to open
};

Hijack with_mode(const char* name, std::function<std::string(const Scene&)> victim, mode_t mode) {
  return {name, false, [victim, mode](const Scene& s) {
            s.put_evil(s.trusted());
            ::chmod(victim(s).c_str(), mode);
            return "evil";
          }};
}

Hijack with_owner(const char* name, std::function<std::string(const Scene&)> victim, uid_t owner, gid_t group,
                  mode_t mode) {
  return {name, true, [=](const Scene& s) {
            s.put_evil(s.trusted());
            if (::chown(victim(s).c_str(), owner, group) != 0) return "needs root";
            ::chmod(victim(s).c_str(), mode);
            return "evil";
          }};
}

std::string directory_of(const Scene& s) { return s.trusted(); }
std::string file_of(const Scene& s) { return s.trusted() + "/evil.so"; }

std::vector<Hijack> places() {
  return {
      {"in the current directory", false,
       [](const Scene& s) { return s.put_evil(s.here()), fs::current_path(s.here()), "evil"; }},
      {"relative entry of the search path", false,
       [](const Scene& s) {
         return s.put_evil(s.here()), fs::current_path(s.path("")), Scene::search("here:" + s.trusted()), "evil";
       }},
      {"empty entry of the search path", false,
       [](const Scene& s) {
         return s.put_evil(s.here()), fs::current_path(s.here()), Scene::search(":" + s.trusted() + ":"), "evil";
       }},
      {"'.' as an entry of the search path", false,
       [](const Scene& s) { return s.put_evil(s.here()), fs::current_path(s.here()), Scene::search("./."), "evil"; }},
      {"relative XDG_DATA_HOME", false,
       [](const Scene& s) {
         return s.put_evil(s.here() + "/tenon/plugins"), fs::current_path(s.here()), ::setenv("XDG_DATA_HOME", ".", 1),
                "evil";
       }},
      {"LD_LIBRARY_PATH", false, [](const Scene& s) { return s.put_evil(s.path("lib")), "ld"; }},
      {"a name that is a path", false, [](const Scene& s) { return s.put_evil(s.here()), "../here/evil"; }},
      {"'..' behind a link", false,
       [](const Scene& s) {
         s.put_evil(s.path("open/plugins"));
         fs::create_directories(s.path("open/inner"));
         ::chmod(s.path("open").c_str(), 0777);
         fs::create_directory_symlink(s.path("open/inner"), s.trusted() + "/link");
         Scene::search(s.trusted() + "/link/../plugins");
         return "evil";
       }},
      {"below a directory that everybody may write", false,
       [](const Scene& s) {
         s.put_evil(s.path("open/plugins"));
         ::chmod(s.path("open").c_str(), 0777);
         Scene::search(s.path("open/plugins"));
         return "evil";
       }},
      {"link to a file where everybody may write", false,
       [](const Scene& s) {
         fs::create_symlink(s.put_evil(s.path("open")), s.trusted() + "/evil.so");
         ::chmod(s.path("open").c_str(), 0777);
         return "evil";
       }},
      {"link to a directory where everybody may write", false,
       [](const Scene& s) {
         s.put_evil(s.path("open"));
         ::chmod(s.path("open").c_str(), 01777);
         fs::create_directory_symlink(s.path("open"), s.path("link"));
         Scene::search(s.path("link"));
         return "evil";
       }},
  };
}

// What lies above belongs to somebody or may be written by a group: these can exchange all that is below.
Hijack below(const char* name, uid_t owner, gid_t group, mode_t mode) {
  return {name, true, [=](const Scene& s) {
            s.put_evil(s.path("above/plugins"));
            if (::chown(s.path("above").c_str(), owner, group) != 0) return "needs root";
            ::chmod(s.path("above").c_str(), mode);
            Scene::search(s.path("above/plugins"));
            return "evil";
          }};
}

// An access list that lets somebody write, which the mode shows as the group's right: the group is root's.
bool let_somebody_write(const std::string& path) {
  const struct {
    uint32_t version = 2;
    struct {
      uint16_t tag, rights;
      uint32_t id;
    } entries[5] = {{1, 7, ~0u}, {2, 7, kSomebody}, {4, 5, ~0u}, {16, 7, ~0u}, {32, 5, ~0u}};
  } list;
  return ::setxattr(path.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0;
}

Hijack with_access_list() {
  return {"directory whose access list lets somebody write", false, [](const Scene& s) {
            s.put_evil(s.trusted());
            let_somebody_write(s.trusted());
            return "evil";
          }};
}

// A backend that is trusted has a library looked for where the program happens to be.
Hijack library_from_here() {
  return {"library that a backend has looked for in the current directory", false, [](const Scene& s) {
            fs::copy_file(specimen_path("with-helper-here"), s.trusted() + "/evil.so");
            fs::copy_file(specimen_path("libspecimen_helper"), s.here() + "/libspecimen_helper.so");
            fs::current_path(s.here());
            return "evil";
          }};
}

std::vector<Hijack> hijacks() {
  std::vector<Hijack> all = places();
  all.push_back(below("below another user's directory", kSomebody, kSomebody, 0755));
  all.push_back(below("below a directory that its group may write", 0, kSomebody, 0775));
  all.push_back(library_from_here());
  if (const Scene scene; let_somebody_write(scene.trusted())) all.push_back(with_access_list());
  all.push_back(with_mode("directory that everybody may write", directory_of, 0777));
  all.push_back(with_mode("sticky directory that everybody may write", directory_of, 01777));
  all.push_back(with_mode("file that everybody may write", file_of, 0666));
  all.push_back(with_owner("file that its group may write", file_of, 0, kSomebody, 0775));
  all.push_back(with_owner("directory that its group may write", directory_of, 0, kSomebody, 0775));
  all.push_back(with_owner("file of another user", file_of, kSomebody, kSomebody, 0755));
  all.push_back(with_owner("directory of another user", directory_of, kSomebody, kSomebody, 0755));
  return all;
}

std::string load(const std::string& device, bool protect) {
  if (device != "ld") return protect ? open_device(device).status().message() : load_naively(device);
  return protect ? open_device("evil").status().message() : load_naively("evil");
}

// In a new program where the linker reads its own environment.
std::string load_in_program(const Scene& s, bool protect) {
  if (!protect)
    return ::setenv("LD_LIBRARY_PATH", s.path("lib").c_str(), 1),
           ::dlopen((s.path("lib") + "/evil.so").c_str(), RTLD_NOW) ? "" : "nothing";
  ::setenv("LD_LIBRARY_PATH", s.path("lib").c_str(), 1);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen((std::string(TENON_SPECIMENS) + "/list_backends evil").c_str(), "r"), &::pclose);
  char line[4096] = {};
  return std::fgets(line, sizeof line, pipe.get()) && std::string(line) != "opened\n" ? "refused" : "";
}

void judge(const char* name, const Outcome& outcome, bool ran, Row* row) {
  ++row->tried;
  row->log.push_back(std::string(name) + ": " + (ran ? "LOADED" : outcome.text));
  if (outcome.kind == Outcome::kLost)
    ++row->lost;
  else if (ran || outcome.kind == Outcome::kLoaded)
    ++row->wrong;
  else
    ++row->refused;
  if (ran || outcome.kind != Outcome::kRefused)
    row->mistakes.push_back(std::string(name) + ": " + (ran ? "its code has run" : outcome.text));
}

Outcome attempt(const Hijack& hijack, const Scene& scene, bool protect) {
  return on_host([&] {
    const std::string device = hijack.set(scene);
    return device == "ld" ? load_in_program(scene, protect) : load(device, protect);
  });
}

// ---- set-uid programs ----

// What the program says; `environment` is what the attacker sets.
std::string run_program(const std::string& environment, const std::string& program) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((environment + " " + program + " evil 2>&1").c_str(), "r"),
                                                   &::pclose);
  std::string out;
  char chunk[1024];
  while (const size_t n = std::fread(chunk, 1, sizeof chunk, pipe.get())) out.append(chunk, n);
  return out;
}

void attack_set_uid(const char* name, const std::function<std::string(const Scene&)>& environment, Row* row) {
  for (const bool protect : {true, false}) {
    const Scene scene;
    const std::string program = scene.path("bin/list"), set = environment(scene);
    fs::create_directories(scene.path("bin"));
    fs::copy_file(std::string(TENON_SPECIMENS) + "/list_backends", program);
    ::chmod(scene.path("").c_str(), 0755);
    if (::chown(program.c_str(), 65534, 65534) != 0 || ::chmod(program.c_str(), protect ? 04755 : 0755) != 0) return;
    const std::string said = run_program(set, program);
    if (protect)
      judge(name, {said.starts_with("opened") ? Outcome::kLoaded : Outcome::kRefused, said}, scene.ran(), row);
    else
      ++row->unprotected_tried, row->unprotected_hurt += scene.ran();
  }
}

void attack_set_uid_programs(Row* row) {
  if (::geteuid() != 0 || kSanitized) return;  // sanitizers do not start in set-uid programs
  attack_set_uid(
      "TENON_PLUGIN_PATH of a set-uid program",
      [](const Scene& s) { return s.put_evil(s.trusted()), "TENON_PLUGIN_PATH=" + s.trusted(); }, row);
  attack_set_uid(
      "XDG_DATA_HOME of a set-uid program",
      [](const Scene& s) { return s.put_evil(s.path("d/tenon/plugins")), "XDG_DATA_HOME=" + s.path("d"); }, row);
  attack_set_uid(
      "HOME of a set-uid program",
      [](const Scene& s) {
        return s.put_evil(s.path("h/.local/share/tenon/plugins")), "XDG_DATA_HOME= HOME=" + s.path("h");
      },
      row);
  attack_set_uid(
      "beside a set-uid program", [](const Scene& s) { return s.put_evil(s.path("lib/tenon")), "true;"; }, row);
  attack_set_uid(
      "LD_PRELOAD of a set-uid program", [](const Scene& s) { return "LD_PRELOAD=" + s.put_evil(s.trusted()); }, row);
}

// ---- a race ----

// A link that points to a good file and to one where everybody may write by turns, while it is loaded.
void attack_by_swapping(Row* row) {
  const Scene scene;
  const std::string link = scene.trusted() + "/evil.so", bad = scene.put_evil(scene.path("open"));
  const std::string good = scene.path("good/evil.so");
  fs::create_directories(scene.path("good"));
  fs::copy_file(specimen_path("specimen"), good);
  ::chmod(scene.path("open").c_str(), 0777);
  const Outcome outcome = on_host([&] {
    std::atomic<bool> stop{false};
    std::thread attacker([&] {
      for (int i = 0; !stop; ++i) {
        const std::string next = link + ".next";
        fs::remove(next);
        fs::create_symlink(i % 2 ? good : bad, next);
        fs::rename(next, link);
      }
    });
    int tries = 0, loaded = 0;
    while (tries < 300 || ((loaded == 0 || loaded == tries) && tries < 100000))
      ++tries, loaded += open_device("evil").ok();
    stop = true;
    attacker.join();
    return "the good one loaded " + std::to_string(loaded) + " of " + std::to_string(tries) + " times";
  });
  judge("a link swapped while it is loaded", outcome, scene.ran_in("open"), row);
  ++row->unprotected_tried;
  (void)on_host([&] { return load_unprotected(bad); });
  row->unprotected_hurt += scene.ran_in("open");
}

}  // namespace

Row attack_search_path() {
  Row row{.attack = "hijacks"};
  for (const Hijack& hijack : hijacks()) {
    if (hijack.needs_root && ::geteuid() != 0) continue;
    const Scene scene;
    judge(hijack.name, attempt(hijack, scene, true), scene.ran(), &row);
    const Scene control;
    (void)attempt(hijack, control, false);
    ++row.unprotected_tried;
    row.unprotected_hurt += control.ran();
    if (!control.ran())
      row.mistakes.push_back(std::string(hijack.name) + ": would not have loaded anything: no attack");
  }
  attack_by_swapping(&row);
  attack_set_uid_programs(&row);
  return row;
}

}  // namespace tenon::attack
