#include "checkpoint/keras/keras_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names/class_name.h"
#include "base/strings.h"

namespace tenon {
namespace {

using Texts = std::vector<std::string>;
using nlohmann::json;

constexpr int kMostNested = 32;     // models in models
constexpr size_t kMostDepth = 256;  // of a text
constexpr std::string_view kContainers[] = {"layers", "cells", "_layer_checkpoint_dependencies"};
struct LayerPart {
  const char *part, *name, *layer_class;
};
// Attributes of layers that keep layers.
constexpr LayerPart kParts[] = {{"query_dense", "query", "einsum_dense"},
                                {"key_dense", "key", "einsum_dense"},
                                {"value_dense", "value", "einsum_dense"},
                                {"output_dense", "attention_output", "einsum_dense"},
                                {"cell", "cell", "rnn_cell"}};

std::string_view without_number(std::string_view name) {
  const size_t line = name.rfind('_');
  if (line == name.npos || line + 1 == name.size()) return name;
  const std::string_view digits = name.substr(line + 1);
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) ? name.substr(0, line)
                                                                                                : name;
}

bool is_cell(std::string_view part) {
  const std::string_view kind = without_number(part);
  return kind == "lstm_cell" || kind == "gru_cell" || kind == "simple_rnn_cell";
}

Texts normalization(size_t count, const KerasLayer& layer, const Texts& last) {
  Texts out;
  const size_t own = count - last.size();
  if (own > 2) return {};
  const bool told = layer.scale && layer.center && *layer.scale + *layer.center == static_cast<int>(own);
  if (own == 1 && !told) return {};
  if (own == 2 || (own == 1 && *layer.scale)) out.push_back("gamma");
  if (own == 2 || (own == 1 && *layer.center)) out.push_back("beta");
  out.insert(out.end(), last.begin(), last.end());
  return out;
}

// The first `count`, where it has so many.
Texts first_of(Texts all, size_t count) {
  if (count > all.size()) return {};
  all.resize(count);
  return all;
}

}  // namespace

std::vector<std::string> parts_of(std::string_view path) {
  Texts out;
  for (size_t at = 0; at <= path.size() && !path.empty();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    out.emplace_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return out;
}

std::vector<std::string> names_of_weights(std::string_view c, size_t count, const KerasLayer& layer) {
  if (c == "batch_normalization" && count >= 2) return normalization(count, layer, {"moving_mean", "moving_variance"});
  if (c == "layer_normalization" || c == "group_normalization") return normalization(count, layer, {});
  if (c == "separable_conv1d" || c == "separable_conv2d")
    return first_of({"depthwise_kernel", "pointwise_kernel", "bias"}, count);
  if (c == "dense" || c == "einsum_dense" || c.starts_with("conv") || c.starts_with("depthwise_conv") ||
      c.starts_with("locally_connected"))
    return first_of({"kernel", "bias"}, count);
  if (c == "rnn_cell" || is_cell(c)) return first_of({"kernel", "recurrent_kernel", "bias"}, count);
  if (c == "embedding") return first_of({"embeddings"}, count);
  if (c == "p_re_lu") return first_of({"alpha"}, count);
  if (c == "normalization") return first_of({"mean", "variance", "count"}, count);
  return {};
}

bool is_weighted_class(std::string_view c) {
  constexpr std::string_view kPlain[] = {"dense",
                                         "einsum_dense",
                                         "embedding",
                                         "reversible_embedding",
                                         "normalization",
                                         "p_re_lu",
                                         "rnn",
                                         "lstm",
                                         "gru",
                                         "simple_rnn",
                                         "bidirectional",
                                         "time_distributed",
                                         "multi_head_attention",
                                         "group_query_attention",
                                         "attention",
                                         "additive_attention",
                                         "sequential",
                                         "functional"};
  constexpr std::string_view kFamilies[] = {"conv1d",    "conv2d",         "conv3d",
                                            "conv_lstm", "depthwise_conv", "separable_conv"};
  return std::count(std::begin(kPlain), std::end(kPlain), c) > 0 || c.ends_with("_normalization") ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](std::string_view f) { return c.starts_with(f); });
}

bool is_container(std::string_view part) {
  return std::count(std::begin(kContainers), std::end(kContainers), part) != 0;
}

std::string class_at(const std::vector<std::string>& path, const std::string& name) {
  if (path.empty()) return {};
  const std::string& last = path.back();
  for (const LayerPart& p : kParts)
    if (last == p.part) return p.layer_class;
  const bool in_container = path.size() > 1 && is_container(path[path.size() - 2]);
  return std::string(without_number(in_container || name.empty() ? last : name));
}

std::string name_of_part(const std::string& part) {
  if (is_container(part)) return {};
  for (const LayerPart& p : kParts)
    if (part == p.part) return p.name;
  return part;
}

std::string part_of_name(const std::string& name, std::string_view layer_class) {
  if (layer_class == "multi_head_attention" || layer_class == "group_query_attention")
    for (const LayerPart& p : kParts)
      if (name == p.name) return p.part;
  if (is_cell(name)) return "cell";
  if (layer_class == "bidirectional") return name.starts_with("backward_") ? "backward_layer" : "forward_layer";
  if (layer_class == "time_distributed" || layer_class == "spectral_normalization") return "layer";
  return name;
}

std::string_view scope_of_weight(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == name.npos ? std::string_view() : name.substr(0, slash);
}
std::string_view leaf_of_weight(std::string_view name) { return name.substr(name.rfind('/') + 1); }

std::string name_of_legacy(std::string_view layer, std::string_view weight) {
  if (weight.ends_with(":0")) weight.remove_suffix(2);
  if (weight.empty()) return std::string(layer);
  Texts parts = parts_of(weight);
  if (layer != "top_level_model_weights") {
    const auto at = std::find(parts.begin(), parts.end() - 1, layer);  // behind the model's own name
    if (at != parts.end() - 1)
      parts.erase(parts.begin(), at);
    else
      parts.insert(parts.begin(), std::string(layer));
  }
  return join(parts, "/");
}

std::string scope_without_names(std::string_view scope) {
  Texts parts = parts_of(scope);
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string outer(without_number(parts[i - 1]));
    const bool in_way = outer == "forward_layer" || outer == "backward_layer";
    if (outer == "bidirectional" || outer == "time_distributed" || in_way) parts[i] = part_of_name(parts[i], outer);
  }
  return join(parts, "/");
}

int rank_of_weight(std::string_view name) {
  constexpr std::string_view kOrder[] = {"kernel",
                                         "depthwise_kernel",
                                         "pointwise_kernel",
                                         "recurrent_kernel",
                                         "embeddings",
                                         "alpha",
                                         "gamma",
                                         "bias",
                                         "beta",
                                         "moving_mean",
                                         "moving_variance",
                                         "mean",
                                         "variance",
                                         "count"};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), name) - std::begin(kOrder));
}

namespace {

std::optional<bool> boolean(const json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_boolean() ? std::optional<bool>(found->get<bool>()) : std::nullopt;
}

void take_layers(const json& config, const std::string& path, int depth, std::map<std::string, KerasLayer>& out) {
  const auto layers = config.find("layers");
  if (depth > kMostNested || layers == config.end() || !layers->is_array()) return;
  std::map<std::string, int> used;
  for (const json& layer : *layers) {
    if (!layer.is_object() || !layer.contains("class_name") || !layer["class_name"].is_string()) continue;
    const json& inner = layer.contains("config") && layer["config"].is_object() ? layer["config"] : json::object();
    std::string unique = snake_case(layer["class_name"].get_ref<const std::string&>());
    if (const int before = used[unique]++; before > 0) unique = cat(unique, "_", before);
    const std::string at = cat(path, "layers/", unique);
    KerasLayer& noted = out[at];
    if (inner.contains("name") && inner["name"].is_string()) noted.name = inner["name"].get<std::string>();
    noted.scale = boolean(inner, "scale"), noted.center = boolean(inner, "center");
    take_layers(inner, at + "/", depth + 1, out);
  }
}

}  // namespace

std::map<std::string, KerasLayer> layers_of_config(const std::string& text) {
  std::map<std::string, KerasLayer> out;
  size_t depth = 0, most = 0;  // the parser would take the stack
  for (const char c : text) {
    if (c == '{' || c == '[') most = std::max(most, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  if (most > kMostDepth) return out;
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object() || !all.contains("config") || !all["config"].is_object()) return out;
  take_layers(all["config"], "", 0, out);
  return out;
}

}  // namespace tenon
