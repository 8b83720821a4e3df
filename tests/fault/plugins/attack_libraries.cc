// One of each way to be a bad library.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "attack.h"
#include "elf_patch.h"

namespace tenon::attack {
namespace {

namespace fs = std::filesystem;

class Collection {
 public:
  // A copy of a specimen, which does what it is called.
  void specimen(const std::string& name, const std::string& cause, const std::string& source = "specimen") {
    all.push_back({name, cause, [source](const std::string& path) { fs::copy_file(specimen_path(source), path); }});
  }
  void patched(const std::string& name, const std::string& cause, std::function<void(std::string&)> change) {
    all.push_back({name, cause, [change](const std::string& path) {
                     std::string bytes = specimen_bytes();
                     change(bytes);
                     write_file(path, bytes);
                   }});
  }
  void file(const std::string& name, const std::string& cause, const std::string& contents) {
    all.push_back({name, cause, [contents](const std::string& path) { write_file(path, contents); }});
  }
  void other(const std::string& name, const std::string& cause, std::function<void(const std::string&)> make) {
    all.push_back({name, cause, std::move(make)});
  }
  std::vector<Library> all;
};

void add_constructors_and_inits(Collection& c) {
  const struct {
    const char* action;
    const char* cause;
  } both[] = {{"segfault", "crashed with SIGSEGV in "},
              {"null", "crashed with SIGSEGV in "},
              {"bus", "crashed with SIGBUS in "},
              {"illegal", "crashed with SIGILL in "},
              {"divide", "crashed with SIGFPE in "},
              {"abort", "crashed with SIGABRT in "},
              {"terminate", "crashed with SIGABRT in "},
              {"overflow", "crashed with SIGSEGV in "},
              {"kill", "crashed with SIGKILL in "},
              {"exit", "called exit in "},
              {"quick", "ended the process in "},
              {"silent", "ended the process in "},
              {"fork", "ended the process in "},
              {"hang", "did not answer within 0.6 s in "},
              {"deaf", "did not answer within 0.6 s in "},
              {"forgets", "ended the process in "},
              {"streams", "closed file descriptor 0 as it was loaded"},
              {"spawn", "started a process as it was loaded"},
              {"timer", "started a timer as it was loaded, which would kill this process"},
              {"directory", "changed the current directory as it was loaded"}};
  for (const auto& [action, cause] : both)
    for (const auto& [stage, text] :
         {std::pair("constructor-", "its constructors (dlopen)"), std::pair("init-", "tenon_backend_init")})
      c.specimen(std::string(stage) + action, std::string(cause).ends_with(" in ") ? std::string(cause) + text : cause);
  const struct {
    const char* stage;
    const char* text;
  } calls[] = {{"first-", "enumerate"}, {"second-", "enumerate"}, {"open-", "device_open"}, {"close-", "device_open"}};
  for (const auto& [stage, text] : calls) {
    c.specimen(std::string(stage) + "segfault", std::string("crashed with SIGSEGV in ") + text);
    c.specimen(std::string(stage) + "abort", std::string("crashed with SIGABRT in ") + text);
    c.specimen(std::string(stage) + "exit", std::string("called exit in ") + text);
    c.specimen(std::string(stage) + "hang", std::string("did not answer within 0.6 s in ") + text);
  }
  c.specimen("open-directory", "changed the current directory as it was first used");
  c.specimen("open-streams", "closed file descriptor 0 as it was first used");
#ifdef __SANITIZE_THREAD__
  // Its runtime has a thread of its own, beside which destructors are not tried, and lets exceptions out of dlopen.
  c.specimen("constructor-throw", "threw an exception");
#else
  c.specimen("destructor-segfault", "crashed with SIGSEGV in its destructors (exit)");
  c.specimen("destructor-abort", "crashed with SIGABRT in its destructors (exit)");
  c.specimen("destructor-hang", "did not answer within 0.6 s in its destructors (exit)");
  c.specimen("destructor-silent", "ended the process in its destructors (exit)");
  c.specimen("constructor-throw", "in its constructors (dlopen)");
#endif
  c.specimen("init-throw", "tenon_backend_init: init-throw: threw an exception");
}

void add_messages_and_tables(Collection& c) {
  c.specimen("init-unavailable", "tenon_backend_init: init-unavailable: no such card ?[31mhere");
  c.specimen("init-code", "tenon_backend_init failed with code -12345");
  c.specimen("init-message-null", "tenon_backend_init failed with code 3");
  c.specimen("init-message-empty", "tenon_backend_init: init-message-empty: ");
  c.specimen("init-message-huge", "xxxxxxxxxx");
  c.specimen("init-message-control", "?]0;owned??[2J? ?text");
  c.specimen("init-message-bytes", "???? text");
  c.specimen("init-message-wild", "crashed with SIGSEGV in tenon_backend_init");
  for (const char* entry : {"enumerate", "device_open", "device_close", "supports", "compile", "program_destroy",
                            "buffer_alloc", "buffer_free", "queue_create", "queue_destroy", "copy", "run", "wait"})
    c.specimen(std::string("table-no-") + entry, std::string("left entry ") + entry + " empty");
  c.specimen("table-null", "left entry enumerate empty");
  c.specimen("table-zero", "filled 0 bytes");
  c.specimen("table-short", "filled 40 bytes");
  c.specimen("table-long", "bytes, expected");
  c.specimen("table-major", "says ABI version 2, the file's note says 1");
  c.specimen("table-name", "says that its name is 'another', the file's is 'table-name'");
  c.specimen("table-name-null", "left name empty");
  c.specimen("table-name-empty", "says that its name is ''");
  c.specimen("table-name-endless", "set a name without an end");
  c.specimen("table-name-wild", "crashed with SIGSEGV in tenon_backend_init");
  c.specimen("table-name-escape", "set a name that cannot be printed: '?[2Jtable-name-escape'");
  c.specimen("table-version-null", "left version empty");
  c.specimen("table-version-lines", "set a version that cannot be printed: '1.0 2.0'");
  c.specimen("table-version-wild", "crashed with SIGSEGV in tenon_backend_init");
}

void add_builds_and_units(Collection& c) {
  c.specimen("no-symbol", "exports no tenon_backend_init", "without-symbol");
  c.specimen("no-note", "has no .note.tenon note", "without-note");
  c.specimen("no-function", "undefined symbol: no_library_has_this", "with-undefined-symbol");
  c.specimen("open-stack", "asks for an executable stack", "with-executable-stack");
  c.specimen("search-here", "has an empty entry in its RUNPATH, which stands for the current directory",
             "with-empty-runpath");
  c.specimen("search-below", "has 'lib' in its RUNPATH, expected an absolute path or $ORIGIN", "with-relative-runpath");
  c.specimen("search-open", "has /tmp in its RUNPATH, which may be written by everybody", "with-open-runpath");
  c.specimen("units-absurd", "counts 4294967295 units, expected 1 to 65536");
  c.specimen("units-grow", "filled 1001 units, expected 1");
  c.specimen("units-depth", "feed_depth 0");
  c.specimen("units-error", "broken on purpose");
  c.specimen("units-none", "no card in any slot");
  c.specimen("units-zero", "has no units here");
  c.other("renamed", "says that its name is 'real-1.0', the file's is 'renamed'", [](const std::string& path) {
    const std::string real = path.substr(0, path.rfind('/')) + "/elsewhere";
    fs::create_directory(real);
    fs::copy_file(specimen_path("specimen"), real + "/real-1.0.so");
    fs::create_symlink(real + "/real-1.0.so", path);
  });
}

void add_formats(Collection& c) {
  c.file("empty", "is empty, expected a shared library", "");
  c.file("one-byte", "is no ELF file", "x");
  c.file("text", "is no ELF file", "not a library\n");
  c.file("script", "is no ELF file", "#!/bin/sh\nexit 1\n");
  c.file("archive", "is no ELF file", "!<arch>\n");
  c.file("magic-only", "is truncated: 4 bytes, an ELF header has 64",
         "\x7f"
         "ELF");
  c.file("zeros", "is no ELF file", std::string(100000, '\0'));
  c.patched("class-32", "is no 64-bit library (ELF class 1, expected 2)",
            [](std::string& b) { b[EI_CLASS] = ELFCLASS32; });
  c.patched("big-endian", "is not little-endian", [](std::string& b) { b[EI_DATA] = ELFDATA2MSB; });
  c.patched("elf-version", "has an unknown ELF version", [](std::string& b) { b[EI_VERSION] = 9; });
  c.patched("another-system", "is for another system (ELF OS ABI 9)",
            [](std::string& b) { b[EI_OSABI] = ELFOSABI_FREEBSD; });
  c.patched("machine-arm", "is for machine 40, expected", [](std::string& b) { elf_header(b).e_machine = EM_ARM; });
  c.patched("machine-riscv", "is for machine 243, expected",
            [](std::string& b) { elf_header(b).e_machine = EM_RISCV; });
  c.patched("program", "is no shared library (ELF type 2, expected 3)",
            [](std::string& b) { elf_header(b).e_type = ET_EXEC; });
  c.patched("object-file", "is no shared library (ELF type 1, expected 3)",
            [](std::string& b) { elf_header(b).e_type = ET_REL; });
  c.patched("core-dump", "is no shared library (ELF type 4, expected 3)",
            [](std::string& b) { elf_header(b).e_type = ET_CORE; });
}

void add_segments(Collection& c) {
  c.patched("headers-far", "its program headers lie beyond its",
            [](std::string& b) { elf_header(b).e_phoff = ~uint64_t{0} - 63; });
  c.patched("headers-many", "has 65535 program headers", [](std::string& b) { elf_header(b).e_phnum = 0xffff; });
  c.patched("headers-none", "has 0 program headers", [](std::string& b) { elf_header(b).e_phnum = 0; });
  c.patched("headers-small", "program headers of 8 bytes", [](std::string& b) { elf_header(b).e_phentsize = 8; });
  c.patched("segment-far", "lies beyond its",
            [](std::string& b) { segment(b, PT_LOAD, 1).p_offset = uint64_t{1} << 40; });
  c.patched("segment-high", "out of range", [](std::string& b) { segment(b, PT_LOAD, 1).p_vaddr = uint64_t{1} << 62; });
  c.patched("segment-huge", "out of range", [](std::string& b) { segment(b, PT_LOAD, 1).p_memsz = uint64_t{1} << 60; });
  c.patched("segments-swapped", "overlap or are out of order",
            [](std::string& b) { std::swap(segment(b, PT_LOAD, 0), segment(b, PT_LOAD, 1)); });
  c.patched("segments-overlap", "overlap or are out of order", [](std::string& b) {
    Elf64_Phdr &first = segment(b, PT_LOAD, 0), &second = segment(b, PT_LOAD, 1);
    second.p_vaddr = first.p_vaddr, second.p_offset = first.p_offset, second.p_filesz = first.p_filesz,
    second.p_memsz = first.p_memsz;
  });
  c.patched("segment-askew", "is not aligned as it says", [](std::string& b) { segment(b, PT_LOAD, 1).p_vaddr += 8; });
  c.patched("segment-rwx", "writable and executable",
            [](std::string& b) { segment(b, PT_LOAD, 1).p_flags = PF_R | PF_W | PF_X; });
  c.patched("stack-executable", "asks for an executable stack",
            [](std::string& b) { segment(b, PT_GNU_STACK).p_flags |= PF_X; });
  c.patched("no-dynamic", "has no dynamic section", [](std::string& b) { segment(b, PT_DYNAMIC).p_type = PT_NULL; });
  c.patched("dynamic-elsewhere", "has a dynamic section outside its segments",
            [](std::string& b) { segment(b, PT_DYNAMIC).p_vaddr += 64; });
  c.patched("no-strings", "without its fellow", [](std::string& b) { dynamic_entry(b, DT_STRTAB).d_tag = DT_DEBUG; });
  c.patched("no-destructor-count", "without its fellow",
            [](std::string& b) { dynamic_entry(b, DT_FINI_ARRAYSZ).d_tag = DT_DEBUG; });
  c.patched("symbols-elsewhere", "outside its segments",
            [](std::string& b) { dynamic_entry(b, DT_SYMTAB).d_un.d_ptr = uint64_t{1} << 33; });
  c.patched("relocations-cut", "outside its segments",
            [](std::string& b) { dynamic_entry(b, DT_RELASZ).d_un.d_val = uint64_t{1} << 30; });
  c.patched("sections-far", "its section headers lie beyond its",
            [](std::string& b) { elf_header(b).e_shoff = uint64_t{1} << 50; });
}

// 16 MB of records, each a needed version and a part of one, whose lists lead through all of them.
void put_endless_versions(std::string& b) {
  const uint64_t at = b.size(), n = 1 << 20;
  Elf64_Verneed need{};
  need.vn_cnt = 0xffff, need.vn_aux = need.vn_next = sizeof need;
  for (uint64_t i = 0; i < n; ++i) b.append(reinterpret_cast<const char*>(&need), sizeof need);
  auto* sections = reinterpret_cast<Elf64_Shdr*>(b.data() + elf_header(b).e_shoff);
  Elf64_Shdr* s = sections;
  while (s->sh_type != SHT_GNU_verneed) ++s;
  s->sh_flags = 0, s->sh_offset = at, s->sh_size = n * sizeof need, s->sh_info = 0xffffffff;
}

void add_dependencies(Collection& c) {
  c.patched("versions-endless", "more of them than have room", put_endless_versions);
  c.patched("needs-here", "needs ./bc.so.6, expected the name of a library or an absolute path",
            [](std::string& b) { b.replace(b.find(std::string("\0libc.so.6\0", 11)) + 1, 4, "./bc"); });
  c.patched("filter", "which puts other libraries in its place",
            [](std::string& b) { dynamic_entry(b, DT_RELACOUNT).d_tag = DT_AUXILIARY; });
  c.patched("audit", "which puts other libraries in its place",
            [](std::string& b) { dynamic_entry(b, DT_RELACOUNT).d_tag = DT_DEPAUDIT; });
}

void add_notes(Collection& c) {
  const std::string none = "is no Tenon backend: it has no .note.tenon note";
  c.patched("note-owner", none, [](std::string& b) { reinterpret_cast<char*>(note_version(b))[-8] = 'X'; });
  c.patched("note-type", none, [](std::string& b) { note_version(b)[-3] = 2; });
  c.patched("note-short", none, [](std::string& b) { note_version(b)[-4] = 8; });
  c.patched("note-endless", none, [](std::string& b) { note_version(b)[-4] = 0xfffffff0; });
  c.patched("note-owner-endless", none, [](std::string& b) { note_version(b)[-5] = 0xffffffff; });
  c.patched("note-cut", none, [](std::string& b) { note_segment(b).p_filesz = 20; });
  c.patched("note-misplaced", none, [](std::string& b) { note_segment(b).p_offset += 2; });
  c.patched("abi-0", "has ABI version 0.0, expected 1", [](std::string& b) { note_version(b)[0] = 0; });
  c.patched("abi-2", "has ABI version 2.0, expected 1", [](std::string& b) { note_version(b)[0] = 2; });
  c.patched("abi-max", "has ABI version 4294967295.0, expected 1",
            [](std::string& b) { note_version(b)[0] = UINT32_MAX; });
  c.patched("host-too-old", "needs ABI version 1.7, this Tenon has 1.0",
            [](std::string& b) { note_version(b)[2] = 7; });
}

void add_things_that_are_no_files(Collection& c) {
  c.other("directory", "is a directory, expected a regular file",
          [](const std::string& path) { fs::create_directory(path); });
  c.other("pipe", "is a pipe, expected a regular file", [](const std::string& path) { ::mkfifo(path.c_str(), 0600); });
  c.other("socket", "is a socket, expected a regular file", [](const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    (void)::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::close(fd);
  });
  c.other("device-node", "is a device, expected a regular file", [](const std::string& path) {
    if (::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, 5)) != 0)
      fs::create_symlink("/dev/zero", path);  // needs root
  });
  c.other("device-link", "is a device, expected a regular file",
          [](const std::string& path) { fs::create_symlink("/dev/zero", path); });
  c.other("dangling", "cannot be resolved: No such file or directory",
          [](const std::string& path) { fs::create_symlink(path + ".no", path); });
  c.other("loop", "cannot be resolved: Too many levels of symbolic links",
          [](const std::string& path) { fs::create_symlink(path, path); });
  c.other("sparse", "is no ELF file", [](const std::string& path) {
    write_file(path,
               "\x7f"
               "EL");
    fs::resize_file(path, uintmax_t{1} << 40);
  });
}

// What is odd and allowed: it loads, and the host goes on.
void add_harmless(Collection& c) {
  c.specimen("specimen", "");
  for (const char* action : {"print", "modes", "mask", "handler", "locale", "umask"})
    for (const char* stage : {"constructor-", "init-"}) c.specimen(std::string(stage) + action, "");
  c.specimen("table-minor", "");
  c.patched("minor-9", "", [](std::string& b) { note_version(b)[1] = 9; });
}

}  // namespace

std::vector<Library> bad_libraries() {
  Collection c;
  add_constructors_and_inits(c);
  add_messages_and_tables(c);
  add_builds_and_units(c);
  add_formats(c);
  add_segments(c);
  add_dependencies(c);
  add_notes(c);
  add_things_that_are_no_files(c);
  add_harmless(c);
  return std::move(c.all);
}

}  // namespace tenon::attack
