#include "corpus/corpus.h"

#include <set>

#include "base/text.h"

namespace tenon::corpus {

Cases all_cases() {
  Cases cases;
  add_elementwise_cases(cases);
  add_movement_cases(cases);
  std::set<std::string> names;
  for (const Case& c : cases)
    if (!names.insert(cat(static_cast<int>(c.kind), " ", c.op, " ", c.name)).second) fail(c.op, " '", c.name, "' is there twice");
  return cases;
}

}  // namespace tenon::corpus
