#include "optimizer/constrained_update.h"

#include "base/strings.h"

namespace tenon {

Tensor constrained(const Graph& graph, int variable, Tensor next) {
  const Variable& v = graph.variables[static_cast<size_t>(variable)];
  if (!v.constraint) return next;
  const std::string name = v.name;  // a constraint may add variables
  const Tensor kept = v.constraint(next);
  if (!kept || !(kept.type() == next.type()))
    fail("the constraint of '", name, "' gives ", kept ? kept.type().str() : "nothing", ", expected ",
         next.type().str());
  return kept;
}

}  // namespace tenon
