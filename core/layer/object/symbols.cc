// What operators and functions of symbols are: layers, called as Keras calls them.
#include "base/strings.h"
#include "tenon/layer_classes.h"

namespace tenon {
namespace {

namespace operators {
struct Add : Lambda {
  using Lambda::Lambda;
};
struct Subtract : Lambda {
  using Lambda::Lambda;
};
struct Multiply : Lambda {
  using Lambda::Lambda;
};
struct TrueDivide : Lambda {
  using Lambda::Lambda;
};
struct Negative : Lambda {
  using Lambda::Lambda;
};
struct Exp : Lambda {
  using Lambda::Lambda;
};
struct Log : Lambda {
  using Lambda::Lambda;
};
struct Sqrt : Lambda {
  using Lambda::Lambda;
};
struct Square : Lambda {
  using Lambda::Lambda;
};
struct Absolute : Lambda {
  using Lambda::Lambda;
};
}  // namespace operators

template <class Operator, class Function>
Symbol of_two(const Symbol& a, const Symbol& b, Function function) {
  return AnyLayer(Operator([function](const Tensors& xs) { return function(xs[0], xs[1]); }))(std::vector{a, b});
}
template <class Operator, class Function>
Symbol of_one(const Symbol& x, Function function) {
  return AnyLayer(Operator([function](const Tensors& xs) { return function(xs[0]); }))(x);
}

}  // namespace

#define TENON_SYMBOL_OPERATOR(Name, op)                                              \
  Symbol operator op(const Symbol& a, const Symbol& b) {                             \
    return of_two<operators::Name>(a, b, [](Tensor x, Tensor y) { return x op y; }); \
  }                                                                                  \
  Symbol operator op(const Symbol& a, double b) {                                    \
    return of_one<operators::Name>(a, [b](Tensor x) { return x op b; });             \
  }                                                                                  \
  Symbol operator op(double a, const Symbol& b) {                                    \
    return of_one<operators::Name>(b, [a](Tensor x) { return a op x; });             \
  }
TENON_SYMBOL_OPERATOR(Add, +)
TENON_SYMBOL_OPERATOR(Subtract, -)
TENON_SYMBOL_OPERATOR(Multiply, *)
TENON_SYMBOL_OPERATOR(TrueDivide, /)
#undef TENON_SYMBOL_OPERATOR

Symbol operator-(const Symbol& x) {
  return of_one<operators::Negative>(x, [](Tensor t) { return -t; });
}
Symbol exp(const Symbol& x) {
  return of_one<operators::Exp>(x, [](Tensor t) { return exp(t); });
}
Symbol log(const Symbol& x) {
  return of_one<operators::Log>(x, [](Tensor t) { return log(t); });
}
Symbol sqrt(const Symbol& x) {
  return of_one<operators::Sqrt>(x, [](Tensor t) { return sqrt(t); });
}
Symbol square(const Symbol& x) {
  return of_one<operators::Square>(x, [](Tensor t) { return square(t); });
}
Symbol abs(const Symbol& x) {
  return of_one<operators::Absolute>(x, [](Tensor t) { return abs(t); });
}
Symbol tanh(const Symbol& x) { return ActivationLayer(Activation::kTanh)(x); }
Symbol softmax(const Symbol& x, int64_t axis) { return Softmax(axis)(x); }
Symbol ActivationFunction::operator()(const Symbol& x) const { return ActivationLayer(which_)(x); }

Status Lambda::one_of_several(size_t given) {
  return invalid("lambda: its function is one of one tensor, given ", given);
}

}  // namespace tenon
