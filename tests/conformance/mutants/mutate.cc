// Writes sources in which every mutant of a list is present and one is chosen at run time.
//
//   mutate LIST OUT_DIR SOURCE..     OUT_DIR gets a changed copy of each source, of a header tenon/plugin/x.h or
//                                    runtime/x.h under that name, mutants.txt with a line "name tests" for each mutant
//                                    of which tests fail, and races.txt of those that the thread sanitizer is to catch
//
// An entry of the list:
//   mutant: pad-low-one-more         its name, which TENON_MUTANT chooses; *: the change is always made
//   caught: op/pad/                  a regular expression: the tests that must fail; races: those in which it must report
//   file: pad.cc                     where
//   behind: const int low = 0;       where the next text occurs more than once: the first behind this one
//   - low + i                        a text that occurs once in the file: an expression, or statements that end in ;
//   + low + i + 1                    what stands there in the mutant; empty: nothing, of statements
// Several entries may change the same text. Entries of one name are one mistake in several places: the first says what
// catches it. Lines that start with # are comments.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Mutant {
  std::string name, caught, races, file, behind, from, to;
  bool always() const { return name == "*"; }
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path.string() + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

// The text after `key` when the line starts with it.
bool take(const std::string& line, const std::string& key, std::string& to) {
  if (line.compare(0, key.size(), key) != 0) return false;
  to = line.substr(key.size());
  return true;
}

std::vector<Mutant> read_list(const fs::path& path) {
  std::istringstream in(read_file(path));
  std::vector<Mutant> mutants;
  std::string text, line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    if (take(line, "mutant: ", text))
      mutants.push_back({text, {}, {}, {}, {}, {}, {}});
    else if (mutants.empty())
      throw std::runtime_error(path.string() + ": line " + std::to_string(number) + " is before the first mutant");
    else if (take(line, "caught: ", text))
      mutants.back().caught = text;
    else if (take(line, "races: ", text))
      mutants.back().races = text;
    else if (take(line, "file: ", text))
      mutants.back().file = text;
    else if (take(line, "behind: ", text))
      mutants.back().behind = text;
    else if (take(line, "- ", text))
      mutants.back().from += (mutants.back().from.empty() ? "" : "\n") + text;
    else if (take(line, "+ ", text))
      mutants.back().to += (mutants.back().to.empty() ? "" : "\n") + text;
    else if (line != "+")
      throw std::runtime_error(path.string() + ": line " + std::to_string(number) +
                               " is none of mutant, caught, races, file, behind, - and +");
  }
  return mutants;
}

// From 1; entries of one name have one.
size_t number_of(const std::vector<Mutant>& mutants, const std::string& name) {
  const auto first = std::find_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return m.name == name; });
  return static_cast<size_t>(first - mutants.begin()) + 1;
}

using Choices = std::vector<std::pair<size_t, const Mutant*>>;  // with their numbers, from 1

// `from`, and in its place the texts of its mutants while they are chosen.
std::string choice(const std::string& from, const Choices& mutants) {
  if (mutants[0].second->always()) return mutants[0].second->to;
  const bool statements = from.back() == ';' || from.back() == '}';
  std::string out = statements ? "" : "(";
  for (const auto& [index, mutant] : mutants) {
    const std::string &to = mutant->to, test = "tenon_mutant == " + std::to_string(index);
    out += statements ? "if (" + test + ") { " + to + " } else " : test + " ? (" + to + ") : ";
  }
  return out + (statements ? "{ " + from + " }" : "(" + from + "))");
}

// Where the mutant's text begins: there once, or first behind another that is there once.
size_t place_in(const std::string& text, const Mutant& m) {
  const auto refuse = [&](const char* why) { throw std::runtime_error("mutant " + m.name + ": " + why + m.file); };
  const auto once = [&](const std::string& part) {
    const size_t place = part.empty() ? std::string::npos : text.find(part);
    if (place == std::string::npos) refuse("its text is not in ");
    if (text.find(part, place + 1) != std::string::npos) refuse("its text is more than once in ");
    return place;
  };
  if (m.behind.empty()) return once(m.from);
  const size_t place = text.find(m.from, once(m.behind) + m.behind.size());
  if (place == std::string::npos) refuse("its text is not behind the other in ");
  return place;
}

std::string mutated(std::string text, const std::string& file, const std::vector<Mutant>& mutants) {
  std::map<size_t, Choices> sites;  // by place
  for (size_t i = 0; i < mutants.size(); ++i)
    if (mutants[i].file == file) sites[place_in(text, mutants[i])].emplace_back(number_of(mutants, mutants[i].name), &mutants[i]);
  size_t end = text.size();
  for (auto it = sites.rbegin(); it != sites.rend(); ++it) {  // from the end, so that places stay what they are
    const Mutant& first = *it->second[0].second;
    for (const auto& [index, mutant] : it->second)
      if (mutant->from != first.from || it->first + first.from.size() > end)
        throw std::runtime_error("mutant " + mutant->name + ": its text overlaps another's in " + file);
    text.replace(it->first, first.from.size(), choice(first.from, it->second));
    end = it->first;
  }
  return sites.empty() ? text : "extern int tenon_mutant;\n" + text;
}

// Defines tenon_mutant, from the environment.
std::string chooser(const std::vector<Mutant>& mutants) {
  std::string out =
      "#include <cstdlib>\n#include <cstring>\nextern int tenon_mutant;\nstatic int chosen() {\n"
      "  const char* name = std::getenv(\"TENON_MUTANT\");\n  if (!name) return 0;\n";
  for (size_t i = 0; i < mutants.size(); ++i)
    out += "  if (!std::strcmp(name, \"" + mutants[i].name + "\")) return " + std::to_string(i + 1) + ";\n";
  return out + "  std::abort();  // no such mutant\n}\nint tenon_mutant = chosen();\n";
}

// Where a source's copy goes: headers of the SDK are included by the end of their path.
fs::path place_of(const fs::path& source) {
  if (source.extension() != ".h") return source.filename();
  const std::string path = source.string();
  for (const char* folder : {"tenon/plugin/", "runtime/"})
    if (const size_t at = path.rfind(folder); at != std::string::npos) return path.substr(at);
  return source.filename();
}

int run(const fs::path& list, const fs::path& out, const std::vector<fs::path>& sources) {
  const std::vector<Mutant> mutants = read_list(list);
  std::map<std::string, bool> known;
  for (const fs::path& source : sources) {
    const std::string file = source.filename().string();
    write_file(out / place_of(source), mutated(read_file(source), file, mutants));
    known[file] = true;
  }
  std::string names, races;
  for (const Mutant& m : mutants) {
    if (!known[m.file]) throw std::runtime_error("mutant " + m.name + ": there is no source " + m.file);
    if (!m.caught.empty()) names += m.name + " " + m.caught + "\n";
    if (!m.races.empty()) races += m.name + " " + m.races + "\n";
  }
  write_file(out / "chooser.cc", chooser(mutants));
  write_file(out / "mutants.txt", names);
  write_file(out / "races.txt", races);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: mutate LIST OUT_DIR SOURCE..\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mutate: %s\n", e.what());
    return 1;
  }
}
