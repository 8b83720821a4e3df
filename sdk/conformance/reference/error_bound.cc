#include "conformance/reference/error_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "conformance/reference/ops.h"
#include "tenon/op/table.h"

namespace tenon::reference {
namespace {

int32_t compute_dtype(int32_t dtype) { return dtype == TENON_F64 ? TENON_F64 : TENON_F32; }

double eps(int32_t dtype) { return spacing(compute_dtype(dtype), 1.0); }

// What the last rounding adds: half an ulp of the reference's own (a whole one in f64, where the reference
// computes no better); in 16 bits both sides round a last time.
double rounding(int32_t dtype, double y) { return (dtype == TENON_F32 ? 0.5 : 1.0) * spacing(dtype, y); }

// What is lost if a subnormal y becomes 0.
double flush(int32_t dtype, double y) {
  const double normal = smallest_normal(dtype);
  return y != 0 && std::fabs(y) <= normal ? normal : 0;
}

Tensor absolute(const Tensor& x) {
  Tensor y = x;
  for (double& v : y.f) v = std::fabs(v);
  return y;
}

Tensor ones(const Tensor& x) {
  Tensor y = x;
  for (double& v : y.f) v = 1;
  return y;
}

// The node's value with every float operand replaced.
Tensor evaluate_with(const NodeView& node, const Operands& in, Tensor (*replace)(const Tensor&)) {
  std::vector<Tensor> replaced;
  for (const Tensor* x : in) replaced.push_back(is_float(*x) ? replace(*x) : *x);
  Operands operands;
  for (const Tensor& x : replaced) operands.push_back(&x);
  Results out;
  const std::string wrong = evaluate_node(node, operands, out);
  if (!wrong.empty()) throw std::runtime_error(wrong);
  return out[0];
}

// Relative to sum|a||b|, what the reduced precision of a dot or convolution of f32 may cost.
double licence(const NodeView& node, int32_t operand_dtype) {
  if (operand_dtype != TENON_F32) return 0;
  switch (node.enumerator("precision", TENON_PRECISION_DEFAULT)) {
    case TENON_PRECISION_DEFAULT:
      return 4 * std::ldexp(1.0, -8);
    case TENON_PRECISION_HIGH:
      return 4 * std::ldexp(1.0, -16);
    default:
      return 4 * std::ldexp(1.0, -23);
  }
}

// (terms eps + relative) sum|terms|, for nodes that are sums of products of their operands: ones count terms.
Tensor sum_bound(const NodeView& node, const Operands& in, double relative) {
  const Tensor count = evaluate_with(node, in, ones), size = evaluate_with(node, in, absolute);
  Tensor tolerance = zeros(TENON_F64, count.dims);
  for (size_t i = 0; i < tolerance.f.size(); ++i) {
    tolerance.f[i] = (count.f[i] * eps(in[0]->dtype) + relative) * size.f[i];
    // Each term may have flushed.
    if (size.f[i] < 1) tolerance.f[i] += count.f[i] * smallest_normal(compute_dtype(in[0]->dtype));
  }
  return tolerance;
}

Tensor product_bound(const Tensor& x, const Tensor& y) {
  Tensor tolerance = zeros(TENON_F64, y.dims);
  const double n = static_cast<double>(elements(x)) / static_cast<double>(elements(y));
  for (size_t i = 0; i < tolerance.f.size(); ++i) tolerance.f[i] = n * eps(x.dtype) * std::fabs(y.f[i]);
  return tolerance;
}

// Rounded once, whatever it comes from.
Tensor cast_bound(const Tensor& y) {
  Tensor tolerance = zeros(TENON_F64, y.dims);
  for (size_t i = 0; i < tolerance.f.size(); ++i) tolerance.f[i] = flush(y.dtype, y.f[i]);
  return tolerance;
}

Tensor ulp_bound(double ulps, const Tensor& y) {
  Tensor tolerance = zeros(TENON_F64, y.dims);
  for (size_t i = 0; i < tolerance.f.size(); ++i) {
    if (std::isfinite(y.f[i])) tolerance.f[i] = ulps * spacing(compute_dtype(y.dtype), y.f[i]);
  }
  return tolerance;
}

void add_rounding(Tensor& tolerance, const Tensor& y, bool exact) {
  for (size_t i = 0; i < y.f.size(); ++i) {
    if (!std::isfinite(y.f[i])) {
      tolerance.f[i] = 0;
    } else {
      tolerance.f[i] += flush(y.dtype, y.f[i]) + (exact ? 0 : rounding(y.dtype, y.f[i]));
    }
  }
}

// Sums have a tolerance beside their operands' sizes; false for ops that are no sums.
bool contraction_bound(const NodeView& node, const Operands& in, const Tensor& y, Tensor& tolerance) {
  const std::string_view op = node.op();
  const int32_t kind = node.enumerator("kind");
  if (op == "dot" || op.substr(0, 4) == "conv") {
    tolerance = sum_bound(node, in, licence(node, in[0]->dtype));
  } else if ((op == "reduce" && kind == TENON_REDUCE_SUM) || (op == "scatter" && kind == TENON_SCATTER_ADD)) {
    tolerance = sum_bound(node, in, 0);
  } else if (op == "reduce" && kind == TENON_REDUCE_PROD) {
    tolerance = product_bound(*in[0], y);
  } else {
    return false;
  }
  return true;
}

Tensor bound_of(const NodeView& node, const Operands& in, const Tensor& y) {
  Tensor tolerance = zeros(TENON_F64, y.dims);
  if (!is_float(y)) return tolerance;
  if (node.op() == "cast") return cast_bound(y);
  if (contraction_bound(node, in, y, tolerance)) {
    add_rounding(tolerance, y, false);
    return tolerance;
  }
  const Primitive* primitive = find(node.op());
  if (!primitive || primitive->ulps == kNoUlps) return tolerance;
  tolerance = ulp_bound(primitive->ulps, y);
  add_rounding(tolerance, y, primitive->ulps == 0);
  return tolerance;
}

std::string text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", x);
  return buffer;
}

std::string text(const Index& index) {
  std::string s = "[";
  for (size_t d = 0; d < index.size(); ++d) s += (d ? "," : "") + std::to_string(index[d]);
  return s + "]";
}

bool close(double got, double expected, double tolerance, bool zero_signs) {
  if (zero_signs && got == 0 && expected == 0) return std::signbit(got) == std::signbit(expected);
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  return got == expected || std::fabs(got - expected) <= tolerance;
}

}  // namespace

Tensor bound(const NodeView& node, const std::vector<const Tensor*>& in, const std::vector<Tensor>& out, int result,
             double factor) {
  Tensor tolerance = bound_of(node, in, out.at(static_cast<size_t>(result)));
  for (double& v : tolerance.f) v *= factor;
  return tolerance;
}

bool keeps_zero_signs(const NodeView& node) {
  const std::string_view op = node.op();
  if (op == "cast") return plugin::is_float(node.in(0).dtype()) && plugin::is_float(node.out(0).dtype());
  if (op == "scatter") return node.enumerator("kind") == TENON_SCATTER_SET;
  const op::Row* row = op::find(op);
  return row && (row->values == op::Values::kMoved || row->values == op::Values::kTaken);
}

std::string mismatch(const Tensor& got, const Tensor& expected, const Tensor& tolerance, bool zero_signs) {
  if (got.dtype != expected.dtype || got.dims != expected.dims) return "dtype or dims differ";
  Index i(expected.dims.size());
  do {
    const size_t at = static_cast<size_t>(offset(i, expected.dims));
    if (is_float(expected) && !close(got.f[at], expected.f[at], tolerance.f[at], zero_signs)) {
      return "at " + text(i) + ": found " + text(got.f[at]) + ", expected " + text(expected.f[at]) + " within " +
             text(tolerance.f[at]);
    }
    if (!is_float(expected) && got.i[at] != expected.i[at]) {
      return "at " + text(i) + ": found " + std::to_string(got.i[at]) + ", expected " + std::to_string(expected.i[at]);
    }
  } while (next(i, expected.dims));
  return {};
}

}  // namespace tenon::reference
