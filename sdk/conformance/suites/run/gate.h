// Work that is held back until a test lets it go, so that what must wait for it shows whether it does.
#pragma once

#include <memory>

#include "conformance/suites/support.h"

namespace tenon::conformance {

// Memory of the host that a copy is made from: who touches it waits until it is opened. A queue that such a copy was
// submitted to is held from there on. Where the copy is made on the thread that submits it there is nothing to hold: the
// memory opens at once. At most kMost live at a time.
class Gate {
 public:
  static constexpr int kMost = 16;

  explicit Gate(const Floats& values);
  // Opens, so that nothing is left waiting. REQUIRED: copies from it are done or end with their queue, which comes first.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  const void* memory() const;
  uint64_t bytes() const;

  void open();
  // Whether it was opened by anybody.
  bool is_open() const;
  // Opens once every other thread of the process waits: whoever was to be held is, and who was not has done its worst.
  void open_when_all_wait();
  // Opens after so long, for a test in which somebody waits who should not.
  void open_after(double seconds);

 private:
  struct Watch;
  struct Slot;
  Slot* slot_;
  uint64_t bytes_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace tenon::conformance
