// Random graphs of products, dropouts, additions and what is between them give the bits that their nodes give one by one:
// whatever cpu.so joins, it joins rightly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Shape = std::vector<int64_t>;

// The same graph for the same seed. apart: every value is a result, so that nothing can be joined; the results of the other
// graph come first.
class RandomGraph {
 public:
  RandomGraph(uint32_t seed, bool apart) : random_(seed), fill_(seed) {
    const int64_t rows = one_of<int64_t>({2, 6, 40, 48, 130}), columns = one_of<int64_t>({4, 6, 8, 36, 64, 100});
    shapes_ = {{rows, columns}, {2, rows / 2, columns}, {rows * columns}};
    rate_ = one_of<double>({0, 1e-9, 0.3, 0.5, 1});
    for (int shape : {0, 1, 0}) values_.push_back({feed(shapes_[static_cast<size_t>(shape)]), shape, 0});
    bias_ = feed({columns});
    for (uint32_t& w : weights_) w = feed({columns, columns});
    const int64_t seed_of_draws = 99, step = 123;
    draw_[0] = graph_.constant(TENON_I64, {}, &seed_of_draws, 8), draw_[1] = graph_.constant(TENON_I64, {}, &step, 8);
    const size_t given = values_.size();
    for (int i = 4 + below(14); i > 0; --i) add_node();
    std::vector<uint32_t> hidden;
    for (size_t i = given; i < values_.size(); ++i)
      if (values_[i].readers == 0 || below(12) == 0)
        graph_.result(values_[i].id);
      else
        hidden.push_back(values_[i].id);
    for (uint32_t sum : sums_) graph_.result(sum);
    for (uint32_t v : hidden)
      if (apart) graph_.result(v);
    built = graph_.build();
  }

  std::vector<Tensor> inputs;
  FlatGraph built;

 private:
  struct Value {
    uint32_t id;
    int shape, readers;
    bool relu = false;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }
  uint32_t feed(const Shape& dims) {
    Tensor t{TENON_F32, dims, {}, {}};
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < n; ++i) t.f.push_back(below(50) == 0 ? -0.f : normal(fill_));
    inputs.push_back(t);
    return graph_.input(TENON_F32, dims, TENON_ROLE_FEED);
  }
  // A value of that shape, often one of the last; any shape: -1.
  Value& any(int shape = -1) {
    for (;;) {
      const int n = static_cast<int>(values_.size());
      Value& v = values_[static_cast<size_t>(below(3) ? n - 1 - below(std::min(n, 4)) : below(n))];
      if (shape < 0 || v.shape == shape) return ++v.readers, v;
    }
  }
  uint32_t made(int shape, bool relu = false) {
    values_.push_back({graph_.value(TENON_F32, shapes_[static_cast<size_t>(shape)]), shape, 0, relu});
    return values_.back().id;
  }
  uint32_t sometimes(int shape) { return below(5) ? TENON_NONE : any(shape).id; }

  void add_node() {
    switch (below(6)) {
      case 0: {
        const uint32_t a = any(0).id;
        graph_.node("dot", {a, weights_[below(2)]}, {made(0)}).attr_bool("ta", false).attr_bool("tb", below(2) != 0);
        graph_.attr_dtype("out", TENON_F32);
        return;
      }
      case 1: {
        const uint32_t a = any(0).id, residual = sometimes(0), bias = below(3) ? bias_ : TENON_NONE;
        const bool relu = below(4) != 0;
        graph_.node("dot_bias_act", {a, weights_[below(2)], bias, residual}, {made(0, relu)}).attr_bool("ta", false);
        graph_.attr_bool("tb", below(2) != 0).attr_dtype("out", TENON_F32).attr_f64("alpha", 0);
        graph_.attr_enum("act", relu ? TENON_ACT_RELU : TENON_ACT_NONE);
        return;
      }
      case 2: {
        const Value x = any();
        const int to = below(8) == 0 ? 2 : x.shape == 0;
        graph_.node("reshape", {x.id}, {made(to)}).attr_list("shape", shapes_[static_cast<size_t>(to)]);
        return;
      }
      case 3: {
        const Value x = any();
        const uint32_t y = any(x.shape).id;
        graph_.node("add", {x.id, y}, {made(x.shape)});
        return;
      }
      case 4: {
        const Value x = any();
        const uint32_t residual = sometimes(x.shape);
        graph_.node("dropout", {x.id, draw_[0], draw_[1], residual}, {made(x.shape)}).attr_f64("rate", rate_);
        graph_.attr_i64("stream", below(5) ? 5 : 6);
        return;
      }
      default: {
        const uint32_t g = any(0).id;
        uint32_t t = any(0).id;
        for (size_t i = values_.size(); i-- > 0;)
          if (values_[i].relu && below(3)) {
            ++values_[i].readers;
            t = values_[i].id;
            break;
          }
        sums_.push_back(graph_.value(TENON_F32, {shapes_[0][1]}));
        graph_.node("bias_act_grad", {g, t}, {made(0), sums_.back()}).attr_enum("act", TENON_ACT_RELU);
        graph_.attr_f64("alpha", 0);
      }
    }
  }

  std::mt19937 random_, fill_;
  std::vector<Shape> shapes_;
  double rate_ = 0;
  GraphBuilder graph_;
  std::vector<Value> values_;
  uint32_t weights_[2] = {}, bias_ = 0, draw_[2] = {};
  std::vector<uint32_t> sums_;  // results beside values_
};

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(JoinedNodes, HaveTheBitsOfNodesApart) {
  Subject cpu(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 2);
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    const RandomGraph joined(seed, false), apart(seed, true);
    const std::vector<Tensor> got = run_graph(cpu, *joined.built.graph(), joined.inputs),
                              want = run_graph(cpu, *apart.built.graph(), apart.inputs);
    for (size_t r = 0; r < got.size(); ++r)
      for (size_t i = 0; i < got[r].f.size(); ++i)
        ASSERT_TRUE(same_bits(got[r].f[i], want[r].f[i])) << "seed " << seed << ", result " << r << ", element " << i
                                                          << ": " << got[r].f[i] << ", expected " << want[r].f[i];
  }
}

}  // namespace
}  // namespace tenon::conformance
