#include "mutants.h"

#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

namespace tenon::conformance {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> fields;
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

// The modes in "1=..|2=..", as bits; the text of one may have a bar.
unsigned modes_of(const std::string& text) {
  unsigned modes = 0;
  std::istringstream in(text);
  for (std::string mode; std::getline(in, mode, '|');)
    if (mode.size() > 1 && mode[0] >= '1' && mode[0] <= '7' && mode[1] == '=') modes |= 1u << (mode[0] - '0');
  return modes;
}

}  // namespace

std::string name_of(const Mutant& m) { return std::to_string(m.first) + ":" + std::to_string(m.second); }

std::string names_of(const Mutants& mutants) {
  std::string names;
  for (const Mutant& m : mutants) names += (names.empty() ? "" : ",") + name_of(m);
  return names;
}

std::vector<Site> read_sites(const std::string& path, const std::string& regex, size_t* count) {
  std::ifstream in(path);
  std::vector<Site> sites;
  const std::regex chosen(regex);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() < 6) throw std::runtime_error(path + ": a line has too few fields");
    const Site site{std::stoi(fields[0]), modes_of(fields[5])};
    *count = std::max(*count, static_cast<size_t>(site.number) + 1);
    if (regex.empty() || std::regex_search(line, chosen)) sites.push_back(site);
  }
  return sites;
}

Mutants listed_in(const std::string& path, const Mutants& mutants, bool are_listed) {
  std::ifstream in(path);
  std::set<std::string> listed;
  for (std::string line; std::getline(in, line);) listed.insert(line);
  Mutants out;
  for (const Mutant& m : mutants)
    if ((listed.count(name_of(m)) != 0) == are_listed) out.push_back(m);
  return out;
}

Results::Results(const std::string& path) {
  bool whole = true;
  {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      whole = !in.eof();
      std::istringstream fields(line);
      Mutant m;
      std::string outcome, tried, reach, said;
      if (!(fields >> m.first >> m.second >> outcome >> tried >> reach) || !whole) continue;
      fields.get();  // the tab
      std::getline(fields, said);
      note(m, outcome, said);
    }
  }
  out_.open(path, std::ios::app);
  if (!whole) out_ << '\n';
}

void Results::note(const Mutant& mutant, const std::string& outcome, const std::string& said) {
  known_[mutant] = outcome;
  if (outcome == "caught") catchers_[mutant] = said.substr(0, said.find(": "));
}

void Results::add(const Mutant& m, const std::string& outcome, size_t tried, size_t reach, const std::string& said) {
  note(m, outcome, said);
  out_ << m.first << '\t' << m.second << '\t' << outcome << '\t' << tried << '\t' << reach << '\t' << said << std::endl;
}

}  // namespace tenon::conformance
