// Runs the system's C compiler. A backend must not fork; posix_spawn does not copy this process, runs no handler in the
// child, and is the one thing that a backend which compiles by `cc` cannot do without.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "compiler.h"
#include "tenon/plugin/entry.h"

extern "C" char** environ;

namespace compiler {
namespace {

using tenon::plugin::Error;

constexpr const char* kFlags[] = {"-std=c11",           "-O3", "-fwrapv", "-fno-math-errno",
                                  "-fno-trapping-math", "-w",  "-fPIC",   "-shared"};

// The first `cc` of PATH; empty: none.
std::string find_compiler() {
  const char* path = std::getenv("PATH");
  const std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    const std::string file = folders.substr(at, end - at) + "/cc";
    if (file[0] == '/' && access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return {};
}

// A private folder that goes, with the files of one compilation in it.
class Folder {
 public:
  Folder() {
    std::error_code error;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
    if (error) throw Error(TENON_UNAVAILABLE, "compile: no folder for temporary files: " + error.message());
    path_ = (temporary / "tenon-example-compiler-XXXXXX").string();
    if (!mkdtemp(path_.data())) throw Error(TENON_UNAVAILABLE, "compile: " + path_ + ": " + std::strerror(errno));
  }
  ~Folder() {
    for (const char* name : {"step.c", "step.so", "log"}) unlink(file(name).c_str());
    rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw Error(TENON_UNAVAILABLE, "compile: " + path + ": cannot be written");
}

// Starts argv with its output in `log`, and waits; whether it ended well.
bool run(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int wrong = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (wrong) throw Error(TENON_UNAVAILABLE, "compile: " + words[0] + ": " + std::strerror(wrong));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return true;  // the host reaps its children itself: the output says how it went
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Whose code it is, as that compiler says; asked once for each that PATH names.
std::string version_of(const std::string& cc, const Folder& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = known.try_emplace(cc);
  if (fresh && run({cc, "--version"}, folder.file("log"))) at->second = first_line(read_file(folder.file("log")));
  return at->second;
}

std::string compile(const std::string& cc, const std::string& source, const Folder& folder) {
  write_file(folder.file("step.c"), source);
  std::vector<std::string> words = {cc};
  words.insert(words.end(), std::begin(kFlags), std::end(kFlags));
  words.insert(words.end(), {"-o", folder.file("step.so"), folder.file("step.c"), "-lm"});
  const bool good = run(words, folder.file("log"));
  const std::string code = read_file(folder.file("step.so")), log = read_file(folder.file("log"));
  if (!good || code.empty()) throw Error(TENON_INTERNAL, "compile: " + cc + " failed: " + first_line(log));
  return code;
}

// FNV-1a.
uint64_t hash(const std::string& bytes, uint64_t h) {
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001B3;
  return h;
}

// A key of all that the code depends on.
std::string key_of(const std::string& source, const std::string& version) {
  std::string all = source + '\0' + version;
  for (const char* flag : kFlags) all += std::string(" ") + flag;
  char key[64];
  std::snprintf(key, sizeof key, "step-%016llx%016llx", static_cast<unsigned long long>(hash(all, 0xCBF29CE484222325)),
                static_cast<unsigned long long>(hash(all, 0x9E3779B97F4A7C15)));
  return key;
}

// An entry of the cache: what the code is to be, and the code.
struct Seal {
  char magic[8];
  uint64_t bytes, hash;
};

Seal seal_of(const std::string& code) { return {{'c', 'o', 'd', 'e', ' ', '0', '0', '1'}, code.size(), hash(code, 1)}; }

// Empty where there is none, or one that is not what was put.
std::string cached(const tenon_host& host, const std::string& key) {
  uint64_t bytes = 0;
  if (!host.cache_get || host.cache_get(host.ctx, key.c_str(), nullptr, &bytes).code != TENON_OK ||
      bytes <= sizeof(Seal))
    return {};
  std::string entry(bytes, '\0');
  if (host.cache_get(host.ctx, key.c_str(), entry.data(), &bytes).code != TENON_OK || bytes != entry.size()) return {};
  std::string code = entry.substr(sizeof(Seal));
  const Seal seal = seal_of(code);
  return std::memcmp(entry.data(), &seal, sizeof seal) == 0 ? code : std::string();
}

void keep(const tenon_host& host, const std::string& key, const std::string& code) {
  if (!host.cache_put) return;
  const Seal seal = seal_of(code);
  const std::string entry = std::string(reinterpret_cast<const char*>(&seal), sizeof seal) + code;
  host.cache_put(host.ctx, key.c_str(), entry.data(), entry.size());
}

}  // namespace

void check_compiler() {
  if (find_compiler().empty()) throw Error(TENON_UNAVAILABLE, "there is no C compiler: no program cc in PATH");
}

Code::Code(const tenon_host& host, const std::string& source) {
  check_compiler();
  const Folder folder;
  const std::string cc = find_compiler(), key = key_of(source, version_of(cc, folder));
  std::string code = cached(host, key);
  const bool fresh = code.empty();
  if (fresh)
    code = compile(cc, source, folder);
  else
    write_file(folder.file("step.so"), code);
  library_ = dlopen(folder.file("step.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_) step = reinterpret_cast<Step>(dlsym(library_, "tenon_step"));
  if (!step) throw Error(TENON_UNAVAILABLE, std::string("compile: the code cannot be loaded: ") + dlerror());
  bytes = code.size();
  if (fresh) keep(host, key, code);
}

Code::~Code() {
  if (library_) dlclose(library_);
}

}  // namespace compiler
