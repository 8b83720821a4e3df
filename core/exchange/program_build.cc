#include "exchange/program_build.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace tenon {
namespace {

size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

// Of the GNU notes of a segment that the loader has mapped.
std::string build_in(const char* at, size_t bytes) {
  std::string out;
  while (out.empty() && bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const size_t name = padded(note.n_namesz), content = padded(note.n_descsz);
    if (name > bytes - sizeof note || content > bytes - sizeof note - name) break;
    const char* const value = at + sizeof note + name;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(at + sizeof note, "GNU", 4) == 0)
      for (size_t i = 0; i < note.n_descsz; ++i)
        for (const int digit : {static_cast<uint8_t>(value[i]) >> 4, value[i] & 15}) out += "0123456789abcdef"[digit];
    at = value + content;
    bytes -= sizeof note + name + content;
  }
  return out;
}

// The first that is told of is the program itself.
int first_object(dl_phdr_info* object, size_t, void* out) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    auto& build = *static_cast<std::string*>(out);
    if (segment.p_type == PT_NOTE && build.empty())
      build = build_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string program_build() {
  std::string out;
  ::dl_iterate_phdr(first_object, &out);
  return out;
}

}  // namespace tenon
