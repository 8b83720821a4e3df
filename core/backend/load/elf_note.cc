#include "backend/load/elf_note.h"

#include <cstring>
#include <string_view>

#include "backend/abi.h"
#include "backend/load/elf_bytes.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxNotes = 1 << 16;
static_assert(TENON_ABI_MAJOR >= 1);

// The AbiVersion of Tenon's note among these, if it is there.
bool parse_notes(const std::vector<uint8_t>& notes, uint64_t align, AbiVersion* out) {
  const auto padded = [align](uint64_t n) { return (n + align - 1) / align * align; };
  for (uint64_t at = 0; within(at, sizeof(Elf64_Nhdr), notes.size());) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const uint64_t name = at + sizeof note, data = at + padded(sizeof note + uint64_t{note.n_namesz});
    if (!within(name, note.n_namesz, notes.size()) || !within(data, note.n_descsz, notes.size())) return false;
    constexpr std::string_view owner(TENON_NOTE_OWNER, sizeof TENON_NOTE_OWNER);  // with its NUL
    if (note.n_type == TENON_NOTE_TYPE && note.n_descsz >= sizeof *out && note.n_namesz == owner.size() &&
        std::memcmp(notes.data() + name, owner.data(), owner.size()) == 0) {
      std::memcpy(out, notes.data() + data, sizeof *out);
      return true;
    }
    at = padded(data + note.n_descsz);
  }
  return false;
}

Status check_version(const AbiVersion& v) {
  constexpr uint32_t kOurs = TENON_ABI_MAJOR;
  if (v.major == 0 || v.major > kOurs || v.major + 1 < kOurs)
    return refuse_elf("has ABI version ", v.major, ".", v.minor, ", expected ", kOurs > 1 ? cat(kOurs - 1, " or ") : "",
                      kOurs);
  if (v.major == kOurs && v.least_host_minor > TENON_ABI_MINOR)
    return refuse_elf("needs ABI version ", v.major, ".", v.least_host_minor, ", this Tenon has ", kOurs, ".",
                      TENON_ABI_MINOR);
  return {};
}

}  // namespace

Result<AbiVersion> read_note(const File& file, const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_NOTE || s.p_filesz > kMaxNotes) continue;
    std::vector<uint8_t> notes(s.p_filesz);
    TENON_TRY(file.read_exactly_at(static_cast<int64_t>(s.p_offset), notes.data(), notes.size()));
    AbiVersion version;
    if (!parse_notes(notes, s.p_align == 8 ? 8 : 4, &version)) continue;
    TENON_TRY(check_version(version));
    return version;
  }
  return refuse_elf("is no Tenon backend: it has no ", TENON_NOTE_SECTION, " note");
}

}  // namespace tenon
