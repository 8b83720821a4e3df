#include <limits>

#include "public_functions.h"

namespace tenon::public_arguments {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

std::string text_of(const Ints& list) {
  std::string text = "[";
  for (const int64_t n : list) text += (text.size() > 1 ? "," : "") + std::to_string(n);
  return text + "]";
}

}  // namespace

int Arguments::next(int n) {
  const int at = static_cast<int>(ways_.size());
  ways_.push_back(n);
  return at == slot_ ? which_ : -1;
}

Tensor Arguments::feed(DType dtype, const Shape& shape, const std::vector<DType>& wrong, int other_shapes) {
  const int n = static_cast<int>(wrong.size());
  const int way = next(1 + n + other_shapes);
  const auto made = [&](DType d, const Shape& s) {
    if (way >= 0) changed_ = "argument " + std::to_string(slot_) + " of " + Type{d, s}.str();
    return Tensor(&graph_, graph_.add_input({d, s}, Role::kFeed, "x" + std::to_string(ways_.size())));
  };
  if (way < 0) return made(dtype, shape);
  if (way == 0) {
    changed_ = "argument " + std::to_string(slot_) + " missing";
    return {};
  }
  if (way <= n) return made(wrong[static_cast<size_t>(way - 1)], shape);
  Ints dims = shape.vec();
  if (way == n + 1) return made(dtype, Shape(Ints(8, 13)));
  if (way == n + 2) return made(dtype, dims.empty() ? Shape{3} : Shape{});
  dims.empty() ? dims.push_back(13) : void(dims.back() = 13);
  return made(dtype, Shape(dims));
}

Tensor Arguments::tensor(DType dtype, const Shape& shape, const std::vector<DType>& wrong, bool exact) {
  return feed(dtype, shape, wrong, exact ? 3 : 0);
}
Tensor Arguments::ranked(const Shape& shape, bool or_integers) {
  std::vector<DType> wrong = {DType::kBool};
  if (!or_integers) wrong.push_back(DType::kI32);
  return feed(DType::kF32, shape, wrong, 2);
}
Tensor Arguments::floats(const Shape& shape, bool exact) {
  return tensor(DType::kF32, shape, {DType::kBool, DType::kI32}, exact);
}
Tensor Arguments::numbers(const Shape& shape, bool exact) { return tensor(DType::kF32, shape, {DType::kBool}, exact); }
Tensor Arguments::indices(const Shape& shape, bool exact) {
  return tensor(DType::kI32, shape, {DType::kF32, DType::kBool}, exact);
}
Tensor Arguments::classes(const Shape& shape, bool exact) {
  return tensor(DType::kI32, shape, {DType::kBF16, DType::kBool}, exact);
}
Tensor Arguments::any(const Shape& shape, bool exact) { return tensor(DType::kF32, shape, {}, exact); }

int64_t Arguments::number(int64_t good, const std::vector<int64_t>& bad) {
  const int way = next(static_cast<int>(bad.size()));
  if (way < 0) return good;
  const int64_t taken = bad[static_cast<size_t>(way)];
  changed_ = "argument " + std::to_string(slot_) + " = " + std::to_string(taken);
  return taken;
}
int64_t Arguments::size(int64_t good) { return number(good, {0, -1, kLeast, kMost, kLarge}); }
int64_t Arguments::axis(int64_t good) { return number(good, {9, -9, kLeast, kMost, int64_t{1} << 32}); }

double Arguments::no_nan(double good) {
  const int way = next(1);
  if (way >= 0) changed_ = "argument " + std::to_string(slot_) + " = NaN";
  return way < 0 ? good : kNaN;
}
double Arguments::within(double good, const std::vector<double>& bad) {
  std::vector<double> all = {kNaN, kInf, -kInf};
  all.insert(all.end(), bad.begin(), bad.end());
  const int way = next(static_cast<int>(all.size()));
  if (way < 0) return good;
  changed_ = "argument " + std::to_string(slot_) + " = " + std::to_string(all[static_cast<size_t>(way)]);
  return all[static_cast<size_t>(way)];
}

Ints Arguments::list(const Ints& good, const std::vector<Ints>& bad) {
  const int way = next(static_cast<int>(bad.size()));
  if (way < 0) return good;
  changed_ = "argument " + std::to_string(slot_) + " = " + text_of(bad[static_cast<size_t>(way)]);
  return bad[static_cast<size_t>(way)];
}
Shape Arguments::shape(const Shape& good, const std::vector<Ints>& bad) { return Shape(list(good.vec(), bad)); }

}  // namespace tenon::public_arguments
