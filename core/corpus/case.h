// From a few lines about an op to a case of the conformance suite's corpus (sdk/conformance/corpus/corpus.h).
//
// Everything throws tenon::Error naming the case.
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "conformance/corpus/corpus.h"
#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon::corpus {

using conformance::Case;
using conformance::Fill;
using Cases = std::vector<Case>;
using Doubles = std::vector<double>;

// An input of a case's graph.
struct Input {
  Type type;
  Fill fill;
  Role role = Role::kFeed;
};
using Inputs = std::vector<Input>;

// Floats in [low, high), integers there too, bools by the sign.
Input uniform(DType dtype, const Shape& shape, uint64_t seed, double low = -2, double high = 2);
// Whatever a dtype holds, for ops that only move it: uniform in [-100, 100), u8 in [0, 100).
inline Input any(DType t, const Shape& s, uint64_t seed = 1) {
  return uniform(t, s, seed, t == DType::kU8 ? 0 : -100, 100);
}
// Powers of two and what lies beside them, for integers.
Input powers(DType dtype, const Shape& shape, uint64_t seed);
// `values` over and over.
Input values(DType dtype, const Shape& shape, Doubles values);
// Rank 0.
Input one(DType dtype, double value, Role role = Role::kFeed);
// Scalars and states of the names that minimize() gives them.
inline Input seed_of(double value) { return one(DType::kI64, value, Role::kScalar); }
inline Input step_of(double value) { return one(DType::kI64, value, Role::kState); }

using Build = std::function<Tensors(const Tensors& inputs)>;

// What a case is about, before it is a flat graph.
struct Definition {
  std::string op, name;
  Inputs inputs;  // those that the graph does not use are left out
  Build build;    // empty tensors among the results are left out
  double order = 0;
};

// Contractions of f32 whose precision is DEFAULT or HIGH get HIGHEST, so that no backend has a licence to round their
// operands and the reference's bound is that of f32.
void ask_for_f32(Graph& graph);

// The whole of a case that `graph` is about: verifies, flattens, lowers, decomposes. `inputs`: one a graph input.
// Fills in all graphs but `forward`.
void set_graphs(Case& c, Graph graph);

// The graph and the inputs of a definition. Inputs are named x0, x1, ...
Tensors add_inputs(Graph& graph, const Inputs& inputs);
Case op_case(const Definition& definition);
// The same with precisions as they are.
Case op_case_as_built(const Definition& definition);
// One whose result r is the next value of input state[r].
Case state_case(Case::Kind kind, const Definition& definition, uint32_t steps, const std::vector<int>& state);
inline void add_op(Cases& cases, const Definition& definition) { cases.push_back(op_case(definition)); }

plugin::FlatGraph flat(const Graph& graph);

constexpr DType kFloats[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64};
constexpr DType kNumbers[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32, DType::kI64};
constexpr DType kAll[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                          DType::kI32, DType::kI64,  DType::kU8,  DType::kBool};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline std::string name_of(const Type& type) { return type.str(); }
template <std::same_as<Input> I>  // braces mean a type
std::string name_of(const I& input) {
  return input.type.str();
}

}  // namespace tenon::corpus
