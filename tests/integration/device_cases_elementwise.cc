#include <cmath>

#include "integration/device_cases.h"

namespace tenon::device_testing {
namespace {

using op_testing::kInf;
using op_testing::kNaN;

const Shape kShapes[] = {{}, {1}, {7}, {8}, {3, 5, 7}, {1031}};

// Zeros, halves, large and small numbers, no numbers.
const Doubles kEdges{0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-30, -1e-30, 1e-3, 3.14159, -20, 20, 87, -87, 100, -100, 1e30, -1e30, kInf, -kInf, kNaN};
const Doubles kOtherEdges{kNaN, 1, 0, -0.0, -1, 2, 0.5, kInf, -kInf, 3, -3};

struct Unary {
  const char* op;
  Tensor (*f)(Tensor);
  double low, high;
  bool integers = false;
};

const Unary kUnary[] = {
    {"neg", neg, -9, 9, true},  {"abs", abs, -9, 9, true},  {"floor", floor, -9, 9},    {"round", round, -9, 9},
    {"exp", exp, -9, 9},        {"expm1", expm1, -9, 9},    {"log", log, 1e-3, 99},     {"log1p", log1p, -0.9, 9},
    {"sqrt", sqrt, 0, 99},      {"sin", sin, -9, 9},        {"cos", cos, -9, 9},        {"tanh", tanh, -9, 9},
    {"erf", erf, -4, 4},
};

void add_unary(Cases& cases) {
  for (const Unary& u : kUnary) {
    const auto f = u.f;
    const Build build = [f](const Tensors& x) { return Tensors{f(x[0])}; };
    const auto add = [&](const Feed& x) { cases.push_back({u.op, name_of(x.type), {x}, build}); };
    for (const Shape& shape : kShapes) add(random_feed(DType::kF32, shape, 1, u.low, u.high));
    for (DType t : kFloats) add(random_feed(t, {67}, 2, u.low, u.high));
    add(op_testing::of(DType::kF32, {static_cast<int64_t>(kEdges.size())}, kEdges));
    add(op_testing::of(DType::kF64, {static_cast<int64_t>(kEdges.size())}, kEdges));
    if (!u.integers) continue;
    add(repeated(DType::kI32, {19}, {0, 5, -5, 2147483647, -2147483648.0}));
    add(repeated(DType::kI64, {19}, {0, 5, -5, 9e15, -9223372036854775808.0}));
  }
}

struct Binary {
  const char* op;
  Tensor (*f)(Tensor, Tensor);
  bool integers = true, bools = false, positive = false;
};

const Binary kBinary[] = {
    {"add", add},           {"sub", sub},           {"mul", mul},
    {"div", div},           {"max", maximum, true, true}, {"min", minimum, true, true},
    {"pow", pow, false, false, true}, {"atan2", atan2, false},
};

void add_binary(Cases& cases) {
  for (const Binary& b : kBinary) {
    const auto f = b.f;
    const double low = b.positive ? 0.1 : -4;
    const Build build = [f](const Tensors& x) { return Tensors{f(x[0], x[1])}; };
    const auto add = [&](const Feed& x, const Feed& y) {
      cases.push_back({b.op, name_of(x.type) + " " + name_of(y.type), {x, y}, build});
    };
    const auto broadcasts = [&](DType t) {
      const double from = is_float(t) ? low : -40, to = is_float(t) ? 4 : 40;
      for (const Shape& shape : kShapes) add(random_feed(t, shape, 1, from, to), random_feed(t, shape, 2, from, to));
      add(random_feed(t, {}, 3, from, to), random_feed(t, {3, 67}, 4, from, to));
      add(random_feed(t, {3, 67}, 5, from, to), random_feed(t, {}, 6, from, to));
    };
    for (DType t : kFloats) broadcasts(t);
    const int64_t n = static_cast<int64_t>(kEdges.size() * kOtherEdges.size());
    add(repeated(DType::kF32, {n}, kEdges), repeated(DType::kF32, {n}, kOtherEdges));
    add(repeated(DType::kF64, {n}, kEdges), repeated(DType::kF64, {n}, kOtherEdges));
    if (b.integers) {
      for (DType t : {DType::kI32, DType::kI64}) broadcasts(t);
      add(repeated(DType::kI32, {35}, {-2147483648.0, 7, -7, 2147483647, 0}), repeated(DType::kI32, {35}, {-1, 0, 2, 100000, -3, 2147483647, 1}));
      add(repeated(DType::kI64, {35}, {-9223372036854775808.0, 7, -7, 9e18, 0}), repeated(DType::kI64, {35}, {-1, 0, 2, 100000, -3, 5e18, 1}));
    }
    if (b.bools) broadcasts(DType::kBool);
  }
}

void add_choice(Cases& cases) {
  for (int kind = 0; kind < 6; ++kind) {
    const Build build = [kind](const Tensors& x) { return Tensors{compare(x[0], x[1], static_cast<CompareKind>(kind))}; };
    const std::string name = "kind " + std::to_string(kind) + " ";
    for (DType t : kAll) {
      const double high = is_float(t) ? 2 : 3;
      const double low = t == DType::kU8 ? 0 : -high;
      for (const Shape& s : kShapes)
        cases.push_back({"compare", name + name_of({t, s}), {random_feed(t, s, 1, low, high), random_feed(t, s, 2, low, high)}, build});
      cases.push_back({"compare", name + "scalar", {random_feed(t, {}, 1, low, high), random_feed(t, {77}, 2, low, high)}, build});
      cases.push_back({"compare", name + "by scalar", {random_feed(t, {77}, 1, low, high), random_feed(t, {}, 2, low, high)}, build});
    }
    const int64_t n = static_cast<int64_t>(kEdges.size() * kOtherEdges.size());
    cases.push_back({"compare", name + "edges", {repeated(DType::kF32, {n}, kEdges), repeated(DType::kF32, {n}, kOtherEdges)}, build});
  }
  const Build choose = [](const Tensors& x) { return Tensors{select(x[0], x[1], x[2])}; };
  for (DType t : kAll) {
    const double low = t == DType::kU8 ? 0 : -9;
    const auto of = [&](const Shape& s, int seed) { return random_feed(t, s, seed, low, 9); };
    const auto c = [](const Shape& s) { return random_feed(DType::kBool, s, 9, -1, 1); };
    for (const Shape& s : kShapes) cases.push_back({"select", name_of({t, s}), {c(s), of(s, 1), of(s, 2)}, choose});
    const Shape s{5, 13};
    cases.push_back({"select", "scalar condition", {c({}), of(s, 1), of(s, 2)}, choose});
    cases.push_back({"select", "scalar a", {c(s), of({}, 1), of(s, 2)}, choose});
    cases.push_back({"select", "scalar b", {c(s), of(s, 1), of({}, 2)}, choose});
    cases.push_back({"select", "scalars", {c(s), of({}, 1), of({}, 2)}, choose});
  }
}

void add_casts(Cases& cases) {
  const Doubles floats{0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.7, -2.7, 254.9, 300.7, 65504, 65520, 1e5, -1e5, 2147483648.0, -2147483904.0,
                       1e20, -1e20, 1.00390625, 1.01171875, 3.3895e38, kInf, -kInf, kNaN};
  const Doubles integers{0, 1, -1, 127, 128, 255, 256, -129, 65535, 65536, 16777217, 33554435, 2147483647, -2147483648.0};
  const Doubles longs{0, 1, -1, 255, 256, 4294967296.0, 4294967297.0, 9007199254740991.0, -9007199254740991.0, -9223372036854775808.0};
  for (DType from : kAll)
    for (DType to : kAll) {
      if (from == to) continue;
      const Doubles& values = is_float(from) ? floats : from == DType::kI64 ? longs : integers;
      Feed x = from == DType::kBool ? random_feed(from, {37}, 1, -1, 1) : from == DType::kU8 ? random_feed(from, {37}, 1, 0, 256) : repeated(from, {53}, values);
      const Build build = [to](const Tensors& in) { return Tensors{cast(in[0], to)}; };
      cases.push_back({"cast", name_of(x.type) + " to " + std::string(dtype_name(to)), {x}, build});
      cases.push_back({"cast", "one " + std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)), {random_feed(from, {}, 4, 0, 3)}, build});
    }
}

constexpr Activation kActivations[] = {
    Activation::kNone,     Activation::kRelu,    Activation::kRelu6,    Activation::kLeakyRelu, Activation::kElu,
    Activation::kSelu,     Activation::kSigmoid, Activation::kTanh,     Activation::kSoftplus,  Activation::kGelu,
    Activation::kGeluTanh, Activation::kSilu,    Activation::kMish,     Activation::kHardSigmoid, Activation::kHardSwish};

void add_activations(Cases& cases) {
  for (Activation act : kActivations) {
    if (act == Activation::kNone) continue;  // nothing is left of it
    const double alpha = act == Activation::kLeakyRelu ? 0.2 : act == Activation::kElu ? 0.7 : 0;
    const std::string name(activation_name(act));
    const Build forward = [=](const Tensors& x) { return Tensors{activation(x[0], act, alpha)}; };
    const Build backward = [=](const Tensors& x) {
      const Tensor t = gradient_from_result(act) ? activation(x[1], act, alpha) : x[1];
      return Tensors{activation_grad(x[0], t, act, alpha)};
    };
    const auto add = [&](DType t, const Shape& s) {
      const std::string what = name + " " + name_of({t, s});
      cases.push_back({"activation", what, {random_feed(t, s, 1, -7, 8)}, forward});
      cases.push_back({"activation_grad", what, {random_feed(t, s, 2, -2, 2), random_feed(t, s, 1, -7, 8)}, backward});
    };
    for (const Shape& s : kShapes) add(DType::kF32, s);
    for (DType t : kFloats) add(t, {67});
    cases.push_back({"activation", name + " far", {repeated(DType::kF32, {17}, {-2000, -90, -20, -3, 0, 3, 20, 90, 2000})}, forward});
    cases.push_back({"activation", name + " NaN", {repeated(DType::kF32, {17}, {kNaN, 1, kInf})}, forward});
  }
}

}  // namespace

void add_elementwise_cases(Cases& cases) {
  add_unary(cases);
  add_binary(cases);
  add_choice(cases);
  add_casts(cases);
  add_activations(cases);
}

}  // namespace tenon::device_testing
