// The public functions that build models, each with arguments that it takes and, one at a time, such as it must refuse.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon::public_arguments {

inline constexpr int64_t kLeast = INT64_MIN, kMost = INT64_MAX, kLarge = int64_t{1} << 62;

// The arguments of one call, asked for in order. All are good but number `slot`, which is wrong in way `which`; with a slot
// of -1 all are good and are counted.
class Arguments {
 public:
  Arguments(int slot, int which) : slot_(slot), which_(which) {}

  Graph& graph() { return graph_; }
  // A feed; `wrong` dtypes are not taken. `exact`: neither is another rank or size.
  Tensor tensor(DType dtype, const Shape& shape, const std::vector<DType>& wrong, bool exact = false);
  Tensor floats(const Shape& shape, bool exact = false);   // f32; no bool, no i32
  Tensor numbers(const Shape& shape, bool exact = false);  // f32; no bool
  Tensor indices(const Shape& shape, bool exact = false);  // i32; no f32, no bool
  Tensor classes(const Shape& shape, bool exact = false);  // i32; no bool, and no bf16, which has not all of them
  Tensor any(const Shape& shape, bool exact = false);
  // f32, of no other rank; no bool, and no i32 unless it is a number like others.
  Tensor ranked(const Shape& shape, bool or_integers = false);
  int64_t number(int64_t good, const std::vector<int64_t>& bad);
  int count(int good) { return static_cast<int>(number(good, {-1, INT32_MIN})); }  // 0 or more
  int64_t size(int64_t good);                                  // 1 or more, and such that a product of it is no number
  int64_t axis(int64_t good);                                  // far out of range otherwise
  double within(double good, const std::vector<double>& bad);  // NaN and infinity are bad too
  double finite(double good) { return within(good, {}); }
  double positive(double good) { return within(good, {0, -1}); }
  double rate(double good) { return within(good, {-0.5, 1, 2}); }  // 0 to less than 1
  double no_nan(double good);                                      // infinity is one
  Ints list(const Ints& good, const std::vector<Ints>& bad);
  Shape shape(const Shape& good, const std::vector<Ints>& bad);
  const char* word(const char* good, const char* bad) { return number(0, {1}) == 0 ? good : bad; }
  template <class Enum>
  Enum one_of(Enum good) {
    return static_cast<Enum>(number(static_cast<int64_t>(good), {-1, 77}));
  }

  const std::vector<int>& ways() const { return ways_; }  // of each slot asked for so far
  const std::string& changed() const { return changed_; }

 private:
  Tensor feed(DType dtype, const Shape& shape, const std::vector<DType>& wrong, int other_shapes);
  // Counts a slot of `n` wrong ways; the way to take, or -1 for the good one.
  int next(int n);

  Graph graph_;
  int slot_, which_;
  std::vector<int> ways_;
  std::string changed_;
};

struct Function {
  const char* name;
  void (*call)(Arguments&);
};

const std::vector<Function>& op_functions();
const std::vector<Function>& layer_functions();
const std::vector<Function>& sequence_functions();   // recurrent layers, noise, sums of products
const std::vector<Function>& image_functions();      // preparation and augmentation
const std::vector<Function>& loss_functions();       // and metrics as functions
const std::vector<Function>& optimizer_functions();  // and schedules, initializers, constraints
const std::vector<Function>& metric_functions();     // Keras's classes
const std::vector<Function>& callback_functions();   // and hooks
const std::vector<Function>& training_functions();   // models, compile, fit, evaluate, predict, strategies, data

}  // namespace tenon::public_arguments
