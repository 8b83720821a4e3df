// Graphs that opencl-gpu.so rewrites: maps, what they read by index instead of as a stored broadcast, and what folds them.
#include <random>

#include "conformance/reference/reference.h"
#include "unit/opencl_graphs/opencl_device.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Dims = std::vector<int64_t>;

class OpenclChains : public OnOpencl {};

int64_t size_of(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// Adds nodes of one dtype, and knows their dims.
struct Maker {
  GraphBuilder b;
  int32_t dtype;
  std::vector<Dims> dims;  // of each value

  explicit Maker(int32_t type) : dtype(type) {}
  uint32_t input(const Dims& d) {
    dims.push_back(d);
    return b.input(dtype, d, TENON_ROLE_FEED);
  }
  uint32_t node(const char* op, const std::vector<uint32_t>& in, const Dims& d) {
    dims.push_back(d);
    const uint32_t y = b.value(dtype, d);
    b.node(op, in, {y}).name(op + std::to_string(y));
    return y;
  }
  uint32_t map(const char* op, const std::vector<uint32_t>& in) { return node(op, in, Dims(dims[in[0]])); }
  uint32_t broadcast(uint32_t x, const Dims& to, const Dims& axes) {
    const uint32_t y = node("broadcast", {x}, to);
    b.attr_list("shape", to).attr_list("dims", axes);
    return y;
  }
  uint32_t reshape(uint32_t x, const Dims& to) {
    const uint32_t y = node("reshape", {x}, to);
    b.attr_list("shape", to);
    return y;
  }
  // Elements start, start + stride, .. below limit of each axis.
  uint32_t slice(uint32_t x, const Dims& start, const Dims& limit, const Dims& stride) {
    Dims to;
    for (size_t d = 0; d < start.size(); ++d) to.push_back((limit[d] - start[d] - 1) / stride[d] + 1);
    const uint32_t y = node("slice", {x}, to);
    b.attr_list("start", start).attr_list("limit", limit).attr_list("stride", stride);
    return y;
  }
  uint32_t concat(const std::vector<uint32_t>& xs, int64_t axis) {
    Dims to = dims[xs[0]];
    for (size_t k = 1; k < xs.size(); ++k) to[static_cast<size_t>(axis)] += dims[xs[k]][static_cast<size_t>(axis)];
    const uint32_t y = node("concat", xs, to);
    b.attr_i64("axis", axis);
    return y;
  }
  uint32_t reduce(uint32_t x, const Dims& axes, int64_t kind) {
    Dims left;
    for (size_t d = 0; d < dims[x].size(); ++d)
      if (!std::count(axes.begin(), axes.end(), static_cast<int64_t>(d))) left.push_back(dims[x][d]);
    const uint32_t y = node("reduce", {x}, left);
    b.attr_list("axes", axes).attr_enum("kind", kind);
    return y;
  }
};

Tensor numbers(int32_t dtype, const Dims& dims, std::mt19937& random) {
  Tensor x = reference::zeros(dtype, dims);
  for (double& v : x.f) v = static_cast<double>(random() % 256);
  for (int64_t& v : x.i) v = static_cast<int64_t>(random() % 2001) - 1000;
  return x;
}

uint64_t workspace(const FlatGraph& g) {
  return Program(*opencl(), opencl()->device(), *g.graph()).info().workspace_bytes;
}

void expect_reference(const FlatGraph& g, const std::vector<Tensor>& inputs, const std::string& what) {
  std::vector<Tensor> expected;
  ASSERT_EQ(reference::evaluate_graph(*g.graph(), inputs, reference::Rounding::kDtype, expected), "") << what;
  const std::vector<Tensor> found = run_graph(*opencl(), *g.graph(), inputs);
  for (size_t r = 0; r < expected.size(); ++r) {
    EXPECT_EQ(found[r].f, expected[r].f) << what << ", result " << r;
    EXPECT_EQ(found[r].i, expected[r].i) << what << ", result " << r;
  }
}

TEST_F(OpenclChains, AreComputedInTheReduceThatReadsThem) {
  Maker m(TENON_F32);
  const uint32_t x = m.input({1 << 10, 1 << 8}), y = m.input({1 << 10, 1 << 8});
  m.b.result(m.reduce(m.map("mul", {m.map("exp", {x}), y}), {0, 1}, TENON_REDUCE_SUM));
  EXPECT_LT(workspace(m.b.build()), uint64_t{1} << 16);  // a value between them has 1 << 20 bytes
}

TEST_F(OpenclChains, ReadBroadcastsByIndex) {
  const Dims dims{1 << 8, 1 << 10};
  Maker m(TENON_F32);
  const uint32_t x = m.input(dims), row = m.input({1 << 10}), column = m.input({1 << 8}), one = m.input({});
  const uint32_t sum = m.map("add", {x, m.broadcast(row, dims, {1})});
  const uint32_t product = m.map("mul", {sum, m.broadcast(column, dims, {0})});
  m.b.result(m.map("sub", {product, m.broadcast(one, dims, {})}));
  EXPECT_LT(workspace(m.b.build()), uint64_t{1} << 12);
}

// The gates of a recurrent cell.
TEST_F(OpenclChains, ReadSlicesByIndex) {
  Maker m(TENON_F32);
  const uint32_t z = m.input({1 << 8, 1 << 10});
  const auto gate = [&](int64_t i) { return m.slice(z, {0, i << 8}, {1 << 8, (i + 1) << 8}, {1, 1}); };
  m.b.result(m.map("add", {m.map("mul", {gate(0), gate(1)}), m.map("mul", {gate(2), gate(3)})}));
  EXPECT_LT(workspace(m.b.build()), uint64_t{1} << 12);  // a gate has 1 << 18 bytes
}

TEST_F(OpenclChains, SlicesGiveTheirElements) {
  std::mt19937 random(5);
  const Dims none{1, 1, 1};
  for (const Dims& stride : {none, Dims{2, 1, 1}, Dims{1, 2, 1}, Dims{1, 1, 2}}) {
    Maker m(TENON_I32);
    const uint32_t x = m.input({6, 5, 48}), row = m.input({1, 1, 16});
    const uint32_t a = m.slice(x, {1, 2, 16}, {5, 4, 48}, stride), b = m.slice(x, {0, 0, 0}, {4, 2, 32}, stride);
    m.b.result(m.map("sub", {m.map("mul", {a, b}), m.map("neg", {b})}));
    m.b.result(m.reduce(m.map("sub", {b, a}), {0}, TENON_REDUCE_SUM));
    m.b.result(m.reshape(m.slice(x, {3, 0, 0}, {4, 5, 48}, none), {5, 48}));  // not of a chain
    m.b.result(m.map("neg", {m.slice(row, {0, 0, 7}, {1, 1, 8}, none)}));
    expect_reference(m.b.build(), {numbers(TENON_I32, {6, 5, 48}, random), numbers(TENON_I32, {1, 1, 16}, random)},
                     "stride " + std::to_string(stride[0]) + std::to_string(stride[1]) + std::to_string(stride[2]));
  }
}

// More operands than one kernel takes, some of another size.
TEST_F(OpenclChains, AreJoined) {
  std::mt19937 random(6);
  for (const int64_t axis : {0, 1, 2}) {
    Maker m(TENON_I32);
    std::vector<uint32_t> xs;
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < 21; ++k) {
      Dims dims{3, 4, 5};
      if (k == 2 || k > 18) dims[static_cast<size_t>(axis)] = 2;
      xs.push_back(m.input(dims));
      inputs.push_back(numbers(TENON_I32, dims, random));
    }
    m.b.result(m.concat(xs, axis));
    expect_reference(m.b.build(), inputs, "axis " + std::to_string(axis));
  }
}

TEST_F(OpenclChains, AreStoredAndFoldedAtOnce) {
  std::mt19937 random(3);
  Maker m(TENON_I32);
  const uint32_t x = m.input({30, 70});
  const uint32_t y = m.map("add", {x, m.broadcast(m.input({70}), {30, 70}, {1})});
  m.b.result(m.reduce(y, {1}, TENON_REDUCE_MAX));
  m.b.result(y);
  m.b.result(m.map("neg", {y}));
  expect_reference(m.b.build(), {numbers(TENON_I32, {30, 70}, random), numbers(TENON_I32, {70}, random)}, "stored");
}

// Products of whole numbers below 256 need 16 bits and keep 8; sums of them are exact until they are rounded.
TEST_F(OpenclChains, RoundEachNodeTo16Bits) {
  std::mt19937 random(4);
  for (const Dims& axes : {Dims{0}, Dims{1}}) {
    Maker m(TENON_BF16);
    const uint32_t x = m.input({48, 40}), y = m.input({40});
    m.b.result(m.reduce(m.map("mul", {x, m.broadcast(y, {48, 40}, {1})}), axes, TENON_REDUCE_SUM));
    expect_reference(m.b.build(), {numbers(TENON_BF16, {48, 40}, random), numbers(TENON_BF16, {40}, random)},
                     "axis " + std::to_string(axes[0]));
  }
}

// Its values are integers, which wrap: each element is right or wrong.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed), m_(TENON_I32) {
    for (const Dims& dims : {Dims{4, 6, 32}, Dims{6, 32}, Dims{4, 1, 32}, Dims{32}, Dims{4, 6}, Dims{}}) {
      inputs_.push_back(numbers(TENON_I32, dims, random_));
      m_.input(dims);
    }
    for (size_t n = 6 + pick(14); n > 0; --n) add();
    for (size_t n = 1 + pick(3); n > 0; --n) m_.b.result(static_cast<uint32_t>(m_.dims.size() - 1 - pick(4)));
  }
  FlatGraph build() const { return m_.b.build(); }
  const std::vector<Tensor>& inputs() const { return inputs_; }

 private:
  size_t pick(size_t n) { return random_() % n; }
  uint32_t any() { return static_cast<uint32_t>(pick(m_.dims.size())); }
  uint32_t recent() { return static_cast<uint32_t>(m_.dims.size() - 1 - pick(std::min<size_t>(m_.dims.size(), 5))); }

  // x, as a value of those dims, if it can be one.
  uint32_t spread(uint32_t x, const Dims& to) {
    const Dims& from = m_.dims[x];
    if (from == to) return x;
    Dims axes;
    size_t at = 0;
    for (size_t d = 0; d < from.size(); ++d, ++at) {
      while (at < to.size() && from[d] != to[at] && !(from[d] == 1 && pick(2))) ++at;
      if (at >= to.size()) return TENON_NONE;
      axes.push_back(static_cast<int64_t>(at));
    }
    return m_.broadcast(x, to, axes);
  }
  void add() {
    const uint32_t x = recent();
    const Dims dims = m_.dims[x];
    switch (pick(9)) {
      case 8:
        if (dims.size() < 3) return;
        m_.slice(x, {static_cast<int64_t>(pick(dims[0])), 0, 0}, dims, {1, 1, 1});
        return;
      case 0:
        m_.map(pick(2) ? "neg" : "abs", {x});
        return;
      case 1:
        if (dims.size() == 3) m_.reshape(x, pick(2) ? Dims{dims[0] * dims[1], dims[2]} : Dims{size_of(dims)});
        return;
      case 2: {
        Dims axes;
        for (size_t d = 0; d < dims.size(); ++d)
          if (pick(2)) axes.push_back(static_cast<int64_t>(d));
        if (!axes.empty()) m_.reduce(x, axes, static_cast<int64_t>(pick(4)));
        return;
      }
      default: {
        const char* const ops[] = {"add", "sub", "mul", "max", "min"};
        const uint32_t other = spread(any(), dims);
        if (other != TENON_NONE) m_.map(ops[pick(5)], {x, other});
      }
    }
  }

  std::mt19937 random_;
  Maker m_;
  std::vector<Tensor> inputs_;
};

TEST_F(OpenclChains, GiveWhatTheirNodesGive) {
  for (uint32_t seed = 0; seed < 25; ++seed) {
    const RandomGraph graph(seed);
    expect_reference(graph.build(), graph.inputs(), "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tenon::conformance
