// Shapes and values by chance: what nobody thought of, the same for the same seed.
//
// Sizes lie where kernels branch (1, 2, around powers of two, primes), values where arithmetic does (zeros of both signs,
// infinities, ties of a rounding, the ends of integers and what a double no longer tells apart). Everything here throws
// std::runtime_error or nothing.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/reference/reference.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::conformance {

// What the elements of a tensor are like. Integers, u8 and bools know plain and extreme ones alone.
enum class Values {
  kPlain,     // in [-2, 2), integers in [-9, 9]
  kModerate,  // from 2^-14 to 2^7, each power as often, either sign: where functions change from one formula to another
  kMagnitude,  // of all magnitudes that are normal in the dtype, either sign; integers: the ends, powers of two and
               // what lies beside them
  kEdges,      // among plain ones: zeros of both signs, infinities, NaN; integers: as kMagnitude
  kZeros,      // many zeros among plain ones, nothing that is not finite
  kTies,       // few different ones, so that many are equal
  kBits        // of kEdges, and subnormals: for what only moves
};

class Sampler {
 public:
  // Numbers of a test: `what` is its name, `sample` counts on.
  Sampler(uint64_t seed, std::string_view what, uint64_t sample);

  uint64_t bits();                             // 64 at random
  int64_t below(int64_t n);                    // in [0, n)
  int64_t between(int64_t low, int64_t high);  // both included
  bool chance(int64_t of) { return below(of) == 0; }
  double uniform(double low, double high);
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

  // A dimension of at most `most`.
  int64_t size(int64_t most = 4096);
  // Rank 0 to 8, low ones more often; at most so many elements.
  std::vector<int64_t> dims(int64_t elements = 1500);
  std::vector<int64_t> dims_of_rank(size_t rank, int64_t elements = 1500);
  // A permutation of 0..n-1.
  std::vector<int64_t> permutation(size_t n);
  // Some of 0..n-1, increasing.
  std::vector<int64_t> some_of(size_t n);

  reference::Tensor tensor(int32_t dtype, const std::vector<int64_t>& dims, Values values);
  // Any kind of values that an op without sums or limits takes.
  Values any_values();
  // Floats that lie on, or next to, the middle between two neighbours of the narrower float dtype `to`.
  reference::Tensor near_ties(int32_t dtype, int32_t to, const std::vector<int64_t>& dims);
  // The same of integers, where `to` does not hold all of them: up to the ends of their range or of its own.
  reference::Tensor integers_near_ties(int32_t dtype, int32_t to, const std::vector<int64_t>& dims);

 private:
  double float_element(int32_t dtype, Values values);
  int64_t integer_element(int32_t dtype, Values values);
  uint64_t state_;
};

// A graph with what to feed it.
struct Drawn {
  plugin::FlatGraph graph;
  std::vector<reference::Tensor> inputs;
  std::string what;  // "f32[3,17] f32[]"
};

// A graph of one node in the making.
class Drawing {
 public:
  explicit Drawing(std::string_view op) : op_(op) {}
  uint32_t input(reference::Tensor x, bool scalar = false);
  // A value that no node defines; attributes and results follow by `builder`.
  plugin::GraphBuilder& node(const std::vector<uint32_t>& operands,
                             const std::vector<std::pair<int32_t, std::vector<int64_t>>>& results);
  Drawn finish(const std::string& attributes = {});

  plugin::GraphBuilder builder;

 private:
  std::string op_, what_;
  std::vector<uint32_t> results_;
  std::vector<reference::Tensor> inputs_;
};

std::string text_of(int32_t dtype, const std::vector<int64_t>& dims);
std::string text_of(const std::vector<int64_t>& list);

// One primitive's samples, of operands of a dtype.
struct SampledOp {
  std::string_view op;
  std::vector<int32_t> dtypes;
  std::function<Drawn(Sampler&, int32_t dtype)> draw;
};
namespace dtypes {
const std::vector<int32_t> kFloats{TENON_F32, TENON_BF16, TENON_F16, TENON_F64};
const std::vector<int32_t> kNumbers{TENON_F32, TENON_BF16, TENON_F16, TENON_F64, TENON_I32, TENON_I64};
const std::vector<int32_t> kNumbersAndBool{TENON_F32, TENON_BF16, TENON_F16, TENON_F64,
                                           TENON_I32, TENON_I64,  TENON_BOOL};
const std::vector<int32_t> kAll{TENON_F32, TENON_BF16, TENON_F16, TENON_F64,
                                TENON_I32, TENON_I64,  TENON_U8,  TENON_BOOL};
// As signatures name classes.
inline const std::vector<int32_t>& of_class(char name) {
  return name == 'F' ? kFloats : name == 'N' ? kNumbers : name == 'M' ? kNumbersAndBool : kAll;
}
}  // namespace dtypes
// Those of one element in, one element out; those that move elements; those that add up.
std::vector<SampledOp> elementwise_samples();
std::vector<SampledOp> movement_samples();
std::vector<SampledOp> sum_samples();

}  // namespace tenon::conformance
