#include "backend/load/elf_versions.h"

#include <algorithm>
#include <cstring>

#include "backend/load/elf_bytes.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxVersions = 1 << 24;   // bytes of a section
constexpr uint16_t kVersionNumber = 0x7fff;  // the other bit hides the symbol

// A section of needed or of defined versions: entries, of which each says where the next is, ahead of it. They do not overlap,
// so that there are no more than have room: chains that lead through the same bytes again and again come to an end there.
class VersionChains {
 public:
  explicit VersionChains(std::vector<uint8_t> bytes)
      : bytes_(std::move(bytes)), left_(bytes_.size() / std::min(sizeof(Elf64_Vernaux), sizeof(Elf64_Verdaux))) {}

  // Raise *highest to the numbers of so many entries at most; false where these lead out of the section.
  bool scan_needed(uint32_t entries, uint16_t* highest) {
    uint64_t at = 0;
    Elf64_Verneed need;
    for (uint32_t i = 0; i < entries; ++i, at += need.vn_next) {
      if (!copy_at(at, &need) || !scan_parts(at + need.vn_aux, need.vn_cnt, highest)) return false;
      if (need.vn_next == 0) break;
    }
    return true;
  }
  bool scan_defined(uint32_t entries, uint16_t* highest) {
    uint64_t at = 0;
    Elf64_Verdef version;
    for (uint32_t i = 0; i < entries; ++i, at += version.vd_next) {
      if (!copy_at(at, &version)) return false;
      *highest = std::max<uint16_t>(*highest, version.vd_ndx & kVersionNumber);
      if (version.vd_next == 0) break;
    }
    return true;
  }

 private:
  bool scan_parts(uint64_t at, uint32_t count, uint16_t* highest) {
    Elf64_Vernaux version;
    for (uint32_t k = 0; k < count; ++k, at += version.vna_next) {
      if (!copy_at(at, &version)) return false;
      *highest = std::max<uint16_t>(*highest, version.vna_other & kVersionNumber);
      if (version.vna_next == 0) break;
    }
    return true;
  }
  template <class T>
  bool copy_at(uint64_t at, T* out) {
    if (left_ == 0 || at > bytes_.size() || bytes_.size() - at < sizeof *out) return false;
    --left_;
    std::memcpy(out, bytes_.data() + at, sizeof *out);
    return true;
  }

  std::vector<uint8_t> bytes_;
  uint64_t left_;
};

// The only section of this type, or nullptr; two would be an error.
Status find_only(const std::vector<Elf64_Shdr>& sections, Elf64_Word type, const Elf64_Shdr** out) {
  *out = nullptr;
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != type) continue;
    if (*out) return refuse_elf("has more than one section of symbol versions of type ", type);
    if (s.sh_size > kMaxVersions) return refuse_elf("has ", s.sh_size, " bytes of symbol versions");
    *out = &s;
  }
  return {};
}

Result<uint16_t> highest_version(const File& file, const std::vector<Elf64_Shdr>& sections) {
  uint16_t highest = VER_NDX_GLOBAL;
  for (const Elf64_Word type : {SHT_GNU_verneed, SHT_GNU_verdef}) {
    const Elf64_Shdr* s = nullptr;
    TENON_TRY(find_only(sections, type, &s));
    if (!s) continue;
    std::vector<uint8_t> bytes(s->sh_size);
    TENON_TRY(file.read_exactly_at(static_cast<int64_t>(s->sh_offset), bytes.data(), bytes.size()));
    VersionChains chains(std::move(bytes));
    if (!(type == SHT_GNU_verneed ? chains.scan_needed(s->sh_info, &highest)
                                  : chains.scan_defined(s->sh_info, &highest)))
      return refuse_elf("has symbol versions outside their section, or more of them than have room");
  }
  return highest;
}

}  // namespace

// The linker takes a symbol's version from an array, by a number that it does not check.
Status check_symbol_versions(const File& file, const std::vector<Elf64_Shdr>& sections) {
  TENON_ASSIGN(const uint16_t highest, highest_version(file, sections));
  const Elf64_Shdr* s = nullptr;
  TENON_TRY(find_only(sections, SHT_GNU_versym, &s));
  if (!s) return {};
  std::vector<Elf64_Half> numbers(s->sh_size / sizeof(Elf64_Half));
  TENON_TRY(
      file.read_exactly_at(static_cast<int64_t>(s->sh_offset), numbers.data(), numbers.size() * sizeof numbers[0]));
  for (size_t i = 0; i < numbers.size(); ++i)
    if ((numbers[i] & kVersionNumber) > highest)
      return refuse_elf("has symbol ", i, " of version ", numbers[i] & kVersionNumber, ", expected at most ", highest);
  return {};
}

}  // namespace tenon
