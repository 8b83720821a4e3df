// Samples that a backend takes: what is drawn is more than any backend has to have.
#pragma once

#include "conformance/host/lowering.h"
#include "conformance/sample/sampler.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {

// Calls check(k, drawn) for each k of [first, first + count) whose graph, as draw(k) gives it, the backend takes.
// Unsupported where it takes none.
template <class Draw, class Check>
void each_taken(Subject& subject, uint32_t first, uint32_t count, Draw draw, Check check) {
  Unsupported refusal;
  bool taken = false;
  for (uint32_t k = first; k < first + count; ++k) {
    Drawn drawn = draw(k);
    try {
      require_taken(subject, subject.device(), *drawn.graph.graph());
    } catch (const Unsupported& u) {
      refusal = u;
      continue;
    }
    taken = true;
    check(k, std::move(drawn));
  }
  if (!taken) throw refusal;
}

}  // namespace tenon::conformance
