// A node whose rule is at work: its operands, its attributes, its results.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/walk.h"
#include "tenon/ops.h"

namespace tenon::onnx {

class Call {
 public:
  Call(Walk& walk, const NodeData& node, int64_t opset) : walk(walk), node(node), opset(opset) {}

  Walk& walk;
  const NodeData& node;
  const int64_t opset;

  Graph& graph() { return walk.graph(); }
  bool trains() const;  // the function that is traced does

  size_t inputs() const { return node.inputs.size(); }
  bool has(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  Value value(size_t i) const;  // throws Error where it is absent
  Tensor in(size_t i) const { return value(i).file(); }
  Tensor last(size_t i) const { return value(i).last(); }
  Element element(size_t i = 0) const { return value(i).element(); }
  int64_t axis(int64_t axis, int64_t rank) const;  // 0 to rank - 1

  // Attributes; of a function's body those that the call gives.
  bool has_attr(std::string_view name) const { return attr(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t missing) const;
  bool flag(std::string_view name, bool missing = false) const { return integer(name, missing) != 0; }
  double real(std::string_view name, double missing) const;
  std::string text(std::string_view name, const char* missing) const;
  Ints ints(std::string_view name, Ints missing = {}) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const TensorData* tensor(std::string_view name) const;
  const GraphData& graph_attr(std::string_view name) const;

  // Numbers of an operand, which have to be known.
  Array known(size_t i) const;
  Ints known_ints(size_t i) const;
  double known_real(size_t i) const;
  int64_t known_integer(size_t i) const;
  // An attribute that is no size where it is outside: of one number, and of a list of `n`.
  int64_t between(std::string_view name, int64_t missing, int64_t low, int64_t high) const;
  Ints list(std::string_view name, size_t n, int64_t missing, int64_t low, int64_t high) const;
  // Axes that are an attribute in old opsets and operand `i` in new ones; nothing where they are neither.
  std::optional<Ints> axes(size_t i, std::string_view name = "axes") const;

  // The next result.
  void give(Value value);
  void give(Tensor file, Element element) { give(Value(element, file)); }
  void give(Tensor file) { give(file, element()); }
  void give_empty(Element element, const Shape& shape) { give(Value::empty(element, shape)); }
  void give_last(Tensor last, Element element) { give(Value::of_last(element, last)); }
  void give_last(Tensor last) { give_last(last, element()); }
  // Cut to the width of the element, where that is narrower than what it is computed in.
  void give_number(Tensor file, Element element);
  void skip() { ++next_; }  // a result that nobody may ask for
  bool wants(size_t result) const { return result < node.outputs.size() && !node.outputs[result].empty(); }

  // f of operand 0 element by element.
  template <class F>
  void map(F f) {
    const Value x = value(0);
    if (x.is_empty()) return give(x);
    x.is_last() ? give_last(f(x.last())) : give(f(x.file()));
  }

  Tensor scalar(DType dtype, double value) { return full(graph(), dtype, {}, value); }
  Tensor ints_constant(const Ints& values, const Shape& shape);  // i64; not empty
  void give_ints(const Ints& values, const Shape& shape);        // i64

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Error(Status(Code::kUnsupported, cat(parts...)));
  }

 private:
  const AttrData* attr(std::string_view name) const;
  size_t next_ = 0;
};

// x of an element's width: integers wrap.
Tensor cut(Tensor x, Element element);
// The stored form at another element.
Tensor converted(Tensor x, Element from, Element to);

constexpr int64_t kMostSize = int64_t{1} << 30;  // of a window, of pads
// Throws where it is more than any size.
int64_t product(int64_t a, int64_t b);
// Throws where a table of so many numbers, which the file asks for, is more than any model's.
void expect_table(double numbers);

// Operands that NumPy's rule makes one shape, all in one order of axes.
struct Aligned {
  Tensors x;
  bool last = false;
};
Aligned align(const Call& c, const std::vector<size_t>& operands);

using Binary = Tensor (*)(Tensor, Tensor);
// op() with NumPy's rule.
Tensor broadcasted(Binary op, Tensor a, Tensor b);
Tensor choose(Tensor condition, Tensor a, Tensor b);

// The axes but those, then those.
Tensor axis_to_end(Tensor x, int64_t axis);
Tensor axis_from_end(Tensor x, int64_t axis);
Ints iota_list(int64_t n);
// Entries [from, to) along one axis, every `step`th.
Tensor part(Tensor x, int64_t axis, int64_t from, int64_t to, int64_t step = 1);
Tensor reshaped(Tensor x, const Ints& dims);
// Sums of products where the dtype has no dot: integers, in i32 or i64.
Tensor matmul(Call& c, Tensor a, Tensor b);

}  // namespace tenon::onnx
