// loader_attack [--verbose]: attacks the loader and prints the table; 0 when it held.
#include <cstdio>
#include <cstring>

#include "attack.h"

int main(int argc, char** argv) {
  using namespace tenon::attack;
  const bool verbose = argc > 1 && std::strcmp(argv[1], "--verbose") == 0;
  const Row rows[] = {attack_libraries(), attack_truncations(), attack_flips(), attack_search_path()};
  int mistakes = 0;
  for (const Row& row : rows) {
    for (const std::string& line : row.log)
      if (verbose) std::printf("%s: %.300s\n", row.attack.c_str(), line.c_str());
    for (const std::string& line : row.mistakes) std::printf("WRONG %s: %s\n", row.attack.c_str(), line.c_str());
    mistakes += static_cast<int>(row.mistakes.size());
  }
  std::printf("%-14s %6s %8s %9s %18s %11s   %s\n", "attack", "tried", "refused", "harmless", "loaded, wrongly",
              "hosts lost", "without protection");
  for (const Row& row : rows)
    std::printf("%-14s %6d %8d %9d %18d %11d   %d of %d hurt\n", row.attack.c_str(), row.tried, row.refused,
                row.harmless, row.wrong, row.lost, row.unprotected_hurt, row.unprotected_tried);
  for (const Row& row : rows) mistakes += row.unprotected_hurt == 0;  // an attack that hurts nobody proves nothing
  std::printf("%d mistakes\n", mistakes);
  return mistakes ? 1 : 0;
}
