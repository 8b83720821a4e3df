// The file and its init: the note, exports, two tables that grow.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "conformance/host/elf_note.h"
#include "conformance/suites/support.h"
#include "tenon/plugin/required_entries.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kMandatory = TENON_SIZE(tenon_backend, wait);

decltype(&tenon_backend_init) init_of(const Subject& subject) {
  const std::string path = subject.path().find('/') == std::string::npos ? "./" + subject.path() : subject.path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  expect(library != nullptr, "the library is not loaded any more");
  const auto init = reinterpret_cast<decltype(&tenon_backend_init)>(dlsym(library, "tenon_backend_init"));
  expect(init != nullptr, "tenon_backend_init is not exported");
  return init;
}

// A host that offers nothing, which lives for ever as any must.
tenon_host* bare_host() {
  auto* host = new tenon_host{};
  static auto& hosts = *new std::vector<tenon_host*>;  // a leak checker should see them
  hosts.push_back(host);
  host->struct_size = sizeof *host;
  host->abi_major = TENON_ABI_MAJOR;
  host->abi_minor = TENON_ABI_MINOR;
  host->name = "tenon-conform";
  host->version = "1";
  return host;
}

// ---- the file ----

// Names of the dynamic symbol table and the libraries that are needed.
struct Dynamic {
  std::vector<std::string> defined, undefined, needed;
};

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    header_ = get<Elf64_Ehdr>(0);
  }

  Dynamic dynamic() const {
    Dynamic out;
    for (uint16_t i = 0; i < header_.e_shnum; ++i) {
      const Elf64_Shdr section = get<Elf64_Shdr>(header_.e_shoff + uint64_t{i} * header_.e_shentsize);
      if (section.sh_type == SHT_DYNSYM) read_symbols(section, &out);
      if (section.sh_type == SHT_DYNAMIC) read_needed(section, &out);
    }
    expect(!out.defined.empty(), "the file's section headers name no dynamic symbols: it must not be stripped of them");
    return out;
  }

 private:
  template <class T>
  T get(uint64_t at) const {
    T value;
    expect(at <= bytes_.size() && sizeof value <= bytes_.size() - at, "the file is truncated");
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  std::string text(const Elf64_Shdr& owner, uint64_t offset) const {
    const Elf64_Shdr strings = get<Elf64_Shdr>(header_.e_shoff + uint64_t{owner.sh_link} * header_.e_shentsize);
    const uint64_t at = strings.sh_offset + offset;
    expect(at < bytes_.size(), "the file is truncated in its strings");
    return std::string(&bytes_[at], strnlen(&bytes_[at], bytes_.size() - at));
  }

  void read_symbols(const Elf64_Shdr& section, Dynamic* out) const {
    for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const Elf64_Sym symbol = get<Elf64_Sym>(section.sh_offset + at);
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
        (symbol.st_shndx == SHN_UNDEF ? out->undefined : out->defined).push_back(text(section, symbol.st_name));
    }
  }

  void read_needed(const Elf64_Shdr& section, Dynamic* out) const {
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= section.sh_size; at += sizeof(Elf64_Dyn)) {
      const Elf64_Dyn entry = get<Elf64_Dyn>(section.sh_offset + at);
      if (entry.d_tag == DT_NEEDED) out->needed.push_back(text(section, entry.d_un.d_val));
    }
  }

  std::vector<char> bytes_;
  Elf64_Ehdr header_{};
};

void note_agrees(Subject& s) {
  const AbiNote note = read_abi_note(s.path());
  expect(note.major == s.backend().abi_major && note.minor == s.backend().abi_minor,
         "the note says ABI " + std::to_string(note.major) + "." + std::to_string(note.minor) + ", the table " +
             std::to_string(s.backend().abi_major) + "." + std::to_string(s.backend().abi_minor));
  expect(note.major == TENON_ABI_MAJOR,
         "the note says ABI version " + std::to_string(note.major) + ", expected " + std::to_string(TENON_ABI_MAJOR));
  expect(note.least_host_minor <= TENON_ABI_MINOR, "the note asks for host minor " +
                                                       std::to_string(note.least_host_minor) + ", here is " +
                                                       std::to_string(TENON_ABI_MINOR));
}

bool is_tenon(const std::string& symbol) { return symbol.rfind("tenon_", 0) == 0; }

void exports_init_alone(Subject& s) {
  for (const std::string& symbol : ElfFile(s.path()).dynamic().defined)
    expect(!is_tenon(symbol) || symbol == "tenon_backend_init",
           "exports " + one_line(symbol.c_str()) + ", expected tenon_backend_init alone");
}

void needs_nothing_of_tenon(Subject& s) {
  const Dynamic dynamic = ElfFile(s.path()).dynamic();
  for (const std::string& library : dynamic.needed)
    expect(library.rfind("libtenon", 0) != 0,
           "needs " + one_line(library.c_str()) + ": a backend stands on the ABI alone");
  for (const std::string& symbol : dynamic.undefined)
    expect(!is_tenon(symbol), "expects " + one_line(symbol.c_str()) + " from somebody else");
}

// ---- the table ----

void has_mandatory_entries(Subject& s) {
  const tenon_backend& t = s.backend();
  const char* missing = plugin::missing_entry(t);
  expect(!missing, std::string("the table has no ") + (missing ? missing : ""));
  expect((t.flags & 0xFFFFFFFFull) == 0,
         "the table's flags have low bits that no version defines: " + std::to_string(t.flags));
}

void names_itself_as_its_file(Subject& s) {
  const std::string& path = s.path();
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  expect(s.backend().name != nullptr, "the table has no name");
  expect(s.backend().version != nullptr && *s.backend().version, "the table has no version");
  expect(std::string(s.backend().name) + ".so" == file,
         "says that its name is '" + one_line(s.backend().name) + "', the file is " + file);
}

// A table of struct_size `size` with marked bytes behind it.
struct Table {
  explicit Table(uint64_t size, uint64_t room = sizeof(tenon_backend) + 256) : bytes(room, kMark), given(size) {
    std::memset(bytes.data(), 0, size);
    std::memcpy(bytes.data(), &size, sizeof size);
  }
  tenon_backend* get() { return reinterpret_cast<tenon_backend*>(bytes.data()); }
  void check_rest() const {
    for (size_t i = given; i < bytes.size(); ++i)
      expect(bytes[i] == kMark,
             "init with a table of " + std::to_string(given) + " bytes wrote byte " + std::to_string(i));
  }
  std::vector<uint8_t> bytes;
  uint64_t given;
};

// What two tables of one backend must agree in, as far as `size` goes: all but the head and self.
void expect_same_table(const tenon_backend& found, const tenon_backend& whole, uint64_t size) {
  const uint64_t first = offsetof(tenon_backend, enumerate);
  if (size > first)
    expect(std::memcmp(reinterpret_cast<const char*>(&found) + first, reinterpret_cast<const char*>(&whole) + first,
                       size - first) == 0,
           "init into " + std::to_string(size) + " bytes fills other entries than before");
}

void inits_twice(Subject& s) {
  Table table(sizeof(tenon_backend));
  expect_ok(init_of(s)(bare_host(), table.get()), "a second tenon_backend_init");
  const tenon_backend& again = *table.get();
  expect(again.struct_size == s.backend().struct_size, "the second table has another struct_size");
  expect(std::string(again.name) == s.backend().name, "the second table has another name");
  expect_same_table(again, s.backend(), s.backend().struct_size);
  walk_entries(again, s.spec(), [](const char*) {});
  walk_entries(s.backend(), s.spec(), [](const char*) {});  // the first lives for ever
}

void fills_no_more_than_asked(Subject& s) {
  for (uint64_t size = kMandatory; size <= sizeof(tenon_backend); size += 8) {
    Table table(size);
    expect_ok(init_of(s)(bare_host(), table.get()),
              "tenon_backend_init with a table of " + std::to_string(size) + " bytes");
    table.check_rest();
    const uint64_t filled = table.get()->struct_size;
    expect(filled <= size, "init set struct_size to " + std::to_string(filled) + ", more than the " +
                               std::to_string(size) + " it was given");
    expect_same_table(*table.get(), s.backend(), std::min(filled, s.backend().struct_size));
  }
}

// A host so old that it lacks mandatory entries is none, but nothing may be written behind its table.
void respects_the_least_table(Subject& s) {
  for (uint64_t size = 16; size < kMandatory; size += 8) {
    Table table(size);
    init_of(s)(bare_host(), table.get());
    table.check_rest();
  }
}

void fills_a_newer_table(Subject& s) {
  Table table(sizeof(tenon_backend) + 128);
  expect_ok(init_of(s)(bare_host(), table.get()), "tenon_backend_init with a larger table");
  table.check_rest();
  expect(table.get()->struct_size == s.backend().struct_size,
         "init says that it filled " + std::to_string(table.get()->struct_size) + " bytes of a larger table, " +
             std::to_string(s.backend().struct_size) + " before");
  for (uint64_t i = table.get()->struct_size; i < table.given; ++i)
    expect(table.bytes[i] == 0, "init wrote byte " + std::to_string(i) + ", behind what it says it filled");
}

void init_and_walk(Subject& s, const tenon_host* host) {
  Table table(sizeof(tenon_backend));
  expect_ok(init_of(s)(host, table.get()), "tenon_backend_init");
  walk_entries(*table.get(), s.spec(), [](const char*) {});
}

void needs_nothing_of_the_host(Subject& s) { init_and_walk(s, bare_host()); }

// Behind an older host's struct_size lies nothing that may be read: a page that ends the process of who does.
void reads_an_older_host(Subject& s) {
  const uint64_t known = TENON_SIZE(tenon_host, version), page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect(pages != MAP_FAILED, "no memory for the test");
  char* end = static_cast<char*>(pages) + page;
  expect(mprotect(end, page, PROT_NONE) == 0, "a page cannot be protected");
  std::memcpy(end - known, bare_host(), known);
  auto* host = reinterpret_cast<tenon_host*>(end - known);
  host->struct_size = known;
  init_and_walk(s, host);
}

void takes_a_newer_host(Subject& s) {
  struct Newer {
    tenon_host host;
    uint64_t more[16];
  };
  static auto& newer = *new Newer;
  newer.host = *bare_host();
  newer.host.struct_size = sizeof newer;
  newer.host.abi_minor = TENON_ABI_MINOR + 7;
  newer.host.flags = 1ull << 40;  // a hint
  std::memset(newer.more, kMark, sizeof newer.more);
  init_and_walk(s, &newer.host);
}

void refuses_unknown_host_flags(Subject& s) {
  tenon_host* host = bare_host();
  host->flags = 1ull << 31;
  Table table(sizeof(tenon_backend));
  expect_code(init_of(s)(host, table.get()), TENON_UNSUPPORTED,
              "tenon_backend_init with an unknown low bit in the host's flags");
}

}  // namespace

void add_load_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&), bool own_process = false) {
    add_test(tests, "load", group, name, run).own_process = own_process;
  };
  add("file", "note agrees with the table", note_agrees);
  add("file", "exports tenon_backend_init alone", exports_init_alone);
  add("file", "needs nothing of Tenon", needs_nothing_of_tenon);
  add("table", "has the 13 mandatory entries", has_mandatory_entries);
  add("table", "name is the file's", names_itself_as_its_file);
  add("init", "twice", inits_twice, true);
  add("init", "fills no more than it is asked for", fills_no_more_than_asked, true);
  add("init", "respects the least table", respects_the_least_table, true);
  add("init", "fills a newer table", fills_a_newer_table, true);
  add("init", "needs nothing of the host", needs_nothing_of_the_host, true);
  add("init", "reads no more of the host than there is", reads_an_older_host, true);
  add("init", "takes a newer host", takes_a_newer_host, true);
  add("init", "refuses unknown flags of the host", refuses_unknown_host_flags, true);
}

}  // namespace tenon::conformance
