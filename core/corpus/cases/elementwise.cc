// One element in, one element out: arithmetic, functions, comparison, choice.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

const Shape kShapes[] = {{}, {1}, {7}, {8}, {3, 5, 7}, {1031}};

// Zeros, halves, large and small numbers, no numbers.
const Doubles kEdges{0,       -0.0, 1,  -1, 0.5, -0.5, 1.5,  2.5,  -2.5,  1e-30, -1e-30, 1e-3,
                     3.14159, -20,  20, 87, -87, 100,  -100, 1e30, -1e30, kInf,  -kInf,  kNaN};
const Doubles kOtherEdges{kNaN, 1, 0, -0.0, -1, 2, 0.5, kInf, -kInf, 3, -3};
// Subnormal in f32 and in f16: may become 0, and nothing else may become of the numbers beside them.
const Doubles kSubnormal{1e-40, 1, 1e-45, -1e-40, 0, -1, 6e-8, -6e-8, 2};

struct Unary {
  const char* op;
  Tensor (*f)(Tensor);
  double low, high;
  bool integers = false, subnormals = true;
};

const Unary kUnary[] = {
    {"neg", neg, -9, 9, true},
    {"abs", abs, -9, 9, true},
    {"floor", floor, -9, 9, false, false},
    {"round", round, -9, 9},
    {"exp", exp, -9, 9},
    {"expm1", expm1, -9, 9},
    {"log", log, 1e-3, 99, false, false},
    {"log1p", log1p, -0.9, 9},
    {"sqrt", sqrt, 0, 99, false, false},
    {"sin", sin, -9, 9},
    {"cos", cos, -9, 9},
    {"tanh", tanh, -9, 9},
    {"erf", erf, -4, 4},
    {"erfc", erfc, -4, 9},
};

void add_unary(Cases& cases) {
  for (const Unary& u : kUnary) {
    const auto add = [&](const std::string& name, const Input& x) {
      add_op(cases, {u.op, name, {x}, [f = u.f](const Tensors& in) { return Tensors{f(in[0])}; }});
    };
    for (const Shape& shape : kShapes)
      add(name_of({DType::kF32, shape}), uniform(DType::kF32, shape, 1, u.low, u.high));
    const auto n = static_cast<int64_t>(kEdges.size());
    for (DType t : kFloats) {
      add(name_of({t, {67}}), uniform(t, {67}, 2, u.low, u.high));
      add(cat("edges ", dtype_name(t)), values(t, {n}, kEdges));
      if (u.subnormals) add(cat("subnormal ", dtype_name(t)), values(t, {19}, kSubnormal));
    }
    if (!u.integers) continue;
    add("i32[19]", values(DType::kI32, {19}, {0, 5, -5, 2147483647, -2147483648.0}));
    add("i64[19]", values(DType::kI64, {19}, {0, 5, -5, 9e15, -9223372036854775808.0}));
  }
}

struct Binary {
  const char* op;
  Tensor (*f)(Tensor, Tensor);
  bool integers = true, bools = false, positive = false, subnormals = false;
};

const Binary kBinary[] = {
    {"add", add, true, false, false, true},
    {"sub", sub, true, false, false, true},
    {"mul", mul},
    {"div", div},
    {"max", maximum, true, true, false, true},
    {"min", minimum, true, true, false, true},
    {"pow", pow, false, false, true},
    {"atan2", atan2, false},
};

void add_binary(Cases& cases, const Binary& b) {
  const auto add = [&](const std::string& name, const Input& x, const Input& y) {
    add_op(cases, {b.op, name, {x, y}, [f = b.f](const Tensors& in) { return Tensors{f(in[0], in[1])}; }});
  };
  const auto both = [&](const Input& x, const Input& y) { add(cat(name_of(x), " ", name_of(y)), x, y); };
  const auto shapes = [&](DType t) {
    const double low = is_float(t) ? (b.positive ? 0.1 : -4) : -40, high = is_float(t) ? 4 : 40;
    for (const Shape& shape : kShapes) both(uniform(t, shape, 1, low, high), uniform(t, shape, 2, low, high));
    both(uniform(t, {}, 3, low, high), uniform(t, {3, 67}, 4, low, high));
    both(uniform(t, {3, 67}, 5, low, high), uniform(t, {}, 6, low, high));
    Input scalar = uniform(t, {}, 7, low, high);
    scalar.role = Role::kScalar;
    add(cat(name_of({t, {5, 3}}), " run-time scalar"), uniform(t, {5, 3}, 8, low, high), scalar);
  };
  const auto n = static_cast<int64_t>(kEdges.size() * kOtherEdges.size());
  for (DType t : kFloats) {
    shapes(t);
    add(cat("edges ", dtype_name(t)), values(t, {n}, kEdges), values(t, {n}, kOtherEdges));
    if (b.subnormals)
      add(cat("subnormal ", dtype_name(t)), values(t, {27}, kSubnormal), values(t, {27}, {0, 1, -1, 5}));
  }
  if (b.integers) {
    shapes(DType::kI32);
    shapes(DType::kI64);
    add("edges i32", values(DType::kI32, {35}, {-2147483648.0, 7, -7, 2147483647, 0}),
        values(DType::kI32, {35}, {-1, 0, 2, 100000, -3, 2147483647, 1}));
    add("edges i64", values(DType::kI64, {35}, {-9223372036854775808.0, 7, -7, 9e18, 0}),
        values(DType::kI64, {35}, {-1, 0, 2, 100000, -3, 5e18, 1}));
  }
  if (b.bools) shapes(DType::kBool);
}

void add_compares(Cases& cases) {
  static const char* const kNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (int kind = 0; kind < 6; ++kind) {
    const auto add = [&](const std::string& name, const Input& x, const Input& y) {
      add_op(cases, {"compare", cat(kNames[kind], " ", name), {x, y}, [kind](const Tensors& in) {
                       return Tensors{compare(in[0], in[1], static_cast<CompareKind>(kind))};
                     }});
    };
    for (DType t : kAll) {
      const double high = is_float(t) ? 2 : 3, low = t == DType::kU8 ? 0 : -high;
      for (const Shape& s : {Shape{}, Shape{7}, Shape{8}, Shape{3, 5, 7}})
        add(name_of({t, s}), uniform(t, s, 1, low, high), uniform(t, s, 2, low, high));
      add(cat("scalar and ", name_of({t, {77}})), uniform(t, {}, 1, low, high), uniform(t, {77}, 2, low, high));
      add(cat(name_of({t, {77}}), " and scalar"), uniform(t, {77}, 1, low, high), uniform(t, {}, 2, low, high));
    }
    const auto n = static_cast<int64_t>(kEdges.size() * kOtherEdges.size());
    for (DType t : kFloats) add(cat("edges ", dtype_name(t)), values(t, {n}, kEdges), values(t, {n}, kOtherEdges));
    add("edges i64", values(DType::kI64, {35}, {-9223372036854775808.0, 4294967296.0, 4294967297.0, -1, 0}),
        values(DType::kI64, {35}, {0, 4294967297.0, 4294967296.0, 1, -1, 9e18, 2}));
  }
}

void add_selects(Cases& cases) {
  for (DType t : kAll) {
    const double low = t == DType::kU8 ? 0 : -9;
    const auto of = [&](const Shape& s, int seed) { return uniform(t, s, seed, low, 9); };
    const auto c = [](const Shape& s) { return uniform(DType::kBool, s, 9, -1, 1); };
    const auto add = [&](const std::string& name, const Input& condition, const Input& a, const Input& b) {
      add_op(cases, {"select", cat(dtype_name(t), " ", name), {condition, a, b}, [](const Tensors& x) {
                       return Tensors{select(x[0], x[1], x[2])};
                     }});
    };
    for (const Shape& s : kShapes) add(s.str(), c(s), of(s, 1), of(s, 2));
    const Shape s{5, 13};
    add("scalar condition", c({}), of(s, 1), of(s, 2));
    add("scalar a", c(s), of({}, 1), of(s, 2));
    add("scalar b", c(s), of(s, 1), of({}, 2));
    add("scalars", c(s), of({}, 1), of({}, 2));
    if (is_float(t)) add("edges", c({48}), values(t, {48}, kEdges), values(t, {48}, kOtherEdges));
  }
}

}  // namespace

void add_elementwise_cases(Cases& cases) {
  add_unary(cases);
  for (const Binary& b : kBinary) add_binary(cases, b);
  add_compares(cases);
  add_selects(cases);
}

}  // namespace tenon::corpus
