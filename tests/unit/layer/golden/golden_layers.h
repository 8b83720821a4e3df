// The layers of tests/golden/layers.csv and layer_values.csv that Tenon has, by the files' spelling, with the files'
// kernels and biases.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "tenon/layers.h"

namespace tenon::golden {

using Layer = std::function<Tensor(Tensor x)>;
const std::map<std::string, Layer>& layers();
// Those of golden_more_layers.cc.
void add_more_layers(std::map<std::string, Layer>& layers);
// Rows of layers that Tenon does not have, by the beginning of their spelling.
bool is_absent(const std::string& layer);

}  // namespace tenon::golden
