// A second arithmetic beside sdk/conformance/reference, whose evaluate_node() does all primitives and could stand in its
// place, once core/import may link it.
#include "import/onnx/known_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/array_dtype.h"
#include "base/each_number.h"
#include "tenon/ops.h"

namespace tenon::onnx {
namespace {

// Numbers as the host computes with them: integers and bools as i64, floats as f64, which holds them all.
struct Numbers {
  bool real = false;
  std::vector<int64_t> i;
  std::vector<double> f;
  size_t size() const { return real ? f.size() : i.size(); }
};

Numbers numbers_of(const Array& array) {
  Numbers out;
  out.real = is_float(array.dtype());
  each_number(array.dtype(), array.bytes(), [&](auto v) {
    if (out.real)
      out.f.push_back(static_cast<double>(v));
    else
      out.i.push_back(static_cast<int64_t>(v));
  });
  return out;
}

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

Array array_of(const Numbers& numbers, const Type& type) {
  if (numbers.real) return as_dtype(Array(numbers.f, type.shape), type.dtype);
  if (type.dtype == DType::kI64) return Array(numbers.i, type.shape);
  std::vector<int64_t> narrow(numbers.i);
  for (int64_t& v : narrow) v = narrowed(type.dtype, v);
  return as_dtype(Array(narrow, type.shape), type.dtype);
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> out(static_cast<size_t>(shape.rank()), 1);
  for (int a = shape.rank() - 2; a >= 0; --a)
    out[static_cast<size_t>(a)] = out[static_cast<size_t>(a) + 1] * shape[a + 1];
  return out;
}

// visit(index along each axis) for each element, in order.
template <class Visit>
void each_index(const Shape& shape, Visit visit) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()), 0);
  for (int64_t n = shape.elements(); n > 0; --n) {
    visit(at);
    for (int a = shape.rank() - 1; a >= 0; --a) {
      if (++at[static_cast<size_t>(a)] < shape[a]) break;
      at[static_cast<size_t>(a)] = 0;
    }
  }
}

// Integers wrap.
double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

class Host {
 public:
  Host(const Node& node, const Type& result, const std::vector<const Array*>& operands)
      : node_(node), result_(result), operands_(operands) {}

  bool run(Array* out) {
    if (node_.op == "constant") return *out = filled(), true;
    if (node_.op == "iota") return *out = counted(), true;
    for (const Array* operand : operands_) in_.push_back(numbers_of(*operand));
    Numbers y;
    y.real = is_float(result_.dtype);
    if (!elementwise(y) && !moved(y) && !folded(y)) return false;
    *out = array_of(y, result_);
    return true;
  }

 private:
  const std::vector<int64_t>& list(const char* name) const {
    static const std::vector<int64_t> none;
    const AttrValue* value = find_attr(node_.attrs, name);
    const auto* found = value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
    return found ? *found : none;
  }
  int64_t at_or(const char* name, size_t i, int64_t missing) const {
    const std::vector<int64_t>& values = list(name);
    return i < values.size() ? values[i] : missing;
  }
  int64_t number(const char* name) const {
    const AttrValue* value = find_attr(node_.attrs, name);
    if (const auto* v = value ? std::get_if<int64_t>(value) : nullptr) return *v;
    if (const auto* v = value ? std::get_if<Enum>(value) : nullptr) return v->number;
    return 0;
  }

  Array filled() const {
    const AttrValue* value = find_attr(node_.attrs, "value");
    const auto& bytes = std::get<std::string>(*value);
    Array out(result_);
    for (size_t at = 0; at < out.bytes().size() && !bytes.empty(); at += bytes.size())
      std::memcpy(&out.bytes()[at], bytes.data(), bytes.size());
    return out;
  }

  Array counted() const {
    Numbers y;
    const auto axis = static_cast<size_t>(number("axis"));
    each_index(result_.shape, [&](const std::vector<int64_t>& at) { y.i.push_back(at[axis]); });
    if (!is_float(result_.dtype)) return array_of(y, result_);
    Numbers real;
    real.real = true;
    for (const int64_t v : y.i) real.f.push_back(static_cast<double>(v));
    return array_of(real, result_);
  }

  // a(i) and b(i) of operands of which one may be a scalar.
  template <class T, class F>
  void pairs(const std::vector<T>& a, const std::vector<T>& b, F f) const {
    const size_t n = static_cast<size_t>(result_.shape.elements());
    for (size_t i = 0; i < n; ++i) f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  }

  bool elementwise(Numbers& y) {
    if (node_.op == "cast") return cast_to(y), true;
    if (node_.op == "select") return chosen(y), true;
    if (node_.op == "compare") return compared(y), true;
    if (in_.size() == 1) return y.real ? unary(in_[0].f, y.f) : unary_integer(in_[0].i, y.i);
    if (in_.size() == 2 && in_[0].real == in_[1].real && in_[0].real == y.real)
      return y.real ? binary(in_[0].f, in_[1].f, y.f) : binary_integer(in_[0].i, in_[1].i, y.i);
    return false;
  }

  bool unary(const std::vector<double>& x, std::vector<double>& y) const {
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

  bool unary_integer(const std::vector<int64_t>& x, std::vector<int64_t>& y) const {
    if (node_.op != "neg" && node_.op != "abs") return false;
    for (const int64_t v : x)
      y.push_back(node_.op == "abs" && v >= 0 ? v : static_cast<int64_t>(0 - static_cast<uint64_t>(v)));
    return true;
  }

  bool binary(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& y) const {
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

  bool binary_integer(const std::vector<int64_t>& a, const std::vector<int64_t>& b, std::vector<int64_t>& y) const {
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

  void cast_to(Numbers& y) const {
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

  void chosen(Numbers& y) const {
    const std::vector<int64_t>& which = in_[0].i;
    const auto pick = [&](const auto& a, const auto& b, auto& to) {
      for (size_t i = 0; i < static_cast<size_t>(result_.shape.elements()); ++i)
        to.push_back(which[which.size() == 1 ? 0 : i] ? a[a.size() == 1 ? 0 : i] : b[b.size() == 1 ? 0 : i]);
    };
    y.real ? pick(in_[1].f, in_[2].f, y.f) : pick(in_[1].i, in_[2].i, y.i);
  }

  void compared(Numbers& y) const {
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

  // Element `from` of operand `which`, or 0 where that is -1.
  void push(Numbers& y, size_t which, int64_t from) const {
    const Numbers& x = in_[which];
    if (y.real)
      y.f.push_back(from < 0 ? 0 : x.f[static_cast<size_t>(from)]);
    else
      y.i.push_back(from < 0 ? 0 : x.i[static_cast<size_t>(from)]);
  }

  // y(at) = x at the place that `place` gives for each axis of x.
  template <class Place>
  void take(Numbers& y, Place place) const {
    const Shape& shape = operands_[0]->shape();
    const std::vector<int64_t> strides = strides_of(shape);
    each_index(result_.shape, [&](const std::vector<int64_t>& at) {
      int64_t from = 0;
      for (int a = 0; a < shape.rank(); ++a)
        from += place(at, static_cast<size_t>(a)) * strides[static_cast<size_t>(a)];
      push(y, 0, from);
    });
  }

  bool moved(Numbers& y) {
    const std::string& op = node_.op;
    const Shape& x = operands_[0]->shape();
    if (op == "reshape") return y = in_[0], true;
    if (op == "transpose") {
      const std::vector<int64_t>& perm = list("perm");
      std::vector<size_t> to(perm.size());
      for (size_t i = 0; i < perm.size(); ++i) to[static_cast<size_t>(perm[i])] = i;
      return take(y, [&](const auto& at, size_t a) { return at[to[a]]; }), true;
    }
    if (op == "broadcast") {
      const std::vector<int64_t>& dims = list("dims");
      return take(y, [&](const auto& at,
                         size_t a) { return x[static_cast<int>(a)] == 1 ? 0 : at[static_cast<size_t>(dims[a])]; }),
             true;
    }
    if (op == "slice")
      return take(y, [&](const auto& at, size_t a) { return at_or("start", a, 0) + at[a] * at_or("stride", a, 1); }),
             true;
    if (op == "reverse") {
      const std::vector<int64_t>& axes = list("axes");
      return take(y,
                  [&](const auto& at, size_t a) {
                    const bool back = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end();
                    return back ? x[static_cast<int>(a)] - 1 - at[a] : at[a];
                  }),
             true;
    }
    if (op == "gather" && number("batch") == 0) return gathered(y), true;
    if (op == "concat") return joined(y), true;
    if (op == "pad") return padded(y), true;
    return false;
  }

  void gathered(Numbers& y) const {
    const Shape &x = operands_[0]->shape(), &which = operands_[1]->shape();
    const auto axis = static_cast<size_t>(number("axis"));
    const std::vector<int64_t> strides = strides_of(x), of_index = strides_of(which);
    each_index(result_.shape, [&](const std::vector<int64_t>& at) {
      int64_t index = 0, from = 0;
      for (size_t a = 0; a < of_index.size(); ++a) index += at[axis + a] * of_index[a];
      const int64_t entry = in_[1].i[static_cast<size_t>(index)];
      for (size_t a = 0; a < strides.size(); ++a)
        from += strides[a] * (a < axis ? at[a] : a == axis ? entry : at[a + of_index.size() - 1]);
      push(y, 0, entry < 0 || entry >= x[static_cast<int>(axis)] ? -1 : from);
    });
  }

  void joined(Numbers& y) const {
    const auto axis = static_cast<int>(number("axis"));
    each_index(result_.shape, [&](const std::vector<int64_t>& at) {
      int64_t along = at[static_cast<size_t>(axis)];
      size_t part = 0;
      while (along >= operands_[part]->dim(axis)) along -= operands_[part++]->dim(axis);
      const std::vector<int64_t> strides = strides_of(operands_[part]->shape());
      int64_t from = 0;
      for (size_t a = 0; a < strides.size(); ++a) from += strides[a] * (static_cast<int>(a) == axis ? along : at[a]);
      push(y, part, from);
    });
  }

  void padded(Numbers& y) const {
    const Shape& x = operands_[0]->shape();
    const std::vector<int64_t> strides = strides_of(x);
    const AttrValue* value = find_attr(node_.attrs, "value");
    const double fill = value ? std::get<double>(*value) : 0;
    each_index(result_.shape, [&](const std::vector<int64_t>& at) {
      int64_t from = 0;
      for (size_t a = 0; a < strides.size() && from >= 0; ++a) {
        const int64_t step = at_or("interior", a, 0) + 1, i = at[a] - at_or("low", a, 0);
        const bool inside = i >= 0 && i % step == 0 && i / step < x[static_cast<int>(a)];
        from = inside ? from + strides[a] * (i / step) : -1;
      }
      push(y, 0, from);
      if (from < 0) y.real ? void(y.f.back() = fill) : void(y.i.back() = static_cast<int64_t>(fill));
    });
  }

  bool folded(Numbers& y) const {
    if (node_.op != "reduce") return false;
    const auto kind = static_cast<ReduceKind>(number("kind"));
    const Shape& x = operands_[0]->shape();
    const std::vector<int64_t>& axes = list("axes");
    const std::vector<int64_t> strides = strides_of(result_.shape);
    const auto n = static_cast<size_t>(result_.shape.elements());
    const auto fold = [&](const auto& from, auto& to, auto lowest, auto highest) {
      using T = std::decay_t<decltype(lowest)>;
      const T first = kind == ReduceKind::kSum    ? T{0}
                      : kind == ReduceKind::kProd ? T{1}
                      : kind == ReduceKind::kMax  ? lowest
                                                  : highest;
      to.assign(n, first);
      size_t i = 0;
      each_index(x, [&](const std::vector<int64_t>& at) {
        int64_t where = 0;
        size_t kept = 0;
        for (size_t a = 0; a < at.size(); ++a)
          if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) == axes.end())
            where += at[a] * strides[kept++];
        T& sum = to[static_cast<size_t>(where)];
        const T v = from[i++];
        if (kind == ReduceKind::kSum) sum = plus(sum, v);
        if (kind == ReduceKind::kProd) sum = times(sum, v);
        if (kind == ReduceKind::kMax) sum = std::max(sum, v);
        if (kind == ReduceKind::kMin) sum = std::min(sum, v);
      });
    };
    y.real ? fold(in_[0].f, y.f, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity())
           : fold(in_[0].i, y.i, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    return true;
  }

  const Node& node_;
  const Type& result_;
  const std::vector<const Array*>& operands_;
  std::vector<Numbers> in_;
};

}  // namespace

bool compute_on_host(const Node& node, const Type& result, const std::vector<const Array*>& operands, Array* out) {
  return Host(node, result, operands).run(out);
}

}  // namespace tenon::onnx
