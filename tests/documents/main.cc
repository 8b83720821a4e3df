// Runs one block of a document:  documents_test DOCUMENT:LINE
#include <cstdio>
#include <exception>

#include "documents/registered.h"

int main(int argc, char** argv) {
  const auto found = documents::blocks().find(argc == 2 ? argv[1] : "");
  if (found == documents::blocks().end()) return std::fprintf(stderr, "documents_test: no such block\n"), 2;
  try {
    found->second();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
  return 0;
}
