// Elementwise ops on the host.
#include <algorithm>
#include <cmath>

#include "import/onnx/known/host_node.h"
#include "tenon/ops.h"

namespace tenon::onnx {

int64_t narrowed(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::kI32:
      return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(v)));
    case DType::kU8:
      return v & 0xff;
    case DType::kBool:
      return v != 0;
    default:
      return v;
  }
}

template <class T, class F>
void HostNode::pairs(const std::vector<T>& a, const std::vector<T>& b, F f) const {
  const size_t n = static_cast<size_t>(result_.shape.elements());
  for (size_t i = 0; i < n; ++i) f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
}

bool HostNode::elementwise(Numbers& y) {
  if (node_.op == "cast") return cast_to(y), true;
  if (node_.op == "select") return chosen(y), true;
  if (node_.op == "compare") return compared(y), true;
  if (in_.size() == 1) return y.real ? unary(in_[0].f, y.f) : unary_integer(in_[0].i, y.i);
  if (in_.size() == 2 && in_[0].real == in_[1].real && in_[0].real == y.real)
    return y.real ? binary(in_[0].f, in_[1].f, y.f) : binary_integer(in_[0].i, in_[1].i, y.i);
  return false;
}

bool HostNode::unary(const std::vector<double>& x, std::vector<double>& y) const {
  double (*f)(double) = nullptr;
  const std::string& op = node_.op;
  if (op == "neg") f = [](double v) { return -v; };
  if (op == "abs") f = [](double v) { return std::fabs(v); };
  if (op == "floor") f = [](double v) { return std::floor(v); };
  if (op == "round") f = [](double v) { return std::nearbyint(v); };
  if (op == "sqrt") f = [](double v) { return std::sqrt(v); };
  if (op == "exp") f = [](double v) { return std::exp(v); };
  if (op == "log") f = [](double v) { return std::log(v); };
  if (op == "sin") f = [](double v) { return std::sin(v); };
  if (op == "activation" && number("act") == static_cast<int64_t>(Activation::kRelu))
    f = [](double v) { return v < 0 ? 0 : v; };
  if (op == "cos") f = [](double v) { return std::cos(v); };
  if (!f) return false;
  for (const double v : x) y.push_back(f(v));
  return true;
}

bool HostNode::unary_integer(const std::vector<int64_t>& x, std::vector<int64_t>& y) const {
  if (node_.op != "neg" && node_.op != "abs") return false;
  for (const int64_t v : x)
    y.push_back(node_.op == "abs" && v >= 0 ? v : static_cast<int64_t>(0 - static_cast<uint64_t>(v)));
  return true;
}

bool HostNode::binary(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& y) const {
  double (*f)(double, double) = nullptr;
  const std::string& op = node_.op;
  if (op == "add") f = [](double v, double w) { return v + w; };
  if (op == "sub") f = [](double v, double w) { return v - w; };
  if (op == "mul") f = [](double v, double w) { return v * w; };
  if (op == "div") f = [](double v, double w) { return v / w; };
  if (op == "max") f = [](double v, double w) { return v > w || std::isnan(v) ? v : w; };
  if (op == "min") f = [](double v, double w) { return v < w || std::isnan(v) ? v : w; };
  if (op == "pow") f = [](double v, double w) { return std::pow(v, w); };
  if (!f) return false;
  // Rounded to what the device has.
  const bool single = result_.dtype != DType::kF64;
  pairs(a, b, [&](double v, double w) { y.push_back(single ? static_cast<float>(f(v, w)) : f(v, w)); });
  return true;
}

bool HostNode::binary_integer(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                              std::vector<int64_t>& y) const {
  const auto wrapped = [](auto f) {
    return [f](int64_t v, int64_t w) {
      return static_cast<int64_t>(f(static_cast<uint64_t>(v), static_cast<uint64_t>(w)));
    };
  };
  const auto put = [&](auto f) { pairs(a, b, [&](int64_t v, int64_t w) { y.push_back(f(v, w)); }); };
  const std::string& op = node_.op;
  if (op == "add") return put(wrapped([](uint64_t v, uint64_t w) { return v + w; })), true;
  if (op == "sub") return put(wrapped([](uint64_t v, uint64_t w) { return v - w; })), true;
  if (op == "mul") return put(wrapped([](uint64_t v, uint64_t w) { return v * w; })), true;
  if (op == "div")
    return put([](int64_t v, int64_t w) { return w == 0 || (v == INT64_MIN && w == -1) ? v : v / w; }), true;
  if (op == "max") return put([](int64_t v, int64_t w) { return std::max(v, w); }), true;
  if (op == "min") return put([](int64_t v, int64_t w) { return std::min(v, w); }), true;
  return false;
}

void HostNode::cast_to(Numbers& y) const {
  const Numbers& x = in_[0];
  for (const double v : x.f) {
    if (y.real) {
      y.f.push_back(v);
    } else if (result_.dtype == DType::kBool) {
      y.i.push_back(v != 0);
    } else {
      const double low = result_.dtype == DType::kI32 ? INT32_MIN : result_.dtype == DType::kU8 ? 0 : -0x1p63;
      const double high = result_.dtype == DType::kI32 ? INT32_MAX : result_.dtype == DType::kU8 ? 255 : 0x1p63;
      y.i.push_back(std::isnan(v) ? 0
                    : v <= low    ? static_cast<int64_t>(low)
                    : v >= high   ? (high > 0x1p62 ? INT64_MAX : static_cast<int64_t>(high))
                                  : static_cast<int64_t>(v));
    }
  }
  for (const int64_t v : x.i) {
    if (y.real)
      y.f.push_back(static_cast<double>(v));
    else
      y.i.push_back(narrowed(result_.dtype, v));
  }
}

void HostNode::chosen(Numbers& y) const {
  const std::vector<int64_t>& which = in_[0].i;
  const auto pick = [&](const auto& a, const auto& b, auto& to) {
    for (size_t i = 0; i < static_cast<size_t>(result_.shape.elements()); ++i)
      to.push_back(which[which.size() == 1 ? 0 : i] ? a[a.size() == 1 ? 0 : i] : b[b.size() == 1 ? 0 : i]);
  };
  y.real ? pick(in_[1].f, in_[2].f, y.f) : pick(in_[1].i, in_[2].i, y.i);
}

void HostNode::compared(Numbers& y) const {
  const auto kind = static_cast<CompareKind>(number("kind"));
  const auto put = [&](auto v, auto w) {
    bool is = false;
    if (kind == CompareKind::kEq) is = v == w;
    if (kind == CompareKind::kNe) is = v != w;
    if (kind == CompareKind::kLt) is = v < w;
    if (kind == CompareKind::kLe) is = v <= w;
    if (kind == CompareKind::kGt) is = v > w;
    if (kind == CompareKind::kGe) is = v >= w;
    y.i.push_back(is);
  };
  in_[0].real ? pairs(in_[0].f, in_[1].f, put) : pairs(in_[0].i, in_[1].i, put);
}

}  // namespace tenon::onnx
