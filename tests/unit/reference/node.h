// Builds one node and evaluates it by the reference.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "conformance/reference/reference.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::reference {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline Tensor floats(const std::vector<int64_t>& dims, const std::vector<double>& values, int32_t dtype = TENON_F32) {
  return {dtype, dims, values, {}};
}
inline Tensor ints(const std::vector<int64_t>& dims, const std::vector<int64_t>& values, int32_t dtype = TENON_I32) {
  return {dtype, dims, {}, values};
}
inline Tensor bools(const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return ints(dims, values, TENON_BOOL);
}

// Node("slice", {x}).list("start", {1}).. .run(TENON_F32, {2})
class Node {
 public:
  Node(std::string op, std::vector<Tensor> operands) : op_(std::move(op)), operands_(std::move(operands)) {
    for (const Tensor& x : operands_) {
      ids_.push_back(builder_.input(x.dtype, x.dims, TENON_ROLE_FEED));
      in_.push_back(&x);
    }
  }
  Node(const Node&) = delete;

  // Declares a result.
  Node& result(int32_t dtype, const std::vector<int64_t>& dims) {
    results_.push_back(builder_.value(dtype, dims));
    return *this;
  }
  Node& list(const char* name, const std::vector<int64_t>& v) { return attr({name, TENON_ATTR_LIST, v, 0}); }
  Node& i64(const char* name, int64_t v) { return attr({name, TENON_ATTR_I64, {v}, 0}); }
  Node& enumerator(const char* name, int64_t v) { return attr({name, TENON_ATTR_ENUM, {v}, 0}); }
  Node& dtype(const char* name, int64_t v) { return attr({name, TENON_ATTR_DTYPE, {v}, 0}); }
  Node& flag(const char* name, bool v) { return attr({name, TENON_ATTR_BOOL, {v}, 0}); }
  Node& f64(const char* name, double v) { return attr({name, TENON_ATTR_F64, {}, v}); }

  // The error of evaluating; results go to out.
  std::string evaluate(std::vector<Tensor>& out) {
    build();
    return evaluate_node(plugin::GraphView(*flat_.graph()).node(0), in_, out);
  }
  // The only result, which is declared here.
  Tensor run(int32_t dtype, const std::vector<int64_t>& dims) {
    result(dtype, dims);
    std::vector<Tensor> out;
    EXPECT_EQ(evaluate(out), "");
    return out.empty() ? Tensor() : out[0];
  }
  // After evaluate() or run().
  plugin::NodeView view() const { return plugin::GraphView(*flat_.graph()).node(0); }
  const std::vector<const Tensor*>& operands() const { return in_; }

 private:
  struct Attr {
    std::string name;
    int32_t type;
    std::vector<int64_t> list;
    double f64;
  };
  Node& attr(Attr a) {
    attrs_.push_back(std::move(a));
    return *this;
  }
  void build() {
    builder_.node(op_, ids_, results_).name("n");
    for (const Attr& a : attrs_) {
      if (a.type == TENON_ATTR_F64) {
        builder_.attr_f64(a.name, a.f64);
      } else if (a.type == TENON_ATTR_LIST) {
        builder_.attr_list(a.name, a.list);
      } else {
        builder_.attr(a.name, a.type, a.list[0]);
      }
    }
    for (uint32_t id : results_) builder_.result(id);
    flat_ = builder_.build();
  }

  std::string op_;
  std::vector<Tensor> operands_;
  std::vector<const Tensor*> in_;
  std::vector<uint32_t> ids_, results_;
  std::vector<Attr> attrs_;
  plugin::GraphBuilder builder_;
  plugin::FlatGraph flat_;
};

// Equal element by element, NaN to NaN; finite ones within `tolerance`.
inline void expect_floats(const Tensor& y, const std::vector<double>& expected, double tolerance = 0) {
  ASSERT_EQ(y.f.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != expected[i]) {
      EXPECT_NE(y.f[i], y.f[i]) << "element " << i;
    } else if (tolerance == 0 || expected[i] - expected[i] != 0) {
      EXPECT_EQ(y.f[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(y.f[i], expected[i], tolerance) << "element " << i;
    }
  }
}

inline Tensor elementwise(const char* op, const std::vector<Tensor>& operands) {
  std::vector<int64_t> dims;
  for (const Tensor& x : operands) {
    if (!x.dims.empty()) dims = x.dims;
  }
  return Node(op, operands).run(operands.back().dtype, dims);
}

}  // namespace tenon::reference
