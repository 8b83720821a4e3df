// Between a program that records what tests reach and the library, which both find at the address in TENON_MUTANT_RECORDER:
// a backend exports nothing beside its one entry.
#pragma once

#include <sys/types.h>

#include <cstdint>

struct Recorder {
  uint8_t* row_of_loading;
  pid_t process;                 // that has loaded the library, which then sets:
  void (*record)(uint8_t* row);  // from here on what is reached goes to this row
};
