// The loader under attack: each attempt has a host process of its own, which either survives and says in
// one line why it loaded nothing, or not.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tenon::attack {

struct Outcome {
  enum Kind { kRefused, kLoaded, kLost } kind;
  std::string text;  // the refusal, or how the host ended
};

// `work` gives the refusal, "" when something was loaded. The host then ends as programs do: exit handlers and
// destructors run. A host that does not end by itself in time is lost too.
Outcome on_host(const std::function<std::string()>& work, std::chrono::milliseconds limit = std::chrono::seconds(30));

// What a program does that checks nothing: dlopen, the entry, the first call.
std::string load_unprotected(const std::string& path);

// The bytes of a backend that works, built for this machine.
std::string specimen_bytes();
std::string specimen_path(const std::string& name);
void write_file(const std::string& path, const std::string& bytes);

struct Library {
  std::string name;   // NAME.so
  std::string cause;  // part of the refusal; empty: it has to load, and do no harm
  std::function<void(const std::string& path)> make;
};

// One of each way to be bad.
std::vector<Library> bad_libraries();

// A row of the table, and what is wrong with the result.
struct Row {
  std::string attack;
  int tried = 0, refused = 0, harmless = 0, wrong = 0, lost = 0;  // wrong: loaded and should not have been
  int unprotected_tried = 0, unprotected_hurt = 0;
  std::vector<std::string> mistakes, log;
};

Row attack_libraries();
// Files that are exchanged or cut while they are loaded, by themselves: no race decides.
Row attack_changing_files();
// One of `step` of all.
Row attack_truncations(size_t step);
Row attack_flips(size_t step);
Row attack_search_path();

}  // namespace tenon::attack
