#include "backend/load/elf_check.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/load/elf_bytes.h"
#include "backend/load/elf_versions.h"

namespace tenon {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr const char* kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr const char* kMachineName = "AArch64";
#else
#error "the loader knows x86-64 and AArch64"
#endif

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxImage = uint64_t{1} << 35;  // of address space
constexpr uint64_t kMaxAlign = uint64_t{1} << 30;
constexpr uint64_t kMaxDynamic = 1 << 16;
constexpr size_t kMaxLibraryText = 4096;  // of a name or a list of directories
constexpr size_t kMaxNeeded = 1024;
constexpr int kMaxSegments = 256;
constexpr int kMaxSections = 4096;

bool power_of_two(uint64_t x) { return x && !(x & (x - 1)); }

class Checker {
 public:
  explicit Checker(const File& file) : file_(file), size_(static_cast<uint64_t>(file.size())) {}

  Result<LibraryFacts> run() {
    TENON_TRY(read_header());
    TENON_TRY(check_header());
    TENON_TRY(read_segments());
    TENON_TRY(check_loads());
    TENON_TRY(check_other_segments());
    TENON_TRY(check_sections());
    TENON_TRY(check_symbol_versions(file_, sections_));
    TENON_TRY(check_dynamic());
    TENON_ASSIGN(facts_.version, read_note(file_, segments_));
    return std::move(facts_);
  }

 private:
  Status read_header();
  Status check_header() const;
  Status read_segments();
  Status check_loads();
  Status check_other_segments() const;
  Status check_dynamic();
  Status check_dynamic_entry(const Elf64_Dyn& entry) const;
  Status check_tables(const std::vector<Elf64_Dyn>& entries) const;
  // Whether a section of this type (and size) starts there; true where there are no sections.
  bool starts_section(uint64_t address, Elf64_Word type, uint64_t bytes = 0) const;
  Status check_sections();
  Status check_allocated(const Elf64_Shdr& section, size_t i) const;
  // What the linker will look for, and where.
  Status read_dependencies(const std::vector<Elf64_Dyn>& entries);
  Result<std::string> read_text(uint64_t at, uint64_t end) const;

  template <class T>
  Status read_table(uint64_t at, size_t count, std::vector<T>* out) const {
    out->resize(count);
    return read(at, out->data(), count * sizeof(T));
  }
  Status read(uint64_t at, void* out, uint64_t bytes) const {
    return file_.read_exactly_at(static_cast<int64_t>(at), out, bytes);
  }
  const Elf64_Phdr* only(Elf64_Word type) const;
  // The LOAD segment that holds these bytes of memory (in_file: of the file's part), or nullptr.
  const Elf64_Phdr* holder(uint64_t address, uint64_t bytes, bool in_file) const;

  const File& file_;
  uint64_t size_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Phdr> loads_;
  std::vector<Elf64_Shdr> sections_;
  LibraryFacts facts_;
};

Status Checker::read_header() {
  if (size_ == 0) return refuse_elf("is empty, expected a shared library");
  char magic[SELFMAG] = {};
  TENON_TRY(read(0, magic, std::min<uint64_t>(size_, SELFMAG)));
  if (std::memcmp(magic, ELFMAG, SELFMAG) != 0) return refuse_elf("is no ELF file");
  if (size_ < sizeof header_) return refuse_elf("is truncated: ", size_, " bytes, an ELF header has ", sizeof header_);
  return read(0, &header_, sizeof header_);
}

Status Checker::check_header() const {
  const Elf64_Ehdr& h = header_;
  if (h.e_ident[EI_CLASS] != ELFCLASS64)
    return refuse_elf("is no 64-bit library (ELF class ", +h.e_ident[EI_CLASS], ", expected 2)");
  if (h.e_ident[EI_DATA] != ELFDATA2LSB) return refuse_elf("is not little-endian");
  if (h.e_ident[EI_VERSION] != EV_CURRENT || h.e_version != EV_CURRENT) return refuse_elf("has an unknown ELF version");
  if (h.e_ident[EI_OSABI] != ELFOSABI_SYSV && h.e_ident[EI_OSABI] != ELFOSABI_GNU)
    return refuse_elf("is for another system (ELF OS ABI ", +h.e_ident[EI_OSABI], ")");
  if (h.e_machine != kMachine)
    return refuse_elf("is for machine ", h.e_machine, ", expected ", kMachine, " (", kMachineName, ")");
  if (h.e_type != ET_DYN) return refuse_elf("is no shared library (ELF type ", h.e_type, ", expected ", ET_DYN, ")");
  if (h.e_ehsize != sizeof h) return refuse_elf("has an ELF header of ", h.e_ehsize, " bytes, expected ", sizeof h);
  return {};
}

Status Checker::read_segments() {
  const int count = header_.e_phnum;
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || count == 0 || count > kMaxSegments)
    return refuse_elf("has ", count, " program headers of ", header_.e_phentsize, " bytes, expected 1 to ",
                      kMaxSegments, " of ", sizeof(Elf64_Phdr));
  if (!within(header_.e_phoff, static_cast<uint64_t>(count) * sizeof(Elf64_Phdr), size_))
    return refuse_elf("is truncated: its program headers lie beyond its ", size_, " bytes");
  TENON_TRY(read_table(header_.e_phoff, static_cast<size_t>(count), &segments_));
  for (int i = 0; i < count; ++i)
    if (!within(segments_[i].p_offset, segments_[i].p_filesz, size_))
      return refuse_elf("is truncated: segment ", i, " lies beyond its ", size_, " bytes");
  return {};
}

// The linker reserves the room from the first to the last and maps each into it: an order that is not
// theirs would map over this process's memory.
Status Checker::check_loads() {
  uint64_t end = 0;
  for (const Elf64_Phdr& s : segments_) {
    if (s.p_type != PT_LOAD) continue;
    if (s.p_memsz < s.p_filesz || s.p_memsz == 0 || !within(s.p_vaddr, s.p_memsz, kMaxImage))
      return refuse_elf("has a segment of ", s.p_memsz, " bytes at address ", s.p_vaddr, ", out of range");
    if (!power_of_two(s.p_align) || s.p_align < kPage || s.p_align > kMaxAlign || (s.p_vaddr - s.p_offset) % s.p_align)
      return refuse_elf("has a segment that is not aligned as it says (", s.p_align, ")");
    if (s.p_vaddr / kPage * kPage < end) return refuse_elf("has segments that overlap or are out of order");
    if ((s.p_flags & ~static_cast<Elf64_Word>(PF_R | PF_W | PF_X)) || !(s.p_flags & PF_R))
      return refuse_elf("has a segment of unknown flags ", s.p_flags);
    if ((s.p_flags & PF_W) && (s.p_flags & PF_X)) return refuse_elf("has a segment that is writable and executable");
    end = (s.p_vaddr + s.p_memsz + kPage - 1) / kPage * kPage;
    loads_.push_back(s);
  }
  if (loads_.empty() || loads_[0].p_vaddr / kPage != 0) return refuse_elf("has no segment at address 0");
  return {};
}

const Elf64_Phdr* Checker::only(Elf64_Word type) const {
  const Elf64_Phdr* found = nullptr;
  for (const Elf64_Phdr& s : segments_) {
    if (s.p_type != type) continue;
    if (found) return nullptr;
    found = &s;
  }
  return found;
}

const Elf64_Phdr* Checker::holder(uint64_t address, uint64_t bytes, bool in_file) const {
  for (const Elf64_Phdr& s : loads_)
    if (address >= s.p_vaddr && within(address - s.p_vaddr, bytes, in_file ? s.p_filesz : s.p_memsz)) return &s;
  return nullptr;
}

Status Checker::check_other_segments() const {
  const Elf64_Phdr* stack = only(PT_GNU_STACK);
  if (!stack || (stack->p_flags & PF_X)) return refuse_elf("asks for an executable stack");
  for (const Elf64_Phdr& s : segments_) {
    if (s.p_type == PT_TLS) {
      if (!power_of_two(std::max<uint64_t>(s.p_align, 1)) || s.p_align > kPage || s.p_memsz < s.p_filesz ||
          s.p_memsz > (1u << 24) || (s.p_filesz && !holder(s.p_vaddr, s.p_filesz, true)))
        return refuse_elf("has thread-local data out of range");
    }
    // The end of RELRO may be rounded up to the page in which its segment ends.
    if (s.p_type == PT_GNU_RELRO) {
      const Elf64_Phdr* in = holder(s.p_vaddr, 1, false);
      if (!in || !within(s.p_vaddr - in->p_vaddr, s.p_memsz, in->p_memsz + kPage))
        return refuse_elf("has RELRO data out of range");
    }
  }
  return {};
}

Status Checker::check_dynamic() {
  const Elf64_Phdr* dynamic = only(PT_DYNAMIC);
  if (!dynamic || dynamic->p_filesz > kMaxDynamic) return refuse_elf("has no dynamic section, or more than one");
  const Elf64_Phdr* load = holder(dynamic->p_vaddr, dynamic->p_filesz, true);
  if (!load || dynamic->p_vaddr - load->p_vaddr != dynamic->p_offset - load->p_offset)
    return refuse_elf("has a dynamic section outside its segments");
  std::vector<Elf64_Dyn> entries;
  TENON_TRY(read_table(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn), &entries));
  const auto end = std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& e) { return e.d_tag == DT_NULL; });
  if (end == entries.end()) return refuse_elf("has a dynamic section without an end");
  entries.erase(end, entries.end());
  for (const Elf64_Dyn& entry : entries) TENON_TRY(check_dynamic_entry(entry));
  TENON_TRY(check_tables(entries));
  return read_dependencies(entries);
}

// Tables and their sizes come in pairs, and lie where they are mapped. The arrays of functions that
// run when the process ends are not used before: what is wrong with them no trial would show.
Status Checker::check_tables(const std::vector<Elf64_Dyn>& entries) const {
  const auto find = [&](Elf64_Sxword tag) -> const Elf64_Dyn* {
    const Elf64_Dyn* last = nullptr;  // as the linker: the last one counts
    for (const Elf64_Dyn& e : entries)
      if (e.d_tag == tag) last = &e;
    return last;
  };
  constexpr Elf64_Sxword kPairs[][2] = {{DT_STRTAB, DT_STRSZ},
                                        {DT_RELA, DT_RELASZ},
                                        {DT_JMPREL, DT_PLTRELSZ},
                                        {DT_RELR, DT_RELRSZ},
                                        {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                                        {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (const auto& [table, bytes] : kPairs) {
    const Elf64_Dyn *t = find(table), *n = find(bytes);
    if (!t != !n)
      return refuse_elf("has a dynamic entry ", t ? table : bytes, " without its fellow ", t ? bytes : table);
    if (t && !holder(t->d_un.d_ptr, n->d_un.d_val, true))
      return refuse_elf("has a dynamic table ", table, " outside its segments");
  }
  if (!find(DT_STRTAB) || !find(DT_SYMTAB)) return refuse_elf("has no dynamic symbols");
  for (const Elf64_Sxword function : {DT_INIT, DT_FINI})
    if (const Elf64_Dyn* f = find(function); f && !starts_section(f->d_un.d_ptr, SHT_PROGBITS))
      return refuse_elf("has a dynamic entry ", function, " that points to no function");
  if (const Elf64_Dyn* a = find(DT_INIT_ARRAY); a && !starts_section(a->d_un.d_ptr, SHT_INIT_ARRAY))
    return refuse_elf("has a list of constructors outside its section");
  if (const Elf64_Dyn* a = find(DT_FINI_ARRAY);
      a && !starts_section(a->d_un.d_ptr, SHT_FINI_ARRAY, find(DT_FINI_ARRAYSZ)->d_un.d_val))
    return refuse_elf("has a list of destructors outside its section");
  return {};
}

Status Checker::check_dynamic_entry(const Elf64_Dyn& entry) const {
  switch (entry.d_tag) {
    case DT_HASH:
    case DT_GNU_HASH:
    case DT_STRTAB:
    case DT_SYMTAB:
    case DT_RELA:
    case DT_JMPREL:
    case DT_RELR:
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_VERSYM:
    case DT_VERNEED:
    case DT_PLTGOT:
      if (!holder(entry.d_un.d_ptr, 1, false))
        return refuse_elf("has a dynamic entry ", entry.d_tag, " that points to address ", entry.d_un.d_ptr,
                          ", outside its segments");
      return {};
    case DT_AUXILIARY:
    case DT_FILTER:
    case DT_AUDIT:
    case DT_DEPAUDIT:
    case DT_CONFIG:
      return refuse_elf("has a dynamic entry ", entry.d_tag, ", which puts other libraries in its place");
    case DT_TEXTREL:
      return refuse_elf("needs text relocations (compile it with -fPIC)");
    default:
      return {};
  }
}

Result<std::string> Checker::read_text(uint64_t at, uint64_t end) const {
  std::string text(std::min<uint64_t>(kMaxLibraryText, end - std::min(at, end)), '\0');
  TENON_TRY(read(at, text.data(), text.size()));
  const size_t length = text.find('\0');
  if (length == std::string::npos) return refuse_elf("has a name of a library without an end");
  text.resize(length);
  return text;
}

Status Checker::read_dependencies(const std::vector<Elf64_Dyn>& entries) {
  uint64_t table = 0, bytes = 0;
  for (const Elf64_Dyn& e : entries) {
    if (e.d_tag == DT_STRTAB) table = e.d_un.d_ptr;
    if (e.d_tag == DT_STRSZ) bytes = e.d_un.d_val;
  }
  const Elf64_Phdr* load = holder(table, bytes, true);  // check_tables has found it
  const uint64_t begin = load->p_offset + (table - load->p_vaddr);
  for (const Elf64_Dyn& e : entries) {
    if (e.d_tag != DT_NEEDED && e.d_tag != DT_RUNPATH && e.d_tag != DT_RPATH) continue;
    if (e.d_un.d_val >= bytes) return refuse_elf("has the name of a library outside its strings");
    std::vector<std::string>& list = e.d_tag == DT_NEEDED ? facts_.needed : facts_.search;
    if (list.size() == kMaxNeeded) return refuse_elf("needs more than ", kMaxNeeded, " libraries");
    TENON_ASSIGN(std::string text, read_text(begin + e.d_un.d_val, begin + bytes));
    list.push_back(std::move(text));
  }
  return {};
}

bool Checker::starts_section(uint64_t address, Elf64_Word type, uint64_t bytes) const {
  return sections_.empty() || std::any_of(sections_.begin(), sections_.end(), [&](const Elf64_Shdr& s) {
           return (s.sh_flags & SHF_ALLOC) && s.sh_type == type && s.sh_addr == address &&
                  (bytes == 0 || s.sh_size == bytes) && (type != SHT_PROGBITS || (s.sh_flags & SHF_EXECINSTR));
         });
}

// Sections are not needed to load a library, but where they stand they must agree with its segments.
Status Checker::check_sections() {
  const int count = header_.e_shnum;
  if (header_.e_shoff == 0 && count == 0) return {};
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || count == 0 || count > kMaxSections || header_.e_shstrndx >= count)
    return refuse_elf("has ", count, " section headers of ", header_.e_shentsize, " bytes, expected 1 to ",
                      kMaxSections, " of ", sizeof(Elf64_Shdr));
  if (!within(header_.e_shoff, static_cast<uint64_t>(count) * sizeof(Elf64_Shdr), size_))
    return refuse_elf("is truncated: its section headers lie beyond its ", size_, " bytes");
  TENON_TRY(read_table(header_.e_shoff, static_cast<size_t>(count), &sections_));
  for (size_t i = 1; i < sections_.size(); ++i) {
    const Elf64_Shdr& s = sections_[i];
    if (s.sh_type == SHT_NULL) continue;
    if (s.sh_type != SHT_NOBITS && !within(s.sh_offset, s.sh_size, size_))
      return refuse_elf("is truncated: section ", i, " lies beyond its ", size_, " bytes");
    if (s.sh_flags & SHF_ALLOC) TENON_TRY(check_allocated(s, i));
  }
  return {};
}

Status Checker::check_allocated(const Elf64_Shdr& s, size_t i) const {
  if (s.sh_size == 0) return {};
  if (s.sh_flags & SHF_TLS) {
    const Elf64_Phdr* tls = only(PT_TLS);
    if (!tls || s.sh_addr < tls->p_vaddr || !within(s.sh_addr - tls->p_vaddr, s.sh_size, tls->p_memsz))
      return refuse_elf("has thread-local section ", i, " outside its thread-local segment");
    if (s.sh_type == SHT_NOBITS) return {};  // .tbss takes no room
  }
  const bool in_file = s.sh_type != SHT_NOBITS;
  const Elf64_Phdr* load = holder(s.sh_addr, s.sh_size, in_file);
  if (!load || (in_file && s.sh_addr - load->p_vaddr != s.sh_offset - load->p_offset))
    return refuse_elf("has section ", i, " outside its segments");
  if (((s.sh_flags & SHF_WRITE) && !(load->p_flags & PF_W)) ||
      ((s.sh_flags & SHF_EXECINSTR) && !(load->p_flags & PF_X)))
    return refuse_elf("has section ", i, " in a segment that does not allow what it needs");
  return {};
}

}  // namespace

Result<LibraryFacts> check_elf(const File& file) { return Checker(file).run(); }

}  // namespace tenon
