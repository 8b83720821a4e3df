// The collection of bad libraries, truncations and flipped bytes, each on a host of its own.
#include <elf.h>

#include <algorithm>
#include <cstdlib>

#include "attack.h"
#include "backend/load/loader.h"
#include "backend/registry.h"
#include "elf_patch.h"
#include "unit/backend/plugin_testing.h"

namespace tenon::attack {
namespace {

constexpr auto kUnprotectedLimit = std::chrono::milliseconds(kSanitized ? 2000 : 400);

// Whether it stops the host for long: there the probe's limit is short.
bool hangs(const std::string& name) { return name.ends_with("-hang") || name.ends_with("-deaf"); }

void count(const Outcome& outcome, const std::string& what, bool may_load, Row* row) {
  ++row->tried;
  row->refused += outcome.kind == Outcome::kRefused;
  if (outcome.kind == Outcome::kLoaded) ++(may_load ? row->harmless : row->wrong);
  row->lost += outcome.kind == Outcome::kLost;
  row->log.push_back(what + ": " + (outcome.kind == Outcome::kLoaded ? "loaded" : outcome.text));
  if (outcome.kind == Outcome::kLost) row->mistakes.push_back(what + ": the host was lost: " + outcome.text);
  if (outcome.text.find('\n') != std::string::npos)
    row->mistakes.push_back(what + ": says several lines: " + outcome.text);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_refusal(const Outcome& outcome, const Library& library, const std::string& path, Row* row) {
  const bool should_load = library.cause.empty();
  if (outcome.kind == Outcome::kLost) return;
  if (should_load != (outcome.kind == Outcome::kLoaded))
    row->mistakes.push_back(library.name + ": should have been " + (should_load ? "loaded" : "refused") + ": " +
                            outcome.text);
  // What a loaded backend says of its units does not name the file.
  const bool names_it = contains(outcome.text, path + ": ") || outcome.text.starts_with(library.name + ": ");
  if (!should_load && !names_it) row->mistakes.push_back(library.name + ": does not name the file: " + outcome.text);
  if (!contains(outcome.text, library.cause))
    row->mistakes.push_back(library.name + ": expected '" + library.cause + "', found: " + outcome.text);
}

// dlopen alone. Plugins that print do so here.
void try_unprotected(const std::string& path, Row* row) {
  ++row->unprotected_tried;
  row->unprotected_hurt += on_host([&] { return load_unprotected(path); }, kUnprotectedLimit).kind == Outcome::kLost;
}

struct Place {
  Place() {
    ::setenv("TENON_PLUGIN_PATH", directory.path().c_str(), 1);
    ::setenv("XDG_DATA_HOME", home.path().c_str(), 1);
    ::setenv("XDG_CACHE_HOME", home.path().c_str(), 1);
    ::unsetenv("TENON_SPECIMEN_MARK");
  }
  TemporaryDirectory directory, home;
};

}  // namespace

Row attack_libraries() {
  Row row{.attack = "bad libraries"};
  const Place place;
  for (const Library& library : bad_libraries()) {
    const std::string path = place.directory / (library.name + ".so");
    library.make(path);
    const Outcome outcome = on_host([&] {
      set_probe_limit(std::chrono::milliseconds(hangs(library.name) ? 600 : 20000));
      return open_device(library.name).status().message();
    });
    count(outcome, library.name, library.cause.empty(), &row);
    check_refusal(outcome, library, path, &row);
    if (!library.cause.empty()) try_unprotected(path, &row);
  }
  return row;
}

Row attack_changing_files() {
  Row row{.attack = "changing files"};
  for (const char* name : {"init-swaps", "init-shrinks", "second-swaps", "second-shrinks"}) {
    const Place place;
    const std::string path = place.directory / (std::string(name) + ".so");
    const auto put = [&] {
      std::filesystem::copy_file(specimen_path("specimen"), path, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::copy_file(specimen_path("that-crashes"), path + ".next",
                                 std::filesystem::copy_options::overwrite_existing);
    };
    put();
    const Outcome outcome = on_host([&] { return open_device(name).status().message(); });
    count(outcome, name, true, &row);
    if (outcome.kind != Outcome::kLoaded) row.mistakes.push_back(std::string(name) + ": " + outcome.text);
    put();
    ++row.unprotected_tried;  // tried in one process by its path, and then loaded by its path
    (void)on_host([&] { return load_unprotected(path); }, kUnprotectedLimit);
    row.unprotected_hurt += on_host([&] { return load_unprotected(path); }, kUnprotectedLimit).kind != Outcome::kLoaded;
  }
  return row;
}

Row attack_truncations(size_t step) {
  Row row{.attack = "truncations"};
  const Place place;
  const std::string bytes = specimen_bytes(), mark = place.home / "mark";
  ::setenv("TENON_SPECIMEN_MARK", mark.c_str(), 1);
  constexpr size_t kCuts = 200;
  for (size_t i = 0; i < kCuts; i += step) {
    const std::string path = place.directory.write("cut.so", bytes.substr(0, bytes.size() * i / kCuts));
    const Outcome outcome = on_host([] { return load_by_name("cut").status().message(); });
    count(outcome, "cut " + std::to_string(i), false, &row);
    if (outcome.kind != Outcome::kRefused || !contains(outcome.text, path + ": is "))
      row.mistakes.push_back("cut " + std::to_string(i) + ": " + outcome.text);
    if (place.home.has("mark")) row.mistakes.push_back("cut " + std::to_string(i) + ": its code has run");
    try_unprotected(path, &row);
    std::filesystem::remove(mark);
  }
  return row;
}

// Half of them where the dynamic linker reads, half anywhere.
Row attack_flips(size_t step) {
  Row row{.attack = "flipped bytes"};
  const Place place;
  std::string bytes = specimen_bytes();
  const uint64_t headers = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) * elf_header(bytes).e_phnum;
  const Elf64_Phdr dynamic = segment(bytes, PT_DYNAMIC);
  constexpr size_t kFlips = 1024;
  for (size_t i = 0; i < kFlips; i += step) {
    const size_t at = i < 384   ? i * headers / 384
                      : i < 512 ? dynamic.p_offset + (i - 384) * dynamic.p_filesz / 128
                                : (i - 512) * bytes.size() / 512;
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1u << (i * 5 % 8)));
    const std::string what = "byte " + std::to_string(at), path = place.directory.write("specimen.so", flipped);
    const Outcome outcome = on_host([] {
      set_probe_limit(std::chrono::milliseconds(500));
      return load_by_name("specimen").status().message();
    });
    count(outcome, what, true, &row);
    if (outcome.kind == Outcome::kRefused && !contains(outcome.text, path + ": "))
      row.mistakes.push_back(what + " is not refused by name: " + outcome.text);
    try_unprotected(path, &row);
  }
  return row;
}

}  // namespace tenon::attack
