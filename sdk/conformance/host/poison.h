// A program whose every intermediate is NaN: what it leaves in a workspace shared among programs shows in the
// result of one that reads what it has not written.
#pragma once

#include <memory>

#include "conformance/host/subject.h"

namespace tenon::conformance {

struct Subject::Poison {
  Queue queue;
  Program program;
  Buffer input, result;

  // With intermediates of about `bytes`; null if the backend cannot compile it.
  static std::unique_ptr<Poison> make(Subject& subject, tenon_device* device, uint64_t bytes);
  void run();
};

}  // namespace tenon::conformance
