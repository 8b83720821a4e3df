// A readable view of the flat graph of the C ABI (tenon/abi/op.h). C++17, header only.
//
// Views borrow: they are valid as long as the tenon_graph is, which the core guarantees for one call
// of supports or compile. Reading a missing attribute, or one of another kind, gives the default that the caller names.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/abi/op.h"

namespace tenon::plugin {

// A borrowed run of elements (std::span is C++20).
template <class T>
class Span {
 public:
  Span() = default;
  Span(const T* data, size_t size) : data_(data), size_(size) {}
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T* data() const { return data_; }
  std::vector<T> vec() const { return {begin(), end()}; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

inline int64_t dtype_bytes(int32_t dtype) {
  switch (dtype) {
    case TENON_F64:
    case TENON_I64:
      return 8;
    case TENON_F32:
    case TENON_I32:
      return 4;
    case TENON_BF16:
    case TENON_F16:
      return 2;
    case TENON_U8:
    case TENON_BOOL:
      return 1;
    default:
      return 0;
  }
}

inline const char* dtype_name(int32_t dtype) {
  static const char* const names[] = {"none", "f32", "bf16", "f16", "f64", "i32", "i64", "u8", "bool"};
  return dtype >= 0 && dtype <= 8 ? names[dtype] : "none";
}

inline bool is_float(int32_t dtype) { return dtype >= TENON_F32 && dtype <= TENON_F64; }

// Dtype and dimensions of a value.
class ValueView {
 public:
  explicit ValueView(const tenon_value& value) : value_(&value) {}
  int32_t dtype() const { return value_->dtype; }
  int rank() const { return static_cast<int>(value_->rank); }
  int64_t dim(int axis) const { return value_->dims[axis < 0 ? axis + rank() : axis]; }
  Span<int64_t> dims() const { return {value_->dims, value_->rank}; }
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims()) n *= d;
    return n;
  }
  int64_t bytes() const { return elements() * dtype_bytes(dtype()); }

 private:
  const tenon_value* value_;
};

class NodeView;

class GraphView {
 public:
  explicit GraphView(const tenon_graph& graph) : graph_(&graph) {}

  const tenon_graph* flat() const { return graph_; }
  uint32_t n_values() const { return graph_->values.count; }
  uint32_t n_nodes() const { return graph_->nodes.count; }
  uint32_t n_inputs() const { return graph_->inputs.count; }
  uint32_t n_results() const { return graph_->results.count; }
  uint32_t n_constants() const { return graph_->constants.count; }

  ValueView value(uint32_t i) const { return ValueView(at<tenon_value>(graph_->values, i)); }
  NodeView node(uint32_t i) const;
  const tenon_input& input(uint32_t i) const { return at<tenon_input>(graph_->inputs, i); }
  const tenon_result& result(uint32_t i) const { return at<tenon_result>(graph_->results, i); }
  const tenon_constant& constant(uint32_t i) const { return at<tenon_constant>(graph_->constants, i); }
  const uint8_t* constant_data(const tenon_constant& c) const { return graph_->data + c.at; }

  uint32_t id(uint32_t i) const { return at<uint32_t>(graph_->ids, i); }
  const tenon_attr& attr(uint32_t i) const { return at<tenon_attr>(graph_->attrs, i); }
  const uint8_t* attr_data(const tenon_attr& a) const { return graph_->data + a.at; }
  std::string_view text(tenon_text t) const {
    return {reinterpret_cast<const char*>(graph_->data + graph_->strings.at + t.at), t.size};
  }
  std::string_view value_name(uint32_t i) const { return text(at<tenon_value>(graph_->values, i).name); }
  const tenon_node& raw_node(uint32_t i) const { return at<tenon_node>(graph_->nodes, i); }

 private:
  template <class T>
  const T& at(const tenon_array& array, uint32_t i) const {
    return *reinterpret_cast<const T*>(graph_->data + array.at + static_cast<uint64_t>(i) * array.stride);
  }
  const tenon_graph* graph_;
};

class NodeView {
 public:
  NodeView(const GraphView& graph, uint32_t index) : graph_(graph), node_(&graph.raw_node(index)), index_(index) {}

  uint32_t index() const { return index_; }
  std::string_view op() const { return graph_.text(node_->op); }
  uint32_t version() const { return node_->version; }
  std::string_view name() const { return graph_.text(node_->name); }

  int operands() const { return static_cast<int>(node_->operands.count); }
  int results() const { return static_cast<int>(node_->results.count); }
  uint32_t operand_id(int i) const { return graph_.id(node_->operands.first + static_cast<uint32_t>(i)); }
  uint32_t result_id(int i) const { return graph_.id(node_->results.first + static_cast<uint32_t>(i)); }
  // Whether optional operand i is there.
  bool has(int i) const { return i < operands() && operand_id(i) != TENON_NONE; }
  bool has_result(int i) const { return i < results() && result_id(i) != TENON_NONE; }
  // REQUIRED: has(i).
  ValueView in(int i) const { return graph_.value(operand_id(i)); }
  ValueView out(int i) const { return graph_.value(result_id(i)); }

  int64_t i64(std::string_view name, int64_t missing = 0) const { return scalar<int64_t>(name, missing); }
  bool flag(std::string_view name, bool missing = false) const { return scalar<int64_t>(name, missing) != 0; }
  int32_t enumerator(std::string_view name, int32_t missing = 0) const {
    return static_cast<int32_t>(scalar<int64_t>(name, missing));
  }
  double f64(std::string_view name, double missing = 0) const { return scalar<double>(name, missing); }
  // i64 list; empty when missing, or no integers.
  Span<int64_t> list(std::string_view name) const {
    const tenon_attr* a = find(name);
    const bool listed = a && (a->type == TENON_ATTR_LIST || a->type == TENON_ATTR_I64);
    return listed ? Span<int64_t>(reinterpret_cast<const int64_t*>(graph_.attr_data(*a)), a->count) : Span<int64_t>();
  }
  int attributes() const { return static_cast<int>(node_->attrs.count); }
  const tenon_attr& attribute(int i) const { return graph_.attr(node_->attrs.first + static_cast<uint32_t>(i)); }
  std::string_view attribute_name(int i) const { return graph_.text(attribute(i).name); }
  const tenon_attr* find(std::string_view name) const {
    for (uint32_t i = 0; i < node_->attrs.count; ++i) {
      const tenon_attr& a = graph_.attr(node_->attrs.first + i);
      if (graph_.text(a.name) == name) return &a;
    }
    return nullptr;
  }
  const GraphView& graph() const { return graph_; }

 private:
  template <class T>
  T scalar(std::string_view name, T missing) const {
    const tenon_attr* a = find(name);
    const bool one = a && a->count && a->type >= TENON_ATTR_I64 && a->type <= TENON_ATTR_ENUM;
    if (one && (a->type == TENON_ATTR_F64) == std::is_floating_point_v<T>)
      std::memcpy(&missing, graph_.attr_data(*a), sizeof missing);
    return missing;
  }
  GraphView graph_;
  const tenon_node* node_;
  uint32_t index_;
};

inline NodeView GraphView::node(uint32_t i) const { return NodeView(*this, i); }

}  // namespace tenon::plugin
