// write_specification HEADER DOCUMENT: writes tenon/op/spec.h and op-specification.md from the table of ops.
#include <fstream>

#include "op/specification.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ofstream header(argv[1]), document(argv[2]);
  header << tenon::op::c_header();
  document << tenon::op::document();
  return header.flush() && document.flush() ? 0 : 1;
}
