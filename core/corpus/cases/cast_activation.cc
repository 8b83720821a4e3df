// Casts between all dtypes, and activations with their gradients.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

const Doubles kFloatValues{
    0,       -0.0,       1,          -1,        0.5,  -0.5,  1.5,          2.7,           -2.7,
    254.9,   300.7,      65504,      65520,     1e5,  -1e5,  2147483648.0, -2147483904.0, 1e20,
    -1e20,   1.00390625, 1.01171875, 3.3895e38, kInf, -kInf, kNaN,         1.00146484375, 1.00048828125,
    65519.9, 0.00006,    9.3e18,     -9.3e18,   255,  256,   -1.5,         2049,          257};
const Doubles kI32Values{0,     1,        -1,       127,        128,           255,  256,  -129, 65535,
                         65536, 16777217, 33554435, 2147483647, -2147483648.0, 2049, 2051, 257,  259};
const Doubles kI64Values{0,
                         1,
                         -1,
                         255,
                         256,
                         4294967296.0,
                         4294967297.0,
                         9007199254740991.0,
                         -9007199254740991.0,
                         -9223372036854775808.0,
                         65519,
                         65520,
                         2049};

Input to_cast(DType from) {
  if (from == DType::kBool) return uniform(from, {37}, 1, -1, 1);
  if (from == DType::kU8) return uniform(from, {300}, 1, 0, 256);
  const Doubles& v = is_float(from) ? kFloatValues : from == DType::kI64 ? kI64Values : kI32Values;
  return values(from, {static_cast<int64_t>(v.size()) + 16}, v);
}

void add_casts(Cases& cases) {
  for (DType from : kAll)
    for (DType to : kAll) {
      if (from == to) continue;
      const auto add = [&](const Input& x) {
        add_op(cases, {"cast", cat(name_of(x), " to ", dtype_name(to)), {x}, [to](const Tensors& in) {
                         return Tensors{cast(in[0], to)};
                       }});
      };
      add(to_cast(from));
      add(uniform(from, {}, 4, 0, 3));
      add(uniform(from, {3, 5, 7}, 5, from == DType::kU8 ? 0 : -100, 100));
    }
}

constexpr Activation kActivations[] = {
    Activation::kRelu,    Activation::kRelu6, Activation::kLeakyRelu,   Activation::kElu,      Activation::kSelu,
    Activation::kSigmoid, Activation::kTanh,  Activation::kSoftplus,    Activation::kGelu,     Activation::kGeluTanh,
    Activation::kSilu,    Activation::kMish,  Activation::kHardSigmoid, Activation::kHardSwish};

void add_activation(Cases& cases, Activation act) {
  const double alpha = act == Activation::kLeakyRelu ? 0.2 : act == Activation::kElu ? 0.7 : 0;
  const std::string name(activation_name(act));
  const auto forward = [&](const std::string& what, const Input& x) {
    add_op(cases, {"activation", cat(name, " ", what), {x}, [=](const Tensors& in) {
                     return Tensors{activation(in[0], act, alpha)};
                   }});
  };
  const auto both = [&](DType t, const Shape& s) {
    const std::string what = name_of({t, s});
    forward(what, uniform(t, s, 1, -7, 8));
    add_op(cases, {"activation_grad",
                   cat(name, " ", what),
                   {uniform(t, s, 2, -2, 2), uniform(t, s, 1, -7, 8)},
                   [=](const Tensors& in) {
                     const Tensor y = gradient_from_result(act) ? activation(in[1], act, alpha) : in[1];
                     return Tensors{activation_grad(in[0], y, act, alpha)};
                   }});
  };
  for (const Shape& s : {Shape{}, Shape{1}, Shape{8}, Shape{3, 5, 7}, Shape{1031}}) both(DType::kF32, s);
  for (DType t : kFloats) both(t, {67});
  forward("far", values(DType::kF32, {17}, {-2000, -90, -20, -3, 0, 3, 20, 90, 2000}));
  forward("NaN", values(DType::kF32, {17}, {kNaN, 1, kInf}));
  // The slope at NaN is NaN or that of one of the sides (0 of relu), on all devices the same.
  add_op(cases, {"activation_grad",
                 cat(name, " NaN"),
                 {uniform(DType::kF32, {17}, 2, -2, 2), values(DType::kF32, {17}, {0.5, kNaN, -1})},
                 [=](const Tensors& in) { return Tensors{activation_grad(in[0], in[1], act, alpha)}; }});
}

}  // namespace

void add_cast_cases(Cases& cases) { add_casts(cases); }

void add_activation_cases(Cases& cases) {
  for (Activation act : kActivations) add_activation(cases, act);
}

}  // namespace tenon::corpus
