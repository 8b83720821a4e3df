#include "conformance/host/elf_note.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "conformance/host/subject.h"
#include "tenon/abi/plugin.h"

namespace tenon::conformance {
namespace {

using Bytes = std::string;

bool within(uint64_t at, uint64_t bytes, uint64_t size) { return at <= size && bytes <= size - at; }

template <class T>
bool read(const Bytes& file, uint64_t at, T* out) {
  if (!within(at, sizeof *out, file.size())) return false;
  std::memcpy(out, file.data() + at, sizeof *out);
  return true;
}

// The note among those of one segment, [at, end) of the file.
bool find_note(const Bytes& file, uint64_t at, uint64_t end, uint64_t align, AbiNote* out) {
  const auto padded = [align](uint64_t n) { return (n + align - 1) / align * align; };
  Elf64_Nhdr note;
  while (within(at, sizeof note, end) && read(file, at, &note)) {
    const uint64_t name = at + sizeof note, data = at + padded(sizeof note + uint64_t{note.n_namesz});
    if (!within(name, note.n_namesz, end) || !within(data, note.n_descsz, end)) return false;
    if (note.n_type == TENON_NOTE_TYPE && note.n_namesz == sizeof TENON_NOTE_OWNER && note.n_descsz >= sizeof *out &&
        std::memcmp(file.data() + name, TENON_NOTE_OWNER, sizeof TENON_NOTE_OWNER) == 0)
      return read(file, data, out);
    at = data + padded(note.n_descsz);
  }
  return false;
}

}  // namespace

AbiNote read_abi_note(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  expect(stream.good(), "the library " + path + " cannot be read");
  std::ostringstream all;  // in blocks: each process that loads the library reads megabytes
  all << stream.rdbuf();
  const Bytes file = all.str();
  Elf64_Ehdr header;
  const bool is_elf = read(file, 0, &header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
  expect(is_elf && header.e_type == ET_DYN, path + " is no 64-bit little-endian ELF library");
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    AbiNote note;
    if (!read(file, header.e_phoff + uint64_t{i} * header.e_phentsize, &segment))
      fail(path + " is truncated in its program headers");
    if (segment.p_type != PT_NOTE || !within(segment.p_offset, segment.p_filesz, file.size())) continue;
    if (find_note(file, segment.p_offset, segment.p_offset + segment.p_filesz, segment.p_align == 8 ? 8 : 4, &note))
      return note;
  }
  fail(path + " has no " TENON_NOTE_SECTION " note (owner " TENON_NOTE_OWNER
              ", type 1): TENON_DECLARE_BACKEND makes one");
}

}  // namespace tenon::conformance
