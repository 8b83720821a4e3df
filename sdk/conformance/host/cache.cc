#include "conformance/host/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kEntryBytes = 256u << 20;

// FNV-1a.
template <class Bytes>
uint64_t hash(const Bytes& bytes, uint64_t h = 0xCBF29CE484222325) {
  for (const auto b : bytes) h = (h ^ static_cast<uint8_t>(b)) * 0x100000001B3;
  return h;
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whole or not at all, also where several processes write it.
void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  const std::string fresh = path + "." + std::to_string(getpid());
  std::ofstream out(fresh, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || std::rename(fresh.c_str(), path.c_str()) != 0) unlink(fresh.c_str());
}

}  // namespace

void Cache::keep_in(const std::string& folder, const std::string& library) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail("--cache " + folder + ": " + std::strerror(errno));
  if (access(folder.c_str(), W_OK) != 0) fail("--cache " + folder + ": " + std::strerror(errno));
  folder_ = folder;
  library_ = hash(read_file(library));
}

std::string Cache::file_of(const std::string& key) const {
  if (folder_.empty()) return "";
  char name[48];
  std::snprintf(name, sizeof name, "/%016llx%016llx", static_cast<unsigned long long>(library_),
                static_cast<unsigned long long>(hash(key)));
  return folder_ + name;
}

tenon_code Cache::get(const std::string& key, void* data, uint64_t* bytes) {
  const std::lock_guard lock(mutex_);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    std::vector<uint8_t> kept = folder_.empty() ? std::vector<uint8_t>() : read_file(file_of(key));
    if (kept.empty()) return TENON_UNAVAILABLE;
    found = entries_.emplace(key, std::move(kept)).first;
  }
  const uint64_t room = *bytes;
  *bytes = found->second.size();
  if (!data) return TENON_OK;
  if (room < *bytes) return TENON_INVALID;
  std::copy(found->second.begin(), found->second.end(), static_cast<uint8_t*>(data));
  return TENON_OK;
}

tenon_code Cache::put(const std::string& key, const void* data, uint64_t bytes) {
  if (bytes > kEntryBytes) return TENON_INVALID;
  const auto* first = static_cast<const uint8_t*>(data);
  const std::lock_guard lock(mutex_);
  std::vector<uint8_t>& entry = entries_[key];
  entry.assign(first, first + bytes);
  if (!folder_.empty()) write_file(file_of(key), entry);
  return TENON_OK;
}

size_t Cache::damage() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, entry] : entries_)
    for (size_t i = entry.size() / 2; i < entry.size(); i += 64) entry[i] ^= 0xFF;
  return entries_.size();
}

}  // namespace tenon::conformance
