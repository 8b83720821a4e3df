#include "unit/op/bounded_testing.h"

#include <algorithm>

namespace tenon::op_testing {
namespace {

// The first `count` of xs have dimensions, which the sizes behind them fill.
Tensors make_dynamic(const Tensors& inputs, size_t count, const std::vector<Ends>& ends) {
  Tensors xs(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count));
  Graph& graph = *xs[0].graph();
  for (size_t d = count; d < inputs.size(); ++d)
    graph.dynamic_dims.push_back({"d" + std::to_string(d - count), 0, inputs[d].id()});
  for (const Ends& e : ends) {
    Bounds bounds = graph.bounds(xs[static_cast<size_t>(e.input)].id());
    bounds[static_cast<size_t>(e.axis)][0].dim = e.dim;
    graph.set_bounds(xs[static_cast<size_t>(e.input)].id(), bounds);
  }
  return xs;
}

size_t dims_of(const std::vector<Ends>& ends) {
  int most = -1;
  for (const Ends& e : ends) most = std::max(most, e.dim);
  return static_cast<size_t>(most) + 1;
}

// Whether the place counted in row-major order of `outer` is within `inner`; there, its place.
bool place_within(const Shape& outer, const Shape& inner, int64_t at, int64_t& place) {
  std::vector<int64_t> index(static_cast<size_t>(outer.rank()));
  for (int a = outer.rank(); a-- > 0; at /= outer[a]) index[static_cast<size_t>(a)] = at % outer[a];
  place = 0;
  for (int a = 0; a < inner.rank(); ++a) {
    if (index[static_cast<size_t>(a)] >= inner[a]) return false;
    place = place * inner[a] + index[static_cast<size_t>(a)];
  }
  return true;
}

Feed padded(const Feed& feed, const Shape& shape) {
  const double garbage = is_float(feed.type.dtype) ? kNaN : 99;
  Feed out{{feed.type.dtype, shape}, Doubles(static_cast<size_t>(shape.elements()), garbage)};
  int64_t place = 0;
  for (int64_t i = 0; i < shape.elements(); ++i)
    if (place_within(shape, feed.type.shape, i, place))
      out.values[static_cast<size_t>(i)] = feed.values[static_cast<size_t>(place)];
  return out;
}

}  // namespace

void expect_equal_when_bounded(const Build& build, const std::vector<Feed>& feeds, const std::vector<Ends>& ends,
                               const std::vector<int64_t>& bounds, double tolerance) {
  std::vector<Feed> wide = feeds;
  Doubles sizes(bounds.size());
  for (size_t i = 0; i < feeds.size(); ++i) {
    Shape shape = feeds[i].type.shape;
    for (const Ends& e : ends) {
      if (e.input != static_cast<int>(i)) continue;
      sizes[static_cast<size_t>(e.dim)] = static_cast<double>(shape[e.axis]);
      shape.set(e.axis, bounds[static_cast<size_t>(e.dim)]);
    }
    wide[i] = padded(feeds[i], shape);
  }
  for (double size : sizes) wide.push_back(of(DType::kI32, {}, {size}));
  const std::vector<Evaluated> expected = evaluate(build, feeds);
  const std::vector<Evaluated> actual =
      evaluate([&](const Tensors& in) { return build(make_dynamic(in, feeds.size(), ends)); }, wide);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t r = 0; r < expected.size(); ++r) {
    SCOPED_TRACE("result " + std::to_string(r));
    ASSERT_EQ(actual[r].type.shape.rank(), expected[r].type.shape.rank());
    Doubles there(expected[r].values.size());
    int64_t place = 0;
    for (int64_t i = 0; i < actual[r].type.shape.elements(); ++i)
      if (place_within(actual[r].type.shape, expected[r].type.shape, i, place))
        there[static_cast<size_t>(place)] = actual[r].values[static_cast<size_t>(i)];
    expect_near(there, expected[r].values, tolerance);
  }
}

std::string bounded_graph_text(const Build& build, const std::vector<Type>& types, const std::vector<Ends>& ends) {
  Graph graph;
  Tensors inputs;
  for (const Type& t : types) inputs.emplace_back(&graph, graph.add_input(t, Role::kFeed, "x"));
  for (size_t d = 0; d < dims_of(ends); ++d)
    inputs.emplace_back(&graph, graph.add_input({DType::kI32, {}}, Role::kScalar, "d"));
  for (const Tensor& y : build(make_dynamic(inputs, types.size(), ends))) graph.results.push_back({y.id()});
  return to_text(graph);
}

std::string error_when_bounded(const Build& build, const std::vector<Type>& types, const std::vector<Ends>& ends) {
  try {
    bounded_graph_text(build, types, ends);
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace tenon::op_testing
