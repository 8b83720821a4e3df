// Places in the bytes of a shared library, to be changed.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon {

inline Elf64_Ehdr& elf_header(std::string& bytes) { return *reinterpret_cast<Elf64_Ehdr*>(bytes.data()); }

// The n-th segment of this type. REQUIRED: there is one.
inline Elf64_Phdr& segment(std::string& bytes, uint32_t type, int n = 0) {
  auto* s = reinterpret_cast<Elf64_Phdr*>(bytes.data() + elf_header(bytes).e_phoff);
  while (s->p_type != type || n-- > 0) ++s;
  return *s;
}

// The segment with the ABI note.
inline Elf64_Phdr& note_segment(std::string& bytes) {
  const size_t at = bytes.find(std::string("Tenon\0\0\0\1\0\0\0", 12));
  auto* s = reinterpret_cast<Elf64_Phdr*>(bytes.data() + elf_header(bytes).e_phoff);
  while (s->p_type != PT_NOTE || at < s->p_offset || at >= s->p_offset + s->p_filesz) ++s;
  return *s;
}

// The first entry of the dynamic section with this tag. REQUIRED: there is one.
inline Elf64_Dyn& dynamic_entry(std::string& bytes, int64_t tag) {
  auto* entry = reinterpret_cast<Elf64_Dyn*>(bytes.data() + segment(bytes, PT_DYNAMIC).p_offset);
  while (entry->d_tag != tag) ++entry;
  return *entry;
}

// major, minor, least host minor of the ABI note; before them its owner, type, data size, owner size.
inline uint32_t* note_version(std::string& bytes) {
  return reinterpret_cast<uint32_t*>(bytes.data() + bytes.find(std::string("Tenon\0\0\0\1\0\0\0", 12)) + 8);
}

}  // namespace tenon
