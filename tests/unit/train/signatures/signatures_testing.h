// Our defaults beside those of tests/golden/signatures.csv, as text or as "the call without it is the call with it".
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "tenon/callbacks.h"
#include "tenon/estimator.h"
#include "unit/layer/golden.h"

namespace tenon::signatures {

inline std::optional<double> as_number(const std::string& text) {
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? std::optional(v) : std::nullopt;
}

inline constexpr const char* kNeeded = "<needed>";  // the default of an argument that has none

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
  std::string named = {};   // what the argument is called here, where that is not the file's name
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

inline Default named(const std::string& here, Default d) {
  d.named = here;
  return d;
}
// An argument that has no default in either.
inline Default needed() {
  return {"to be given", [](const std::string& golden) { return golden == kNeeded; }};
}

// The default of a field by its type.
inline Default own(bool v) { return flag(v); }
template <class Number>
requires std::is_arithmetic_v<Number> Default own(Number v) { return number(static_cast<double>(v)); }
inline Default own(const std::string& v) { return text(v.empty() ? "None" : v); }
inline Default own(Padding p) { return text(p == Padding::kValid ? "valid" : "other"); }
inline Default own(const Extent& e) {
  return e.count() == 1 ? number(static_cast<double>(e.of(1)[0])) : text("several");
}
inline Default own(const Regularizer& r) { return none(!r); }
inline Default own(const Constraint& c) { return none(!c.project); }
inline Default own(const ActivationRule& a) {
  return a.fused() == linear ? text("None") : text(std::string(activation_name(a.fused())));
}
inline Default own(FillMode m) { return text(m == FillMode::kReflect ? "reflect" : "other"); }
inline Default own(ResizeMethod m) { return text(m == ResizeMethod::kBilinear ? "bilinear" : "other"); }
inline Default own(const LearningRate& rate) { return number(rate.fixed()); }
inline Default own(Reduction r) {
  return text(r == Reduction::kSumOverBatchSize ? "sum_over_batch_size" : "something else");
}
inline Default own(const Frequency& f) { return text(f.text()); }
template <class T>
Default own(const std::optional<T>& v) {
  return v ? own(*v) : none(true);
}
template <class T>
Default own(const std::function<T>& f) {
  return none(!f);
}
// What is empty is None; {-1} is -1.
template <class T>
Default own(const std::vector<T>& v) {
  if constexpr (std::is_arithmetic_v<T>)
    if (v.size() == 1) return own(v[0]);
  return none(v.empty());
}
// 0 is None.
template <class Number>
Default or_none(Number v) {
  return v == 0 ? none(true) : own(v);
}

// An argument that is a field of that name.
#define TENON_FIELD(options, field) std::pair<const std::string, Default>(#field, own((options).field))
#define TENON_OR_NONE(options, field) std::pair<const std::string, Default>(#field, or_none((options).field))
#define TENON_NEEDED(options, field) \
  std::pair<const std::string, Default>((static_cast<void>((options).field), #field), needed())

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

Table layers();        // signatures_layers.cc
Table image_layers();  // signatures_image_layers.cc
Table losses();        // signatures_formulas.cc
Table metrics();
Table activations();
Table initializers();
Table callbacks();  // signatures_training.cc
Table model();
Table estimator();

using Reasons = std::map<std::string, std::string>;
// What Tenon calls a class or function of the file: the same, but for some ("module.name"). signatures_names.cc
const std::map<std::string, std::string>& names();
// Rows that Tenon does not have, and why. signatures_absent.cc
const Reasons& absent_rows();
// Arguments that it does not have, by "argument" wherever it stands, or "module.name.argument", and why.
const Reasons& absent_arguments();

// All arguments, with the file's abbreviations written out; kNeeded where there is no default.
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
      {"RREG",
       {{"kernel_regularizer", "None"},
        {"recurrent_regularizer", "None"},
        {"bias_regularizer", "None"},
        {"activity_regularizer", "None"},
        {"kernel_constraint", "None"},
        {"recurrent_constraint", "None"},
        {"bias_constraint", "None"}}},
      {"RED", {{"reduction", "sum_over_batch_size"}}}};
  golden::Arguments out;
  const golden::Arguments all = golden::arguments(arguments);
  for (const auto& [name, value] : all)
    if (!as_number(name)) out[name] = value;
  for (const auto& [name, value] : all) {
    if (!as_number(name)) continue;
    if (const auto it = kShort.find(value); it != kShort.end())
      out.insert(it->second.begin(), it->second.end());
    else
      out.emplace(value, kNeeded);
  }
  out.erase("name");
  return out;
}

}  // namespace tenon::signatures
