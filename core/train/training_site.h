// What hooks that measure see of the training that they are in.
#pragma once

#include "compile/compile.h"
#include "step/feed/host_watch.h"

namespace tenon {

struct TrainingSite {
  const Executable& program;
  bool traced;                 // the program was compiled so
  HostWatch* watch = nullptr;  // set by a hook; borrowed
};

}  // namespace tenon
