// Which process of a job this one is, as the environment of its launcher says.
#pragma once

#include <functional>
#include <string>

#include "tenon/status.h"

namespace tenon {

struct Job {
  int rank = 0, count = 1;
  std::string launcher = {};  // "mpirun"; empty: none
};

// Read once.
const Job& job();

// Where processes decide by what is not the same for all, the clock or files, process 0 decides for all of them: its value. They
// all ask together. The value itself, and nothing to wait for, until they have met (core/exchange). Throws Error where
// one of them is gone.
bool as_first_says(bool value);
// What one process does for all, as writing a file: process 0 does it, the others wait for it. Its status, in all of them.
Status as_first_does(const std::function<Status()>& work);

// Whether they have met.
bool processes_have_met();

// Set once they have met.
struct Meeting {
  bool (*first_says)(bool value) = nullptr;
  Status (*first_does)(const std::function<Status()>& work) = nullptr;
};
void set_meeting(Meeting meeting);

}  // namespace tenon
