// Where backends are looked for (the list and its order: tenon/devices.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/devices.h"

namespace tenon {

struct SearchPath {
  std::vector<std::string> directories;  // absolute; trusted, or missing
  std::vector<Refusal> refusals;         // entries that may not be searched
};

// Reads the environment and the file system anew each time.
SearchPath search_path();

// A file NAME.so of a search directory.
struct Candidate {
  std::string name, path;
};

// All of them, the first of each name; later ones are refused. Sorted by name within a directory.
std::vector<Candidate> find_candidates(const SearchPath& search, std::vector<Refusal>* refusals);

// The path of NAME.so in the first directory that has one, or "".
std::string find_candidate(const SearchPath& search, std::string_view name);

// Letters, digits, '-', '_', '.', not first '.' or '-': what a backend may be called.
bool is_backend_name(std::string_view name);

}  // namespace tenon
