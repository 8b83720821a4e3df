// loader_attack [--verbose]: attacks the loader and prints the table; 0 when it held.
// loader_attack --row 17|18 SECONDS: a part of it, as a row of tests/trust.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attack.h"
#include "unit/backend/plugin_testing.h"

namespace tenon::attack {
namespace {

constexpr double kSecondsOfAll = 120;  // what row 17 takes where the machine is busy

int mistakes_of(const std::vector<Row>& rows, bool verbose) {
  int mistakes = 0;
  for (const Row& row : rows) {
    for (const std::string& line : row.log)
      if (verbose) std::fprintf(stderr, "%s: %.300s\n", row.attack.c_str(), line.c_str());
    for (const std::string& line : row.mistakes)
      std::fprintf(stderr, "WRONG %s: %s\n", row.attack.c_str(), line.c_str());
    mistakes +=
        static_cast<int>(row.mistakes.size()) + (row.unprotected_hurt == 0);  // what hurts nobody proves nothing
  }
  return mistakes;
}

void print_table(const std::vector<Row>& rows, int mistakes) {
  std::printf("%-14s %6s %8s %9s %18s %11s   %s\n", "attack", "tried", "refused", "harmless", "loaded, wrongly",
              "hosts lost", "without protection");
  for (const Row& row : rows)
    std::printf("%-14s %6d %8d %9d %18d %11d   %d of %d hurt\n", row.attack.c_str(), row.tried, row.refused,
                row.harmless, row.wrong, row.lost, row.unprotected_hurt, row.unprotected_tried);
  std::printf("%d mistakes\n", mistakes);
}

Row sum(const std::vector<Row>& rows) {
  Row all;
  for (const Row& row : rows) {
    all.refused += row.refused, all.harmless += row.harmless, all.wrong += row.wrong, all.lost += row.lost;
    all.unprotected_hurt += row.unprotected_hurt, all.unprotected_tried += row.unprotected_tried;
  }
  return all;
}

int row_17(double seconds) {
  const auto step = static_cast<size_t>(std::clamp(std::ceil(kSecondsOfAll / std::max(seconds, 1.0)), 1.0, 16.0));
  const std::vector<Row> rows = {attack_libraries(), attack_changing_files(), attack_truncations(step),
                                 attack_flips(step)};
  const int mistakes = mistakes_of(rows, false);
  const Row all = sum(rows);
  std::printf(
      "row 17: the host survives every bad plugin, and one line names path and cause | asked: >= 60 bad plugins, 200 "
      "truncations, 1,024 byte flips | seen: %d plugins, %d files that change as they are loaded, %d truncations, %d "
      "flips: %d refused in a line, %d loaded and harmless, %d loaded wrongly, %d hosts lost, %d mistakes | control: "
      "plain dlopen and the same calls, %d of %d hosts lost\n",
      rows[0].tried, rows[1].tried, rows[2].tried, rows[3].tried, all.refused, all.harmless, all.wrong, all.lost,
      mistakes, all.unprotected_hurt, all.unprotected_tried);
  return mistakes ? 1 : 0;
}

int row_18() {
  const std::vector<Row> rows = {attack_search_path()};
  const int mistakes = mistakes_of(rows, false);
  std::printf(
      "row 18: nothing is loaded that another user could have put there | asked: 12 hijack attempts, 0 loads | seen: "
      "%d "
      "attempts, %d loads, %d hosts lost, %d mistakes | control: a loader that looks everywhere and asks nothing, %d "
      "of "
      "%d attempts loaded\n",
      rows[0].tried, rows[0].wrong, rows[0].lost, mistakes, rows[0].unprotected_hurt, rows[0].unprotected_tried);
  return mistakes ? 1 : 0;
}

int table(bool verbose) {
  const std::vector<Row> rows = {attack_libraries(), attack_changing_files(), attack_truncations(kSanitized ? 5 : 1),
                                 attack_flips(kSanitized ? 32 : 1), attack_search_path()};
  const int mistakes = mistakes_of(rows, verbose);
  print_table(rows, mistakes);
  return mistakes ? 1 : 0;
}

}  // namespace
}  // namespace tenon::attack

int main(int argc, char** argv) {
  using namespace tenon::attack;
  if (argc == 4 && std::strcmp(argv[1], "--row") == 0)
    return std::strcmp(argv[2], "17") == 0 ? row_17(std::atof(argv[3])) : row_18();
  return table(argc > 1 && std::strcmp(argv[1], "--verbose") == 0);
}
