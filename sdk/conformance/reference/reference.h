// The meaning of every primitive op, as one naive loop in f64 (C++17, needs the sdk headers alone).
//
// Read the family files (elementwise.cc, movement.cc, reduction.cc, contraction.cc, random.cc, collective.cc)
// as the specification; a backend is right if it differs by no more than error_bound.h allows.
// Everything here is a pure function: any thread may call it on tensors that nobody is changing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/op.h"
#include "tenon/plugin/graph.h"

namespace tenon::reference {

// A dense row-major value. Floats of any width lie in `f`; integers, u8 and bool (0 or 1) lie in `i`. The
// other vector is empty.
struct Tensor {
  int32_t dtype = 0;  // tenon_dtype
  std::vector<int64_t> dims;
  std::vector<double> f;
  std::vector<int64_t> i;
};

// What becomes of float results between nodes.
enum class Rounding {
  kExact,  // they stay f64 whatever dtype is declared: for checks of gradients by differences
  kDtype   // each is rounded once a node to its declared dtype: what a device does
};

// REQUIRED: every dimension is at least 1 (there are no empty values); throws std::invalid_argument.
Tensor zeros(int32_t dtype, const std::vector<int64_t>& dims);
int64_t elements(const Tensor& x);

// `data` holds the elements dense, in the dtype's own bytes; to_bytes rounds floats to nearest even.
Tensor from_bytes(int32_t dtype, const std::vector<int64_t>& dims, const void* data);
std::vector<uint8_t> to_bytes(const Tensor& x);

// x rounded to the float dtype: nearest, halves to even, overflow to infinity, subnormals kept.
double round_to(int32_t dtype, double x);
// Rounds every float of x to x.dtype; leaves integers alone.
void round_to_dtype(Tensor& x);
// Distance between the float dtype's neighbours at the finite x: one ulp.
double spacing(int32_t dtype, double x);
// The smallest normal number of the float dtype.
double smallest_normal(int32_t dtype);

// The names of all 44 primitives.
std::vector<std::string_view> primitives();
bool is_primitive(std::string_view op);

// Computes one node. `in` holds one tensor an operand, of the declared dtype and dims; floats are taken as
// they are, and results are not rounded. Returns what is wrong, or an empty string.
// constant is no node but an entry of the graph's constants.
std::string evaluate_node(const plugin::NodeView& node, const std::vector<const Tensor*>& in, std::vector<Tensor>& out);

// Runs a graph of primitives once on one replica. `inputs` are in the order of the graph's inputs, scalars
// among them; `results` in the order of its results. Returns what is wrong, with the node's name, or an
// empty string.
std::string evaluate_graph(const tenon_graph& graph, const std::vector<Tensor>& inputs, Rounding rounding,
                           std::vector<Tensor>& results);

}  // namespace tenon::reference
