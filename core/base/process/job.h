// Which process of a job this one is, as the environment of its launcher says.
#pragma once

#include <string>

namespace tenon {

struct Job {
  int rank = 0, count = 1;
  std::string launcher = {};  // "mpirun"; empty: none
};

// Read once.
const Job& job();

}  // namespace tenon
