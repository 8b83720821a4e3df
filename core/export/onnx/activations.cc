// Activations, by ONNX's op where it has one, else by the formulas of core/op/network/activation.cc.
#include "export/activation_formulas.h"
#include "export/onnx/onnx_node_rules.h"

namespace tenon::onnx::out {
namespace {

// Writes formulas of one dtype.
class Formula : public ActivationFormulas<Formula> {
 public:
  static constexpr const char* kAdd = "Add";
  Formula(NodeScribe& n, DType dtype) : n_(n), dtype_(dtype) {}
  Ref number(double value) { return n_.scalar(dtype_, value); }
  Ref of(std::string_view op, const Ref& x, Fields how = {}) { return n_.write(op, {x}, std::move(how)); }
  Ref of(std::string_view op, const Ref& a, const Ref& b) { return n_.write(op, {a, b}); }
  Ref relu6(const Ref& x) { return n_.write("Clip", {x, number(0), number(6)}); }
  Ref leaky_relu(const Ref& x, double alpha) { return of("LeakyRelu", x, {real_field("alpha", alpha)}); }
  Ref elu(const Ref& x, double alpha) { return of("Elu", x, {real_field("alpha", alpha)}); }
  Ref hard_sigmoid(const Ref& x) {
    return of("HardSigmoid", x, {real_field("alpha", 1.0 / 6), real_field("beta", 0.5)});
  }
  Ref hard_swish(const Ref& x) { return of("HardSwish", x); }

 private:
  NodeScribe& n_;
  DType dtype_;
};

}  // namespace

Ref activated(NodeScribe& n, const Ref& x, DType dtype, Activation act, double alpha) {
  return Formula(n, dtype).activated(x, act, alpha);
}

// A bias of C numbers goes along the last axis, or along axis 1 of what has channels there.
std::vector<Written> epilogue(NodeScribe& n, bool first, Ref z, DType dtype, int bias, int residual) {
  if (n.has(bias)) {
    Ref b = n.cast(n.in(bias), n.dtype(bias), dtype);
    if (first) {
      Dims dims(n.result().dims.size() - 1, fixed(1));
      dims[0] = n.dims(bias)[0];
      b = n.reshape(b, dims);
    }
    z = n.write("Add", {z, b});
  }
  if (n.has(residual))
    z = n.write("Add", {z, n.cast(first ? n.first_in(residual) : n.in(residual), n.dtype(residual), dtype)});
  const Ref y = activated(n, z, dtype, static_cast<Activation>(n.choice("act")), n.real("alpha"));
  return n.narrow_as(first, y, dtype);
}

}  // namespace tenon::onnx::out
