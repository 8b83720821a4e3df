// For programs whose exit code means something: that a backend ends the process is not success.
#pragma once

namespace tenon {

// From now on exit() or quick_exit() ends the process with code 70 and a line on standard error, unless allow_exit()
// was called before: a backend's thread that exits is no end of a training. Call it first in main(). _exit() cannot be
// caught.
void guard_exit();

// The program itself is about to end. Any thread.
void allow_exit();

}  // namespace tenon
