// Activations, by TensorFlow's op where it has one, else by the formulas of core/op/network/activation.cc.
#include "export/activation_formulas.h"
#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {
namespace {

// Writes formulas of one dtype.
class Formula : public ActivationFormulas<Formula> {
 public:
  static constexpr const char* kAdd = "AddV2";
  Formula(NodeScribe& n, DType dtype) : n_(n), dtype_(dtype) {}
  Ref number(double value) { return n_.scalar(dtype_, value); }
  Ref of(std::string_view op, const Ref& x) { return n_.typed(op, dtype_, {x}); }
  Ref of(std::string_view op, const Ref& a, const Ref& b) { return n_.typed(op, dtype_, {a, b}); }

  Ref relu6(const Ref& x) { return of("Relu6", x); }
  Ref hard_sigmoid(const Ref& x) { return mul(1.0 / 6, of("Relu6", add(3, x))); }
  Ref hard_swish(const Ref& x) { return mul(x, hard_sigmoid(x)); }
  Ref elu(const Ref& x, double alpha) {
    if (alpha == 1) return of("Elu", x);
    const Ref below = mul(alpha, of("Expm1", of("Minimum", x, number(0))));
    return n_.typed("SelectV2", dtype_, {of("Greater", x, number(0)), x, below});
  }
  Ref leaky_relu(const Ref& x, double alpha) {
    return n_.typed("LeakyRelu", dtype_, {x}, {real_field("alpha", alpha)});
  }

 private:
  NodeScribe& n_;
  DType dtype_;
};

}  // namespace

Ref activated(NodeScribe& n, const Ref& x, DType dtype, Activation act, double alpha) {
  return Formula(n, dtype).activated(x, act, alpha);
}

std::vector<Ref> epilogue(NodeScribe& n, Ref z, DType dtype, int bias, int residual) {
  if (n.has(bias)) z = n.typed("BiasAdd", dtype, {z, n.cast(n.in(bias), n.dtype(bias), dtype)});
  if (n.has(residual)) z = n.typed("AddV2", dtype, {z, n.cast(n.in(residual), n.dtype(residual), dtype)});
  return n.narrow(activated(n, z, dtype, static_cast<Activation>(n.choice("act")), n.real("alpha")), dtype);
}

}  // namespace tenon::tensorflow
