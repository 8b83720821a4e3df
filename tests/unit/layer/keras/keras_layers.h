// The layers of tests/fixtures/layers.csv, by the file's spelling.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tenon/tensor.h"

namespace tenon::golden {

// "case @ inputs" where a case is there with several, else "case".
using Call = std::function<Tensors(const Tensors& xs)>;
const std::map<std::string, Call>& keras_layers();
void add_keras_attention(std::map<std::string, Call>& layers);
void add_keras_time_layers(std::map<std::string, Call>& layers);
void add_keras_image_layers(std::map<std::string, Call>& layers);

}  // namespace tenon::golden
