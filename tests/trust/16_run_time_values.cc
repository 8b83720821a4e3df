// What the op set says of values that no shape rule sees, indices and labels out of range, division by zero, NaN: on a
// backend, with and without the validation layer. Expected numbers are written here by hand.
//   16_run_time_values LIBRARY     prints counts; 1: a value is wrong, 2: no backend can be had, 77: no device
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

#include "conformance/host/session.h"
#include "conformance/validator.h"

namespace tenon::conformance {
namespace {

using plugin::GraphBuilder;
using reference::Tensor;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLeast = INT32_MIN, kMost = INT32_MAX;

using Dims = std::vector<int64_t>;
Tensor floats(const Dims& dims, const std::vector<double>& f) { return {TENON_F32, dims, f, {}}; }
Tensor floats(const std::vector<double>& f) { return floats({static_cast<int64_t>(f.size())}, f); }
Tensor whole(int32_t dtype, const Dims& dims, const std::vector<int64_t>& i) { return {dtype, dims, {}, i}; }
Tensor ints(const std::vector<int64_t>& i) { return whole(TENON_I32, {static_cast<int64_t>(i.size())}, i); }
Tensor bools(const std::vector<int64_t>& i) { return whole(TENON_BOOL, {static_cast<int64_t>(i.size())}, i); }
Tensor step() { return whole(TENON_I64, {}, {1}); }
const Tensor kAbsent{};

struct Rule {
  const char* says;  // what the op specification has
  const char* op;
  std::vector<Tensor> operands;
  std::function<void(GraphBuilder&)> attributes;
  std::vector<Tensor> results;
};

void none(GraphBuilder&) {}
std::function<void(GraphBuilder&)> axis(int64_t a) {
  return [a](GraphBuilder& b) { b.attr_i64("axis", a); };
}
std::function<void(GraphBuilder&)> kind(int64_t k) {
  return [k](GraphBuilder& b) { b.attr_enum("kind", k); };
}
std::function<void(GraphBuilder&)> to(int32_t dtype) {
  return [dtype](GraphBuilder& b) { b.attr_dtype("to", dtype); };
}
std::function<void(GraphBuilder&)> sorted(bool descending) {
  return [descending](GraphBuilder& b) { b.attr_i64("k", 4).attr_bool("descending", descending); };
}
std::function<void(GraphBuilder&)> scattered(int64_t k) {
  return [k](GraphBuilder& b) { b.attr_i64("axis", 0).attr_enum("kind", k); };
}
void ignoring(GraphBuilder& b) { b.attr_i64("ignore", 7); }
void dropping_all(GraphBuilder& b) { b.attr_f64("rate", 1).attr_i64("stream", 3); }
void two_by_two(GraphBuilder& b) { b.attr_i64("h", 2).attr_i64("w", 2); }
void of_two(GraphBuilder& b) { b.attr_list("window", {2}); }

std::vector<Rule> index_rules() {
  const Tensor x = floats({5}, {1, 2, 3, 4, 5}), at = ints({-1, 5, 2, kMost, kLeast});
  return {
      {"indices outside read 0", "gather", {x, at}, axis(0), {floats({0, 0, 3, 0, 0})}},
      {"indices outside write nothing",
       "scatter",
       {x, at, floats({9, 9, 9, 9, 9})},
       scattered(TENON_SCATTER_ADD),
       {floats({1, 2, 12, 4, 5})}},
      {"the last of equal indices wins",
       "scatter",
       {x, ints({2, -1, 2, 5, 2}), floats({6, 7, 8, 9, 10})},
       scattered(TENON_SCATTER_SET),
       {floats({1, 2, 10, 4, 5})}},
      {"rows outside update nothing",
       "sgd_update",
       {floats({2, 1}, {1, 2}), floats({3, 1}, {8, 8, 8}), floats({}, {0.5}), step(), kAbsent, kAbsent,
        ints({-1, 1, 9})},
       none,
       {floats({2, 1}, {1, -2})}},
      {"a closed gate gives the inputs",
       "sgd_update",
       {floats({1, 2}), floats({kNaN, kInf}), floats({}, {0.5}), step(), kAbsent, whole(TENON_BOOL, {}, {0})},
       none,
       {floats({1, 2})}},
      {"pixels outside are 0",
       "crop_flip",
       {floats({1, 2, 2, 1}, {1, 2, 3, 4}), ints({1}), ints({-1}), bools({0})},
       two_by_two,
       {floats({1, 2, 2, 1}, {0, 3, 0, 0})}},
      {"a label outside costs NaN",
       "softmax_cross_entropy",
       {floats({3, 2}, {0, 0, 0, 0, 0, 0}), ints({-1, 2, 1})},
       none,
       {floats({kNaN, kNaN, std::log(2.0)}), floats({std::log(2.0), std::log(2.0), std::log(2.0)})}},
      {"the label to ignore costs 0",
       "softmax_cross_entropy",
       {floats({1, 2}, {0, 0}), ints({7})},
       ignoring,
       {floats({0}), floats({std::log(2.0)})}},
  };
}

std::vector<Rule> arithmetic_rules() {
  return {
      {"by 0, and the least by -1, give a",
       "div",
       {ints({7, -7, 5, kLeast}), ints({2, 2, 0, -1})},
       none,
       {ints({3, -3, 5, kLeast})}},
      {"by 0, and the least by -1, give a",
       "div",
       {whole(TENON_I64, {3}, {7, 5, INT64_MIN}), whole(TENON_I64, {3}, {-2, 0, -1})},
       none,
       {whole(TENON_I64, {3}, {-3, 5, INT64_MIN})}},
      {"floats by 0 as IEEE 754", "div", {floats({1, -1, 0}), floats({0, 0, 0})}, none, {floats({kInf, -kInf, kNaN})}},
      {"integers wrap", "add", {ints({kMost, kLeast}), ints({1, -1})}, none, {ints({kLeast, kMost})}},
      {"integers wrap", "mul", {ints({65536, kMost}), ints({65536, 2})}, none, {ints({0, -2})}},
      {"integers wrap", "neg", {ints({kLeast, 1})}, none, {ints({kLeast, -1})}},
      {"toward 0, saturating, NaN 0",
       "cast",
       {floats({kNaN, kInf, -kInf, 3e9, -3e9, -2.75})},
       to(TENON_I32),
       {ints({0, kMost, kLeast, kMost, kLeast, -2})}},
      {"int to narrower int: low bits",
       "cast",
       {whole(TENON_I64, {2}, {(int64_t{1} << 32) + 5, -1})},
       to(TENON_I32),
       {ints({5, -1})}},
      {"to bool: whether not 0", "cast", {floats({0, kNaN, -2})}, to(TENON_BOOL), {bools({0, 1, 1})}},
      {"halves to even",
       "round",
       {floats({0.5, 1.5, 2.5, -2.5, kNaN, kInf})},
       none,
       {floats({0, 2, 2, -2, kNaN, kInf})}},
      {"as C", "log", {floats({0, -1, kInf})}, none, {floats({-kInf, kNaN, kInf})}},
      {"as C", "sqrt", {floats({-1, 0, kInf})}, none, {floats({kNaN, 0, kInf})}},
      {"as C", "pow", {floats({0, kNaN, -1, -8}), floats({-1, 0, 2, 0.5})}, none, {floats({kInf, 1, 1, kNaN})}},
      {"0 times infinity", "dot", {floats({1, 2}, {0, 1}), floats({2, 1}, {kInf, 2})}, none, {floats({1, 1}, {kNaN})}},
      {"all dropped", "dropout", {floats({1, kInf}), step(), step()}, dropping_all, {floats({0, 0})}},
  };
}

std::vector<Rule> nan_rules() {
  const Tensor x = floats({kNaN, 1, kNaN}), y = floats({1, kNaN, kNaN}), nan = floats({kNaN, kNaN, kNaN});
  std::vector<Rule> rules = {
      {"NaN wins", "max", {x, y}, none, {nan}},
      {"NaN wins", "min", {x, y}, none, {nan}},
      {"NaN sorts above infinity",
       "sort",
       {floats({kNaN, kInf, 1, -kInf})},
       sorted(false),
       {floats({-kInf, 1, kInf, kNaN}), ints({3, 2, 1, 0})}},
      {"NaN sorts above infinity",
       "sort",
       {floats({1, kInf, kNaN, 1})},
       sorted(true),
       {floats({kNaN, kInf, 1, 1}), ints({2, 1, 0, 3})}},
      {"NaN wins, ties go to the lowest index",
       "argmax",
       {floats({3, 3}, {1, kNaN, kNaN, 2, 2, 1, 0, kInf, kInf})},
       axis(1),
       {ints({1, 0, 1})}},
      {"NaN wins", "max_pool", {floats({1, 4, 1}, {1, kNaN, 2, 3})}, of_two, {floats({1, 3, 1}, {kNaN, kNaN, 3})}},
      {"the first NaN has the gradient",
       "max_pool_grad",
       {floats({1, 4, 1}, {1, kNaN, kNaN, 3}), floats({1, 3, 1}, {kNaN, kNaN, kNaN}), floats({1, 3, 1}, {1, 2, 4})},
       of_two,
       {floats({1, 4, 1}, {0, 3, 4, 0})}},
      {"what is not selected does not matter",
       "select",
       {bools({1, 0}), floats({1, kNaN}), floats({kNaN, 2})},
       none,
       {floats({1, 2})}},
  };
  for (int64_t k = TENON_COMPARE_EQ; k <= TENON_COMPARE_GE; ++k)
    rules.push_back({"of NaN only ne holds",
                     "compare",
                     {floats({kNaN, 1}), floats({kNaN, kNaN})},
                     kind(k),
                     {bools({k == TENON_COMPARE_NE, k == TENON_COMPARE_NE})}});
  for (const int64_t k : {TENON_REDUCE_MAX, TENON_REDUCE_MIN})
    rules.push_back({"NaN wins",
                     "reduce",
                     {floats({2, 2}, {1, kNaN, 2, 3})},
                     [k](GraphBuilder& b) { b.attr_list("axes", {1}).attr_enum("kind", k); },
                     {floats({kNaN, k == TENON_REDUCE_MAX ? 3.0 : 2.0})}});
  return rules;
}

plugin::FlatGraph graph_of(const Rule& rule) {
  GraphBuilder b;
  std::vector<uint32_t> operands, results;
  for (const Tensor& t : rule.operands)
    operands.push_back(t.dtype ? b.input(t.dtype, t.dims, TENON_ROLE_FEED) : TENON_NONE);
  for (const Tensor& t : rule.results) results.push_back(b.value(t.dtype, t.dims));
  rule.attributes(b.node(rule.op, operands, results));
  for (const uint32_t r : results) b.result(r);
  return b.build();
}

bool same(double found, double expected) {
  if (std::isnan(expected) || std::isinf(expected)) return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::abs(found - expected) <= 1e-5 * std::max(1.0, std::abs(expected));
}

// Empty when all is as it is written.
std::string difference(const Tensor& found, const Tensor& expected, size_t result) {
  for (size_t i = 0; i < std::max(expected.f.size(), expected.i.size()); ++i) {
    const bool good = expected.f.empty() ? found.i.at(i) == expected.i[i] : same(found.f.at(i), expected.f[i]);
    if (!good)
      return "result " + std::to_string(result) + ", element " + std::to_string(i) + " is " +
             (expected.f.empty() ? std::to_string(found.i[i]) + ", expected " + std::to_string(expected.i[i])
                                 : std::to_string(found.f[i]) + ", expected " + std::to_string(expected.f[i]));
  }
  return {};
}

std::string try_rule(Subject& subject, const Rule& rule) {
  const plugin::FlatGraph graph = graph_of(rule);
  std::vector<Tensor> inputs;
  for (const Tensor& t : rule.operands)
    if (t.dtype) inputs.push_back(t);
  Session session(subject, *graph.graph(), Place::kHost);
  session.write(inputs);
  const std::vector<Tensor> found = session.run(inputs);
  session.check();
  for (size_t r = 0; r < found.size(); ++r)
    if (std::string text = difference(found[r], rule.results[r], r); !text.empty()) return text;
  return {};
}

int values(const std::string& library) {
  std::vector<Rule> rules = index_rules();
  for (const auto& more : {arithmetic_rules(), nan_rules()}) rules.insert(rules.end(), more.begin(), more.end());
  int held = 0, refused = 0, wrong = 0;
  for (const bool validated : {false, true}) {
    validate_backends(validated);
    try {
      Subject subject(library, 1);
      subject.device();
      for (const Rule& rule : rules) try {
          const std::string text = try_rule(subject, rule);
          text.empty() ? ++held : ++wrong;
          if (!text.empty()) std::fprintf(stderr, "%s, '%s': %s\n", rule.op, rule.says, text.c_str());
        } catch (const Unsupported&) {
          ++refused;
        } catch (const Failure& failure) {
          ++wrong;
          std::fprintf(stderr, "%s, '%s': %s\n", rule.op, rule.says, failure.text.c_str());
        }
    } catch (const Unavailable&) {
      return 77;
    } catch (const Failure& failure) {
      std::fprintf(stderr, "%s: %s\n", library.c_str(), failure.text.c_str());
      return 2;
    }
  }
  std::printf("%d values as documented, %d of ops that it does not take whole, %d wrong\n", held, refused, wrong);
  return wrong || !held;
}

}  // namespace
}  // namespace tenon::conformance

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: 16_run_time_values LIBRARY\n");
    return 2;
  }
  return tenon::conformance::values(argv[1]);
}
