#include "unit/op/op_testing.h"

#include <algorithm>
#include <cmath>

#include "compile/compile.h"

namespace tenon::op_testing {
namespace {

// splitmix64: small, and the same everywhere.
uint64_t next(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double uniform(uint64_t& state) { return static_cast<double>(next(state) >> 11) * 0x1p-53; }

reference::Tensor reference_tensor(const Feed& feed) {
  reference::Tensor t = reference::zeros(static_cast<int32_t>(feed.type.dtype), feed.type.shape.vec());
  if (is_float(feed.type.dtype))
    t.f = feed.values;
  else
    t.i.assign(feed.values.begin(), feed.values.end());
  return t;
}

Tensors add_inputs(Graph& graph, const std::vector<Feed>& feeds) {
  Tensors inputs;
  for (size_t i = 0; i < feeds.size(); ++i)
    inputs.emplace_back(&graph, graph.add_input(feeds[i].type, Role::kFeed, "x" + std::to_string(i)));
  return inputs;
}

// A graph that is lowered once and run with many values.
class Program {
 public:
  Program(Graph& graph, const Tensors& results) {
    for (const Tensor& r : results) graph.results.push_back({r.id()});
    const Status status = verify(graph);
    EXPECT_TRUE(status.ok()) << status.message();
    lowered_ = lower_to_primitives(graph);
    const Status still = verify(lowered_);
    EXPECT_TRUE(still.ok()) << still.message();
    image_ = std::make_unique<GraphImage>(flatten(lowered_));
  }

  std::vector<Evaluated> run(const std::vector<Feed>& feeds, reference::Rounding rounding) const {
    std::vector<reference::Tensor> inputs, results;
    for (const Feed& f : feeds) inputs.push_back(reference_tensor(f));
    const std::string error = reference::evaluate_graph(*image_->flat(), inputs, rounding, results);
    EXPECT_EQ(error, "");
    std::vector<Evaluated> out;
    for (const reference::Tensor& r : results) {
      Evaluated e{{static_cast<DType>(r.dtype), Shape(r.dims)}, r.f};
      if (!is_float(e.type.dtype)) e.values.assign(r.i.begin(), r.i.end());
      out.push_back(std::move(e));
    }
    return out;
  }

 private:
  Graph lowered_;
  std::unique_ptr<GraphImage> image_;
};

std::vector<Evaluated> run(const Build& build, const std::vector<Feed>& feeds, reference::Rounding rounding) {
  Graph graph;
  const Tensors results = build(add_inputs(graph, feeds));
  return Program(graph, results).run(feeds, rounding);
}

// The sum of every float result times weights that differ from element to element.
Tensor weighted_sum(const Tensors& results) {
  Tensor loss;
  int seed = 100;
  for (const Tensor& r : results) {
    if (!r || !is_float(r.dtype())) continue;
    const Feed weights = noise(r.shape(), seed++, 0.5, 1.5);
    const std::string bytes(reinterpret_cast<const char*>(weights.values.data()),
                            weights.values.size() * sizeof(double));
    const Tensor w = cast(constant(*r.graph(), {DType::kF64, r.shape()}, bytes), r.dtype());
    const Tensor sum = cast(reduce_sum(mul(r, w)), DType::kF64);
    loss = loss ? add(loss, sum) : sum;
  }
  return loss;
}

}  // namespace

Feed of(DType dtype, const Shape& shape, Doubles values) { return {{dtype, shape}, std::move(values)}; }
Feed f64(const Shape& shape, Doubles values) { return of(DType::kF64, shape, std::move(values)); }
Feed f32(const Shape& shape, Doubles values) { return of(DType::kF32, shape, std::move(values)); }

Feed noise(const Shape& shape, int seed, double low, double high) {
  uint64_t state = static_cast<uint64_t>(seed);
  Doubles values(static_cast<size_t>(shape.elements()));
  for (double& v : values) v = low + (high - low) * uniform(state);
  return f64(shape, std::move(values));
}

Feed distinct(const Shape& shape, int seed, double gap) {
  uint64_t state = static_cast<uint64_t>(seed);
  Doubles values(static_cast<size_t>(shape.elements()));
  const double middle = std::floor(static_cast<double>(values.size()) / 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<double>(i) - middle + 0.5) * gap;
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[next(state) % i]);
  return f64(shape, std::move(values));
}

std::vector<Evaluated> evaluate(const Build& build, const std::vector<Feed>& feeds) {
  return run(build, feeds, reference::Rounding::kExact);
}

Doubles value(const Build& build, const std::vector<Feed>& feeds) { return evaluate(build, feeds).at(0).values; }

Doubles rounded_value(const Build& build, const std::vector<Feed>& feeds) {
  return run(build, feeds, reference::Rounding::kDtype).at(0).values;
}

void expect_near(const Doubles& actual, const Doubles& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool same = actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i]));
    if (!same) {
      EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i]))) << "element " << i;
    }
  }
}

void expect_gradients(const Build& build, const std::vector<Feed>& feeds, const std::vector<int>& skip,
                      double tolerance) {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < feeds.size(); ++i)
    if (feeds[i].type.dtype == DType::kF64 && std::find(skip.begin(), skip.end(), static_cast<int>(i)) == skip.end())
      wanted.push_back(i);
  Graph forward, backward;
  const Program loss(forward, {weighted_sum(build(add_inputs(forward, feeds)))});
  const Tensors inputs = add_inputs(backward, feeds);
  Tensors variables;
  for (size_t i : wanted) variables.push_back(inputs[i]);
  const Tensors grads = gradients(weighted_sum(build(inputs)), variables);
  for (size_t k = 0; k < grads.size(); ++k) ASSERT_TRUE(grads[k]) << "input " << wanted[k] << " has no gradient";
  const std::vector<Evaluated> found = Program(backward, grads).run(feeds, reference::Rounding::kExact);
  constexpr double kStep = 1e-5;
  for (size_t k = 0; k < wanted.size(); ++k) {
    std::vector<Feed> moved = feeds;
    Doubles& x = moved[wanted[k]].values;
    const auto loss_at = [&](size_t e, double by) {
      const double saved = x[e];
      x[e] += by;
      const double y = loss.run(moved, reference::Rounding::kExact).at(0).values.at(0);
      x[e] = saved;
      return y;
    };
    for (size_t e = 0; e < x.size(); ++e) {
      const double expected = (loss_at(e, kStep) - loss_at(e, -kStep)) / (2 * kStep);
      EXPECT_NEAR(found.at(k).values[e], expected, tolerance * std::max(1.0, std::fabs(expected)))
          << "input " << wanted[k] << ", element " << e;
    }
  }
}

std::string error_of(const Build& build, const std::vector<Type>& types) {
  Graph graph;
  Tensors inputs;
  for (size_t i = 0; i < types.size(); ++i)
    inputs.emplace_back(&graph, graph.add_input(types[i], Role::kFeed, "x" + std::to_string(i)));
  try {
    build(inputs);
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

void expect_types_survive_lowering(const Build& build, const std::vector<Type>& types) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    Graph graph;
    Tensors inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      Type type = types[i];
      if (type.dtype == DType::kF64) type.dtype = dtype;
      inputs.emplace_back(&graph, graph.add_input(type, Role::kFeed, "x" + std::to_string(i)));
    }
    std::vector<Type> expected;
    for (const Tensor& r : build(inputs)) {
      if (!r) continue;
      expected.push_back(r.type());
      graph.results.push_back({r.id()});
    }
    const Graph lowered = lower_to_primitives(graph);
    const Status status = verify(lowered);
    EXPECT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(lowered.type(lowered.results[i].value).str(), expected[i].str()) << "result " << i;
  }
}

int count(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; }));
}

}  // namespace tenon::op_testing
