// Sites and mutants, as the generator's table, lists and files of results have them.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenon::conformance {

struct Site {
  int number = 0;
  unsigned modes = 0;  // bit m: mode m has a text
};

using Mutant = std::pair<int, int>;  // site, mode
using Mutants = std::vector<Mutant>;

// "12:1", and "12:1,40:2" for TENON_MUTANT.
std::string name_of(const Mutant& mutant);
std::string names_of(const Mutants& mutants);

// The sites of the table whose lines match; *count: one more than the highest number of all. Throws std::runtime_error.
std::vector<Site> read_sites(const std::string& path, const std::string& regex, size_t* count);
// Those of the mutants that a file of lines "site:mode" names, or the others.
Mutants listed_in(const std::string& path, const Mutants& mutants, bool are_listed);

// A file to which a line is added for each mutant whose outcome is known: site, mode, outcome, the number of tests that
// tried it and of those that reach it, and "TEST: what it said" of the one that caught it.
class Results {
 public:
  // Reads what is there already; a line that was cut off is none.
  explicit Results(const std::string& path);
  bool has(const Mutant& mutant) const { return known_.count(mutant) != 0; }
  size_t size() const { return known_.size(); }
  void add(const Mutant& mutant, const std::string& outcome, size_t tried, size_t reach, const std::string& said = {});
  // The test that caught each, by its id; without those that none caught.
  const std::map<Mutant, std::string>& catchers() const { return catchers_; }

 private:
  void note(const Mutant& mutant, const std::string& outcome, const std::string& said);

  std::map<Mutant, std::string> known_, catchers_;
  std::ofstream out_;
};

}  // namespace tenon::conformance
