// Our defaults beside those of tests/golden/signatures.csv, as text or as "the call without it is the call with it".
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"
#include "tenon/estimator.h"
#include "unit/layer/golden.h"

namespace tenon::signatures {

inline std::optional<double> as_number(const std::string& text) {
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? std::optional(v) : std::nullopt;
}

// "(1, 1)" and "1" are equal, and so are "Zeros" and "zeros", "-1" and "-1.0".
inline bool equal(const std::string& a, const std::string& b) {
  if (a.starts_with('(')) {
    for (const int64_t each : golden::integers(a))
      if (!equal(std::to_string(each), b)) return false;
    return true;
  }
  if (as_number(a) && as_number(b)) return *as_number(a) == *as_number(b);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

struct Default {
  std::string ours;  // for messages
  std::function<bool(const std::string& golden)> agrees;
  bool deliberate = false;  // it differs, and should
};

inline Default text(const std::string& ours) {
  return {ours, [ours](const std::string& golden) { return equal(golden, ours); }};
}
inline Default number(double v) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", v);
  return text(digits);
}
inline Default flag(bool v) { return text(v ? "True" : "False"); }
inline Default none(bool is_none) { return text(is_none ? "None" : "something"); }
inline Default deviates(const std::string& ours) {
  return {ours, [](const std::string&) { return true; }, true};
}

// What `build` makes of x[2,8,8,4], or of another shape.
inline Graph graph_of(const std::function<void(Tensor)>& build, const Shape& shape) {
  Graph graph;
  build(Tensor(&graph, graph.add_input({DType::kF32, shape}, Role::kFeed, "x")));
  return graph;
}
inline bool same_nodes(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), [](const Node& m, const Node& n) {
    return m.op == n.op && m.operands == n.operands && m.results == n.results && m.attrs == n.attrs;
  });
}

using With = std::function<void(Tensor x, double value)>;
// Without the argument the call builds the graph that it builds with the golden value; True is 1, None is `if_none`.
inline Default call(const std::function<void(Tensor)>& without, const With& with, const Shape& shape = {2, 8, 8, 4},
                    double if_none = 0) {
  return {"what the call does", [=](const std::string& golden) {
            const double v = golden == "None"    ? if_none
                             : golden == "True"  ? 1
                             : golden == "False" ? 0
                             : golden[0] == '('  ? static_cast<double>(golden::integers(golden)[0])
                                                 : std::stod(golden);
            return same_nodes(graph_of(without, shape), graph_of([&](Tensor x) { with(x, v); }, shape));
          }};
}

inline bool same(const Initializer& a, const Initializer& b) { return a.kind == b.kind && a.a == b.a && a.b == b.b; }

// The initializer of the variable that a layer makes under a name that ends so.
inline Default first_value(const std::string& suffix, const std::function<void(Tensor)>& layer,
                           const Shape& shape = {2, 8, 8, 4}) {
  return {"what the layer does", [=](const std::string& golden) {
            const Graph graph = graph_of(layer, shape);
            for (const Variable& v : graph.variables) {
              if (!v.name.ends_with("/" + suffix)) continue;
              const Shape& kernel = graph.type(graph.inputs[static_cast<size_t>(v.input)].value).shape;
              if (equal(golden, "zeros")) return same(v.initializer, zeros());
              if (equal(golden, "ones")) return same(v.initializer, ones());
              if (golden == "uniform") return same(v.initializer, random_uniform(-0.05, 0.05));
              if (golden == "glorot_uniform") return same(v.initializer, glorot_uniform(kernel));
            }
            return false;
          }};
}

using Ours = std::map<std::string, Default>;  // by argument

inline Ours operator+(Ours a, const Ours& b) {
  a.insert(b.begin(), b.end());
  return a;
}

using Table = std::map<std::string, Ours>;  // by "module,name"

// A call whose argument is its number.
template <class Layer>
Default numbered(Layer layer, const Shape& shape = {2, 8, 8, 4}, double if_none = 0) {
  return call([=](Tensor x) { layer(x); }, [=](Tensor x, double v) { layer(x, v); }, shape, if_none);
}

Table layers();  // signatures_layers.cc

// The arguments that have a default, with the file's abbreviations written out.
inline golden::Arguments defaults(const std::string& arguments) {
  static const std::map<std::string, golden::Arguments> kShort = {
      {"COMMON",
       {{"weight_decay", "None"},
        {"clipnorm", "None"},
        {"clipvalue", "None"},
        {"global_clipnorm", "None"},
        {"use_ema", "False"},
        {"ema_momentum", "0.99"},
        {"ema_overwrite_frequency", "None"},
        {"loss_scale_factor", "None"},
        {"gradient_accumulation_steps", "None"}}},
      {"KINIT", {{"kernel_initializer", "glorot_uniform"}, {"bias_initializer", "zeros"}}},
      {"NINIT", {{"beta_initializer", "zeros"}, {"gamma_initializer", "ones"}}},
      {"KREG",
       {{"kernel_regularizer", "None"},
        {"bias_regularizer", "None"},
        {"activity_regularizer", "None"},
        {"kernel_constraint", "None"},
        {"bias_constraint", "None"}}},
      {"NREG",
       {{"beta_regularizer", "None"},
        {"gamma_regularizer", "None"},
        {"beta_constraint", "None"},
        {"gamma_constraint", "None"}}},
      {"RREG", {}},
      {"RED", {{"reduction", "sum_over_batch_size"}}}};
  golden::Arguments out;
  const golden::Arguments all = golden::arguments(arguments);
  for (const auto& [name, value] : all)
    if (!as_number(name)) out[name] = value;
  for (const auto& [name, value] : all)
    if (const auto it = kShort.find(value); it != kShort.end()) out.insert(it->second.begin(), it->second.end());
  out.erase("name");
  return out;
}

}  // namespace tenon::signatures
