// The op set as documentation: what `tenon inspect ops` shows. Plain data that lives for ever; thread safe.
#pragma once

#include <string>
#include <vector>

namespace tenon {

struct OpSummary {
  std::string name;
  int version = 1;
  bool composite = false;  // has a decomposition into primitives, and may be taken whole
  // Operands, attributes with their defaults, results: "x:F w:F [bias:F] ; strides:list groups:i64=1 -> y".
  std::string signature;
  std::string doc;  // one paragraph
};

// All ops, primitives first.
std::vector<OpSummary> op_summaries();

}  // namespace tenon
