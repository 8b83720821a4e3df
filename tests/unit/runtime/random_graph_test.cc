// Random graphs, with states handed around, views, repeated results and scratch, against an interpreter that gives
// every value memory of its own.
#include <random>

#include "unit/runtime/toy_backend.h"

namespace tenon::plugin::testing {
namespace {

constexpr size_t kSize = 24;
constexpr uint32_t kIterations = 3;
const std::vector<std::vector<int64_t>> kDims = {{24}, {4, 6}, {2, 12}};

// "halves" stands for several nodes, which take the first half of a and the second of b and join what they make of them;
// `way` says how.
struct NodeOf {
  std::string op;
  std::vector<uint32_t> operands, results;
  size_t way = 0;
};
struct ResultOf {
  uint32_t value;
  tenon_mode mode;
  int state = -1;  // that it becomes
};

// A graph in a form that can be built and interpreted.
struct Sketch {
  std::vector<std::vector<int64_t>> dims;  // of each value
  std::vector<uint32_t> states, feeds, scalars, constants;
  std::vector<Numbers> constant_values;
  std::vector<NodeOf> nodes;
  std::vector<ResultOf> results;
};

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Sketch make() {
    for (size_t i = 1 + pick(4); i > 0; --i) s_.states.push_back(value({24}));
    for (size_t i = pick(3); i > 0; --i) s_.feeds.push_back(value({24}));
    for (size_t i = pick(2); i > 0; --i) s_.scalars.push_back(value({}));
    for (size_t i = pick(3); i > 0; --i) constant();
    for (size_t i = 2 + pick(24); i > 0; --i) node();
    for (size_t i = 0; i < s_.states.size(); ++i)
      if (pick(4)) s_.results.push_back({flat_value(), TENON_MODE_LAST, static_cast<int>(i)});
    for (size_t i = 1 + pick(4); i > 0; --i)
      s_.results.push_back({any_value(), pick(3) ? TENON_MODE_LAST : TENON_MODE_EACH});
    if (pick(2)) s_.results.push_back({s_.results[pick(s_.results.size())].value, TENON_MODE_LAST});  // once more
    std::shuffle(s_.results.begin(), s_.results.end(), random_);
    return s_;
  }

 private:
  size_t pick(size_t n) { return random_() % n; }

  uint32_t value(std::vector<int64_t> dims) {
    s_.dims.push_back(std::move(dims));
    return static_cast<uint32_t>(s_.dims.size() - 1);
  }
  void constant() {
    s_.constants.push_back(value({24}));
    Numbers v(pick(2) ? kSize : 1);
    for (int64_t& x : v) x = static_cast<int64_t>(pick(100));
    s_.constant_values.push_back(v);
  }
  bool scalar(uint32_t v) const { return s_.dims[v].empty(); }
  // Recent values more often: chains make places free.
  uint32_t any_value() {
    for (;;) {
      const size_t n = s_.dims.size(), near = std::min<size_t>(n, 5);
      const auto v = static_cast<uint32_t>(pick(2) ? n - 1 - pick(near) : pick(n));
      if (!scalar(v)) return v;
    }
  }
  uint32_t flat_value() {
    for (;;)
      if (const uint32_t v = any_value(); s_.dims[v].size() == 1) return v;
  }
  uint32_t same_dims(uint32_t as) {
    for (;;)
      if (const uint32_t v = any_value(); s_.dims[v] == s_.dims[as]) return v;
  }

  void node() {
    static const char* const kOps[] = {"add",     "add",       "sub",        "mul",         "neg",      "neg",
                                       "reverse", "toy.total", "toy.rotate", "toy.squares", "toy.both", "reshape",
                                       "reshape", "toy.plus",  "halves",     "halves"};
    NodeOf n{kOps[pick(std::size(kOps))], {any_value()}, {}};
    if (n.op == "halves") n = {"halves", {flat_value(), flat_value()}, {}, pick(4)};
    if (n.op == "toy.plus" && s_.scalars.empty()) n.op = "neg";
    if (n.op == "toy.plus") n.operands.push_back(s_.scalars[pick(s_.scalars.size())]);
    if (n.op == "add" || n.op == "sub" || n.op == "mul" || n.op == "toy.both")
      n.operands.push_back(same_dims(n.operands[0]));
    n.results.push_back(value(n.op == "reshape" ? kDims[pick(3)] : s_.dims[n.operands[0]]));
    if (n.op == "toy.both") n.results.push_back(value(s_.dims[n.operands[0]]));
    s_.nodes.push_back(n);
  }

  std::mt19937 random_;
  Sketch s_;
};

// a's and b's halves: as they are; negated; negated, one of them under other shapes; their sum and difference.
void build_halves(GraphBuilder& b, const NodeOf& n, const std::vector<uint32_t>& in, uint32_t y) {
  const int64_t half = kSize / 2;
  const auto node = [&](const char* op, const std::vector<uint32_t>& operands, const std::vector<int64_t>& dims) {
    const uint32_t v = b.value(TENON_I64, dims);
    b.node(op, operands, {v}).name(op + std::to_string(v));
    if (std::string_view(op) == "reshape") b.attr_list("shape", dims);
    return v;
  };
  const auto slice = [&](uint32_t x, int64_t first) {
    const uint32_t v = node("slice", {x}, {half});
    b.attr_list("start", {first}).attr_list("limit", {first + half}).attr_list("stride", {1});
    return v;
  };
  uint32_t first = slice(in[0], 0), second = slice(in[1], half);
  if (n.way == 3) {
    const uint32_t sum = node("add", {first, second}, {half});
    second = node("sub", {second, first}, {half});
    first = sum;
  } else if (n.way > 0) {
    first = node("neg", {first}, {half});
    second = node("neg", {second}, {half});
  }
  if (n.way == 2) first = node("reshape", {node("reshape", {first}, {2, half / 2})}, {half});
  b.node("concat", {first, second}, {y}).name("y" + std::to_string(y)).attr_i64("axis", 0);
}

GraphBuilder build(const Sketch& s) {
  GraphBuilder b;
  std::vector<uint32_t> id(s.dims.size());
  for (uint32_t v : s.states) id[v] = b.input(TENON_I64, s.dims[v], TENON_ROLE_STATE);
  for (uint32_t v : s.feeds) id[v] = b.input(TENON_I64, s.dims[v], TENON_ROLE_FEED);
  for (uint32_t v : s.scalars) id[v] = b.input(TENON_I64, s.dims[v], TENON_ROLE_SCALAR);
  for (size_t i = 0; i < s.constants.size(); ++i)
    id[s.constants[i]] =
        b.constant(TENON_I64, s.dims[s.constants[i]], s.constant_values[i].data(), s.constant_values[i].size() * 8);
  int n = 0;
  for (const NodeOf& node : s.nodes) {
    std::vector<uint32_t> in, out;
    for (uint32_t v : node.operands) in.push_back(id[v]);
    for (uint32_t v : node.results) out.push_back(id[v] = b.value(TENON_I64, s.dims[v]));
    if (node.op == "halves")
      build_halves(b, node, in, out[0]);
    else
      b.node(node.op, in, out).name("n" + std::to_string(n++));
    if (node.op == "reverse") b.attr_list("axes", {0});
    if (node.op == "reshape") b.attr_list("shape", s.dims[node.results[0]]);
  }
  for (const ResultOf& r : s.results) b.result(id[r.value], r.mode, static_cast<uint32_t>(r.state + 1));
  return b;
}

int64_t at(const Numbers& v, size_t i) { return v[v.size() == 1 ? 0 : i]; }

void interpret(const NodeOf& n, std::vector<Numbers>& v) {
  const auto u = [&](int k, size_t i) { return static_cast<uint64_t>(at(v[n.operands[static_cast<size_t>(k)]], i)); };
  std::vector<Numbers> out(n.results.size(), Numbers(kSize));
  uint64_t sum = 0;
  for (size_t i = 0; i < kSize; ++i) sum += u(0, i);
  for (size_t i = 0; i < kSize; ++i) {
    uint64_t y = u(0, i);
    if (n.op == "add" || n.op == "toy.both" || n.op == "toy.plus") y += u(1, i);
    if (n.op == "sub") y -= u(1, i);
    if (n.op == "mul") y *= u(1, i);
    if (n.op == "neg") y = 0 - y;
    if (n.op == "reverse") y = u(0, kSize - 1 - i);
    if (n.op == "toy.total") y = sum;
    if (n.op == "toy.rotate") y = u(0, (i + 1) % kSize);
    if (n.op == "toy.squares") y *= y;
    const bool low = i < kSize / 2;
    if (n.op == "halves")
      y = n.way == 3  ? (low ? u(0, i) + u(1, i + kSize / 2) : u(1, i) - u(0, i - kSize / 2))
          : n.way > 0 ? 0 - u(low ? 0 : 1, i)
                      : u(low ? 0 : 1, i);
    out[0][i] = static_cast<int64_t>(y);
    if (n.op == "toy.both") out[1][i] = static_cast<int64_t>(u(0, i) - u(1, i));
  }
  for (size_t k = 0; k < out.size(); ++k) v[n.results[k]] = out[k];
}

struct Outcome {
  std::vector<Numbers> states, results;
  bool operator==(const Outcome&) const = default;
};

Numbers first_value(uint32_t v) {
  Numbers x(kSize);
  for (size_t i = 0; i < kSize; ++i) x[i] = static_cast<int64_t>((v * 31 + i * 7) % 97) - 40;
  return x;
}

Outcome expected(const Sketch& s) {
  std::vector<Numbers> v(s.dims.size());
  for (uint32_t x : s.states) v[x] = first_value(x);
  Outcome out;
  out.results.resize(s.results.size());
  for (uint32_t it = 0; it < kIterations; ++it) {
    for (uint32_t x : s.feeds) v[x] = first_value(x);
    for (size_t i = 0; i < s.constants.size(); ++i) v[s.constants[i]] = s.constant_values[i];
    for (uint32_t x : s.scalars) v[x] = {int64_t{x} + it};
    for (const NodeOf& n : s.nodes) interpret(n, v);
    std::vector<Numbers> next = v;
    for (size_t r = 0; r < s.results.size(); ++r) {
      Numbers row(kSize);
      for (size_t i = 0; i < kSize; ++i) row[i] = at(v[s.results[r].value], i);
      if (s.results[r].state >= 0) next[s.states[static_cast<size_t>(s.results[r].state)]] = row;
      Numbers& all = out.results[r];
      if (s.results[r].mode == TENON_MODE_EACH)
        all.insert(all.end(), row.begin(), row.end());
      else
        all = row;
    }
    v = next;
  }
  for (uint32_t x : s.states) out.states.push_back(v[x]);
  return out;
}

Outcome found(Toy& toy, const Sketch& s) {
  tenon_program* program = toy.compile(build(s), kIterations);
  Arguments a;
  a.iterations = kIterations;
  for (uint32_t x : s.states) a.inputs.push_back(toy.buffer(first_value(x)));
  for (uint32_t x : s.feeds) a.inputs.push_back(toy.buffer(first_value(x)));
  for (const ResultOf& r : s.results)
    a.results.push_back(r.state >= 0 ? a.inputs[static_cast<size_t>(r.state)]
                                     : toy.buffer(Numbers(kSize * kIterations, -1)));
  for (uint32_t it = 0; it < kIterations; ++it)
    for (uint32_t x : s.scalars) a.scalars.push_back({.i64 = int64_t{x} + it});
  EXPECT_EQ(run(toy, program, a), kIterations);
  Outcome out;
  for (size_t i = 0; i < s.states.size(); ++i) out.states.push_back(toy.read(a.inputs[i], kSize));
  for (size_t r = 0; r < s.results.size(); ++r)
    out.results.push_back(toy.read(a.results[r], kSize * (s.results[r].mode == TENON_MODE_EACH ? kIterations : 1)));
  return out;
}

std::string describe(const Sketch& s) {
  std::string text;
  const auto list = [&](const std::vector<uint32_t>& v) {
    for (uint32_t x : v) text += " " + std::to_string(x);
  };
  text += "states", list(s.states), text += " feeds", list(s.feeds), text += " constants", list(s.constants),
      text += "\n";
  for (const NodeOf& n : s.nodes) list(n.results), text += " = " + n.op, list(n.operands), text += "\n";
  for (const ResultOf& r : s.results)
    text += "result " + std::to_string(r.value) + " mode " + std::to_string(r.mode) + " state " +
            std::to_string(r.state) + "\n";
  return text;
}

void compare(int threads) {
  Toy toy(threads);
  for (uint32_t seed = 1; seed <= 250; ++seed) {
    const Sketch s = Maker(seed).make();
    Outcome want = expected(s);
    // A state's own result is the state.
    for (size_t r = 0; r < s.results.size(); ++r)
      if (s.results[r].state >= 0) want.results[r] = want.states[static_cast<size_t>(s.results[r].state)];
    ASSERT_EQ(found(toy, s) == want, true) << "seed " << seed << "\n" << describe(s);
  }
}

// Halves of an input are read where they lie, and what is made of them is written where it is joined.
TEST(Views, CutAndJoinWithoutMoving) {
  Toy toy;
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kSize}, TENON_ROLE_FEED), y = b.value(TENON_I64, {kSize});
  build_halves(b, {"halves", {}, {}, 2}, {x, x}, y);
  b.result(y);
  tenon_options options{sizeof(tenon_options)};
  options.max_iterations = 1;
  tenon_info info{sizeof(tenon_info)};
  tenon_program* program = nullptr;
  ASSERT_EQ(toy.compile(b, options, &program, &info).code, TENON_OK);
  EXPECT_EQ(info.workspace_bytes, 0u);
  toy.table.program_destroy(program);
}

TEST(RandomGraphs, EqualAnInterpreterOnOneThread) { compare(1); }
TEST(RandomGraphs, EqualAnInterpreterOnThreeThreads) { compare(3); }

}  // namespace
}  // namespace tenon::plugin::testing
