// One node as the host computes it: what known_ops.cc and known_elementwise.cc share.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "tenon/array.h"

namespace tenon::onnx {

// Numbers as the host computes with them: integers and bools as i64, floats as f64, which holds them all.
struct Numbers {
  bool real = false;
  std::vector<int64_t> i;
  std::vector<double> f;
  size_t size() const { return real ? f.size() : i.size(); }
};

// The value as the integer type holds it.
int64_t narrowed(DType dtype, int64_t v);

class HostNode {
 public:
  HostNode(const Node& node, const Type& result, const std::vector<const Array*>& operands)
      : node_(node), result_(result), operands_(operands) {}

  // The node's result; false where the op is none of those here.
  bool run(Array* out);

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

  Array filled() const;
  Array counted() const;

  // y, element by element; false where the op is none of these (known_elementwise.cc).
  bool elementwise(Numbers& y);
  bool unary(const std::vector<double>& x, std::vector<double>& y) const;
  bool unary_integer(const std::vector<int64_t>& x, std::vector<int64_t>& y) const;
  bool binary(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& y) const;
  bool binary_integer(const std::vector<int64_t>& a, const std::vector<int64_t>& b, std::vector<int64_t>& y) const;
  void cast_to(Numbers& y) const;
  void chosen(Numbers& y) const;
  void compared(Numbers& y) const;
  // a(i) and b(i) of operands of which one may be a scalar.
  template <class T, class F>
  void pairs(const std::vector<T>& a, const std::vector<T>& b, F f) const;

  // y, whose elements are those of operands in other places; false where the op is none of these.
  bool moved(Numbers& y);
  void gathered(Numbers& y) const;
  void joined(Numbers& y) const;
  void padded(Numbers& y) const;
  // Element `from` of operand `which`, or 0 where that is -1.
  void push(Numbers& y, size_t which, int64_t from) const;
  // y(at) = x at the place that `place` gives for each axis of x.
  template <class Place>
  void take(Numbers& y, Place place) const;

  // y, of which each element is made of many; false where the op is no reduce.
  bool folded(Numbers& y) const;

  const Node& node_;
  const Type& result_;
  const std::vector<const Array*>& operands_;
  std::vector<Numbers> in_;
};

}  // namespace tenon::onnx
