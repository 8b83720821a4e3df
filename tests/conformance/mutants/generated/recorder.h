// Between a program that tries mutants and the library of them, which both find at the address in TENON_MUTANT_RECORDER:
// a backend exports nothing beside its one entry.
#pragma once

#include <sys/types.h>

#include <cstdint>

// A row has a byte for each site: bit 0 is set where it is reached, bit m where mode m changes the value that is there.
struct Recorder {
  uint8_t* modes;                // that each site has at all
  uint8_t* row_of_loading;       // for what is reached before record() is called
  pid_t process;                 // that has loaded the library, which then sets:
  void (*record)(uint8_t* row);  // from here on what is reached goes to this row
};
