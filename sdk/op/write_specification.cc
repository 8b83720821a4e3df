// write_specification HEADER DOCUMENT PROMISE: writes tenon/op/spec.h, op-specification.md and ops.txt from the table of ops.
#include <fstream>

#include "op/specification.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto write = [](const char* path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    return static_cast<bool>(file.flush());
  };
  return write(argv[1], tenon::op::c_header()) && write(argv[2], tenon::op::document()) &&
                 write(argv[3], tenon::op::promise())
             ? 0
             : 1;
}
