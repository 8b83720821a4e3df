// How Keras's files name weights, and the names of Tenon's variables: "layers/dense_1/vars/0" is "dense_1/kernel".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

std::vector<std::string> parts_of(std::string_view path);

// What a layer has said of itself in the file.
struct KerasLayer {
  std::string name;                   // "conv1_conv"; "": not said
  std::optional<bool> scale, center;  // of a normalization
};

// The weights that a layer of that class ("conv2d") has, in Keras's order; empty where they cannot be told.
std::vector<std::string> names_of_weights(std::string_view layer_class, size_t count, const KerasLayer& layer);

// The class of the object at the end of a path: "conv2d" of "layers/conv2d_3", "einsum_dense" of ".../query_dense", "lstm_cell".
std::string class_at(const std::vector<std::string>& path, const std::string& name);

// Whether Keras has a layer of that class ("conv2d") with weights, or with layers that have some.
bool is_weighted_class(std::string_view layer_class);

// Whether what stands behind it in a path is a layer, "layers", and no attribute of one.
bool is_container(std::string_view part);

// A part of a path as a part of a variable's name, "" where that has none: "query" for "query_dense".
std::string name_of_part(const std::string& part);
// The other way round, inside of a layer of that class: "query_dense" for "query" in "multi_head_attention".
std::string part_of_name(const std::string& name, std::string_view layer_class);

// "dense" of "dense/kernel", and "kernel".
std::string_view scope_of_weight(std::string_view name);
std::string_view leaf_of_weight(std::string_view name);

// "dense/kernel:0" of a layer "dense" in Keras's older files, or "model/dense/kernel", as "dense/kernel".
std::string name_of_legacy(std::string_view layer, std::string_view weight);

// A scope as files of before Keras 3.9 have it, which do not say what layers inside of others are called:
// "bidirectional/forward_layer/cell" for "bidirectional/forward_lstm/lstm_cell".
std::string scope_without_names(std::string_view scope);

// In which order Keras has weights of a layer: what stands first has the smaller number.
int rank_of_weight(std::string_view name);

// What Keras's model.weights.h5 says in config.json: layers by their paths, "layers/conv2d_3". None where it is no such text.
std::map<std::string, KerasLayer> layers_of_config(const std::string& json);

}  // namespace tenon
