// What short tokens became: text repeats its words. One of a thread, of some MiB, for all vocabularies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tenon::subtokens {

class TokenCache {
 public:
  static constexpr size_t kMostCharacters = 16, kMostIds = 8;

  static TokenCache& of_thread() {
    thread_local TokenCache cache;
    return cache;
  }

  // The ids by the vocabulary `owner`, whose number no other one ever has; none: empty. REQUIRED: 1 to kMostCharacters.
  std::span<const int32_t> find(uint64_t owner, std::u32string_view token) const {
    const Entry& e = entries_[place_of(owner, token)];
    if (e.owner != owner || std::u32string_view(e.token, e.characters) != token) return {};
    return {e.ids, e.count};
  }
  void put(uint64_t owner, std::u32string_view token, std::span<const int32_t> ids) {
    if (ids.size() > kMostIds) return;
    Entry& e = entries_[place_of(owner, token)];
    e.owner = owner;
    e.characters = static_cast<uint8_t>(token.size()), e.count = static_cast<uint8_t>(ids.size());
    std::copy(token.begin(), token.end(), e.token);
    std::copy(ids.begin(), ids.end(), e.ids);
  }

 private:
  static constexpr size_t kEntries = size_t{1} << 15;
  struct Entry {
    uint64_t owner;  // 0: nobody
    uint8_t characters, count;
    int32_t ids[kMostIds];
    char32_t token[kMostCharacters];
  };

  TokenCache() : entries_(kEntries) {}
  static size_t place_of(uint64_t owner, std::u32string_view token) {
    uint64_t hash = owner;
    for (const char32_t c : token) hash = (hash ^ c) * 0x9e3779b97f4a7c15u;
    return hash >> 49;
  }

  std::vector<Entry> entries_;
};

}  // namespace tenon::subtokens
