#include "backend/host/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/crc32c.h"
#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr uint64_t kMagic = 0x3148434e4f4e4554;  // "TENONCH1"
constexpr time_t kStale = 3600;                  // seconds after which a temporary has no writer
constexpr std::string_view kTemporary = ".tmp-";

struct Header {
  uint64_t magic;
  uint64_t data_bytes;
  uint32_t key_bytes;
  uint32_t crc;  // of key and data
};

Status miss(std::string_view why) { return Status(Code::kUnavailable, cat("cache: ", why)); }
Status failed(std::string_view what) { return miss(cat(what, ": ", strerrordesc_np(errno))); }

std::string cache_directory() {
  const char* cache = ::secure_getenv("XDG_CACHE_HOME");
  const char* home = ::secure_getenv("HOME");
  if (cache && *cache == '/') return cat(cache, "/tenon");
  if (home && *home == '/') return cat(home, "/.cache/tenon");
  return {};
}

// Says once that there will be no cache.
Status no_cache(const std::string& path, std::string_view why) {
  static std::atomic<bool> said{false};
  const Status status = miss(cat(path, " ", why));
  if (!said.exchange(true)) std::fprintf(stderr, "tenon: backends remember nothing: %s\n", status.message().c_str());
  return status;
}

// Makes it where it is missing. What is there and may not be its own is refused and stays as it is.
Result<Descriptor> open_directory() {
  const std::string path = cache_directory();
  if (path.empty()) return miss("neither XDG_CACHE_HOME nor HOME is set");
  if (::mkdir(path.c_str(), 0700) != 0 && errno == ENOENT) {
    (void)::mkdir(directory_of(path).c_str(), 0700);
    (void)::mkdir(path.c_str(), 0700);
  }
  Descriptor directory = open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat s;
  if (!directory && ::lstat(path.c_str(), &s) == 0 && S_ISLNK(s.st_mode))
    return no_cache(path, "is a link, expected a directory");
  if (!directory && errno == ENOTDIR) return no_cache(path, "is no directory");
  if (!directory || ::fstat(directory.get(), &s) != 0) return failed(path);
  if (s.st_uid != ::geteuid()) return no_cache(path, cat("belongs to user ", s.st_uid));
  if (s.st_mode & 022) return no_cache(path, "may be written by others (chmod go-w)");
  return directory;
}

// FNV-1a: spreads keys over names. Equal names of different keys are told apart by the stored key.
std::string file_name(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4) out[i] = "0123456789abcdef"[hash & 15];
  return out;
}

// The data of an entry that is whole and of this key.
Result<std::string> read_entry(int fd, std::string_view key) {
  struct stat s;
  Header header;
  if (::fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || !read_fully(fd, &header, sizeof header))
    return miss("cannot be read");
  if (header.magic != kMagic || header.key_bytes != key.size() || header.data_bytes > kCacheEntryBytes ||
      static_cast<uint64_t>(s.st_size) != sizeof header + header.key_bytes + header.data_bytes)
    return miss("another entry");
  std::string body(header.key_bytes + header.data_bytes, '\0');
  if (!read_fully(fd, body.data(), body.size()) || crc32c(body) != header.crc ||
      !std::string_view(body).starts_with(key))
    return miss("another entry, or a damaged one");
  return body.erase(0, key.size());
}

struct Entry {
  std::string name;
  uint64_t bytes;
  timespec used;
  bool temporary;
};

bool only_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

// How write_entry names what it makes.
bool is_temporary_name(std::string_view name) {
  return name.starts_with(kTemporary) && only_of(name.substr(kTemporary.size()), "0123456789-");
}
bool is_entry_name(std::string_view name) { return name.size() == 16 && only_of(name, "0123456789abcdef"); }

// Whether it begins as all entries do; one that was being written may have no more than a part of that.
bool is_marked(const Descriptor& directory, const Entry& entry) {
  const Descriptor file = open_at(directory, entry.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  char start[sizeof kMagic] = {};
  const ssize_t n = file ? ::pread(file.get(), start, sizeof start, 0) : -1;
  if (n < 0 || (n < static_cast<ssize_t>(sizeof start) && !entry.temporary)) return false;
  return std::memcmp(start, &kMagic, static_cast<size_t>(n)) == 0;
}

// The files here that a cache has written; others, whoever put them here, do not count and are never touched.
std::vector<Entry> list_entries(const Descriptor& directory) {
  std::vector<Entry> out;
  const auto names = names_in(open_at(directory, ".", O_RDONLY | O_DIRECTORY));
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const bool temporary = is_temporary_name(name);
    if (!temporary && !is_entry_name(name)) continue;
    struct stat s;
    if (::fstatat(directory.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    Entry entry{name, static_cast<uint64_t>(s.st_size), s.st_mtim, temporary};
    if (is_marked(directory, entry)) out.push_back(std::move(entry));
  }
  return out;
}

// Makes room for `bytes` more; removes what a writer that died left.
void trim(const Descriptor& directory, uint64_t bytes) {
  std::vector<Entry> entries = list_entries(directory);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  uint64_t total = bytes;
  for (const Entry& e : entries) total += e.bytes;
  for (const Entry& e : entries) {
    const bool stale = e.temporary && e.used.tv_sec + kStale < ::time(nullptr);
    if (!stale && (total <= kCacheBytes || e.temporary)) continue;
    if (::unlinkat(directory.get(), e.name.c_str(), 0) == 0) total -= e.bytes;
  }
}

// Under its own name only when it is whole. Not made durable: a torn entry is a miss.
Status write_entry(const Descriptor& directory, const std::string& name, std::string_view contents) {
  if (::faccessat(directory.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
      !is_marked(directory, {name, 0, {}, false}))
    return miss("a file of others has the entry's name");
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = cat(kTemporary, static_cast<int64_t>(::getpid()), "-", counter++);
  const Descriptor file = open_at(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file) return failed("cannot create a file");
  if (write_fully(file.get(), contents.data(), contents.size()) &&
      ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) == 0)
    return {};
  Status status = failed("cannot write");
  (void)::unlinkat(directory.get(), temporary.c_str(), 0);
  return status;
}

}  // namespace

Result<std::string> BackendCache::get(std::string_view key) {
  const std::string full = cat(fingerprint_, key);
  TENON_ASSIGN(const Descriptor directory, open_directory());
  const Descriptor file = open_at(directory, file_name(full), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return miss("no such entry");
  TENON_ASSIGN(std::string data, read_entry(file.get(), full));
  (void)::futimens(file.get(), nullptr);
  return data;
}

Status BackendCache::put(std::string_view key, std::string_view data) {
  const std::string full = cat(fingerprint_, key);
  if (full.size() + data.size() > kCacheEntryBytes)
    return invalid("cache: an entry of ", data.size(), " bytes, expected at most ", kCacheEntryBytes);
  TENON_ASSIGN(const Descriptor directory, open_directory());
  const std::string body = cat(full, data);
  const Header header{kMagic, data.size(), static_cast<uint32_t>(full.size()), crc32c(body)};
  const std::string contents = cat(std::string_view(reinterpret_cast<const char*>(&header), sizeof header), body);
  trim(directory, contents.size());
  return write_entry(directory, file_name(full), contents);
}

}  // namespace tenon
