// Files that are no backends for this machine, or damaged ones: refused from their bytes alone. Each test starts
// from a library that loads. Truncations and flipped bytes: tests/fault/plugins.
#include <elf.h>

#include <cstddef>
#include <cstring>
#include <functional>

#include "backend/load/elf_check.h"
#include "fault/plugins/elf_patch.h"
#include "unit/backend/plugin_testing.h"

namespace tenon {
namespace {

std::string specimen_bytes() { return *read_file(std::string(TENON_SPECIMENS) + "/specimen.so"); }

class ElfCheck : public testing::Test {
 protected:
  Status check(const std::string& bytes) const {
    const std::string path = directory_.write("x.so", bytes);
    const auto file = File::open(path);
    return check_elf(*file).status();
  }
  std::string check_changed(const std::function<void(std::string&)>& change) const {
    std::string bytes = specimen_bytes();
    change(bytes);
    return check(bytes).message();
  }
  TemporaryDirectory directory_;
};

TEST_F(ElfCheck, AcceptsALibraryOfThisMachine) { EXPECT_EQ(check(specimen_bytes()).message(), ""); }

TEST_F(ElfCheck, NamesWhatTheFileIsInstead) {
  EXPECT_EQ(check("").message(), "is empty, expected a shared library");
  EXPECT_EQ(check("x").message(), "is no ELF file");
  EXPECT_EQ(check("#!/bin/sh\necho hello\n").message(), "is no ELF file");
  EXPECT_EQ(check("\x7f"
                  "ELF")
                .message(),
            "is truncated: 4 bytes, an ELF header has 64");
  EXPECT_EQ(check_changed([](std::string& b) { b[EI_CLASS] = ELFCLASS32; }),
            "is no 64-bit library (ELF class 1, expected 2)");
  EXPECT_EQ(check_changed([](std::string& b) { b[EI_DATA] = ELFDATA2MSB; }), "is not little-endian");
  EXPECT_EQ(check_changed([](std::string& b) { elf_header(b).e_type = ET_EXEC; }),
            "is no shared library (ELF type 2, expected 3)");
  EXPECT_EQ(check_changed([](std::string& b) { elf_header(b).e_type = ET_REL; }),
            "is no shared library (ELF type 1, expected 3)");
#if defined(__x86_64__)
  EXPECT_EQ(check_changed([](std::string& b) { elf_header(b).e_machine = EM_AARCH64; }),
            "is for machine 183, expected 62 (x86-64)");
#endif
  EXPECT_EQ(check_changed([](std::string& b) { b[EI_OSABI] = ELFOSABI_FREEBSD; }),
            "is for another system (ELF OS ABI 9)");
}

// The linker would look far behind an array for it.
TEST_F(ElfCheck, RefusesASymbolOfAVersionThatIsNone) {
  const auto versioned = [](uint16_t number) {
    return [number](std::string& b) {  // mapped at its place in the file
      reinterpret_cast<uint16_t*>(b.data() + dynamic_entry(b, DT_VERSYM).d_un.d_ptr)[3] = number;
    };
  };
  EXPECT_TRUE(contains(check_changed(versioned(0x7002)), "has symbol 3 of version 28674, expected at most "));
  EXPECT_EQ(check_changed(versioned(0x8000 | VER_NDX_GLOBAL)), "");
}

TEST_F(ElfCheck, TakesThisAbiVersionAndNoOther) {
  const auto with = [](uint32_t major, uint32_t least) {
    return [=](std::string& b) {
      uint32_t* version = note_version(b);
      version[0] = major, version[2] = least;
    };
  };
  EXPECT_EQ(check_changed(with(1, 0)), "");
  EXPECT_EQ(check_changed(with(0, 0)), "has ABI version 0.0, expected 1");
  EXPECT_EQ(check_changed(with(2, 0)), "has ABI version 2.0, expected 1");
  EXPECT_EQ(check_changed(with(UINT32_MAX, 0)), "has ABI version 4294967295.0, expected 1");
  EXPECT_EQ(check_changed(with(1, 7)), "needs ABI version 1.7, this Tenon has 1.0");
  EXPECT_EQ(check_changed([](std::string& b) { note_version(b)[1] = 9; }), "")
      << "a newer minor version is none of our business";
}

TEST_F(ElfCheck, RefusesANoteThatIsNotOurs) {
  const std::string cause = "is no Tenon backend: it has no .note.tenon note";
  EXPECT_EQ(check_changed([](std::string& b) { reinterpret_cast<char*>(note_version(b))[-8] = 'X'; }), cause);
  EXPECT_EQ(check_changed([](std::string& b) { note_version(b)[-3] = 2; }), cause) << "type";
  EXPECT_EQ(check_changed([](std::string& b) { note_version(b)[-4] = 8; }), cause) << "data size";
  EXPECT_EQ(check_changed([](std::string& b) { note_version(b)[-4] = 0xfffffff0; }), cause);
  EXPECT_EQ(check_changed([](std::string& b) { note_version(b)[-5] = 0xffffffff; }), cause) << "owner size";
}

TEST_F(ElfCheck, RefusesOffsetsAndSizesOutsideTheFile) {
  for (uint64_t wild : {uint64_t{1} << 20, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 63}) {
    EXPECT_NE(check_changed([&](std::string& b) { elf_header(b).e_phoff = wild; }), "");
    EXPECT_NE(check_changed([&](std::string& b) { elf_header(b).e_shoff = wild; }), "");
    for (uint32_t type : {PT_LOAD, PT_DYNAMIC, PT_NOTE}) {
      EXPECT_NE(check_changed([&](std::string& b) { segment(b, type).p_offset = wild; }), "") << type;
      EXPECT_NE(check_changed([&](std::string& b) { segment(b, type).p_filesz = wild; }), "") << type;
    }
    EXPECT_NE(check_changed([&](std::string& b) { segment(b, PT_LOAD).p_vaddr = wild; }), "");
    EXPECT_NE(check_changed([&](std::string& b) { segment(b, PT_DYNAMIC).p_vaddr = wild; }), "");
    EXPECT_NE(check_changed([&](std::string& b) { segment(b, PT_GNU_RELRO).p_vaddr = wild; }), "");
    EXPECT_NE(check_changed([&](std::string& b) { segment(b, PT_GNU_RELRO).p_memsz = wild; }), "");
  }
  EXPECT_NE(check_changed([](std::string& b) { segment(b, PT_LOAD).p_memsz = uint64_t{1} << 62; }), "");
  EXPECT_NE(check_changed([](std::string& b) { elf_header(b).e_phnum = 0xffff; }), "");
  EXPECT_NE(check_changed([](std::string& b) { elf_header(b).e_phnum = 0; }), "");
  EXPECT_NE(check_changed([](std::string& b) { elf_header(b).e_shnum = 0xffff; }), "");
}

// Lists that lead through the same bytes again and again: without an end to it, 16 MB take minutes.
TEST_F(ElfCheck, FollowsVersionsNoFurtherThanTheyHaveRoom) {
  const auto endless = [](std::string& b) {
    const uint64_t at = b.size(), n = 1 << 20;
    Elf64_Verneed need{};
    need.vn_cnt = 0xffff, need.vn_aux = need.vn_next = sizeof need;
    for (uint64_t i = 0; i < n; ++i) b.append(reinterpret_cast<const char*>(&need), sizeof need);
    auto* s = reinterpret_cast<Elf64_Shdr*>(b.data() + elf_header(b).e_shoff);
    while (s->sh_type != SHT_GNU_verneed) ++s;
    s->sh_flags = 0, s->sh_offset = at, s->sh_size = n * sizeof need, s->sh_info = 0xffffffff;
  };
  EXPECT_EQ(check_changed(endless), "has symbol versions outside their section, or more of them than have room");
}

TEST_F(ElfCheck, RefusesSegmentsThatTheLinkerWouldMapOverOthers) {
  EXPECT_EQ(check_changed([](std::string& b) {
              auto* s = &segment(b, PT_LOAD);  // the first and the second one exchanged
              std::swap(s[0], s[1]);
            }),
            "has segments that overlap or are out of order");
}

// The linker reads the size of the list of destructors when the process ends, and not before.
TEST_F(ElfCheck, RefusesTablesWithoutTheirSizes) {
  const auto retag = [](std::string& b, int64_t tag) {
    auto* entry = reinterpret_cast<Elf64_Dyn*>(b.data() + segment(b, PT_DYNAMIC).p_offset);
    while (entry->d_tag != tag) ++entry;
    entry->d_tag = DT_DEBUG;
  };
  for (int64_t tag : {DT_FINI_ARRAYSZ, DT_FINI_ARRAY, DT_INIT_ARRAYSZ, DT_RELASZ, DT_STRSZ})
    EXPECT_NE(check_changed([&](std::string& b) { retag(b, tag); }).find("without its fellow"), std::string::npos)
        << tag;
}

TEST_F(PluginTest, ALibraryThatNeedsAMissingOneIsRefusedByTheLinkersWords) {
  std::string bytes = specimen_bytes();
  const size_t at = bytes.find(std::string("\0libc.so.6\0", 11));
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at + 1, 9, "nowhere.1");
  directory_.write("needs.so", bytes);
  EXPECT_NE(refusal("needs").find("cannot be loaded: nowhere.1: cannot open shared object file"), std::string::npos)
      << refusal("needs");
}

}  // namespace
}  // namespace tenon
