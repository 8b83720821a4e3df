// A multilayer perceptron: hidden layers with ReLU, one logit a class. Its size is --hidden 128,64, or --layers 2 --nodes
// 128. It takes images, which it flattens, with class numbers, or vectors (--input 2000) with one-hot labels.
#include "models/models.h"

namespace tenon::models {
namespace {

// "128,64" -> 128, 64; "" -> none.
std::vector<int64_t> sizes(const std::string& text) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < text.size();) {
    size_t used = 0;
    int64_t size = 0;
    try {
      size = std::stoll(text.substr(at), &used);
    } catch (const std::exception&) {
    }
    const size_t next = at + used;
    if (size < 1 || size > 1 << 20 || (next < text.size() && text[next] != ','))
      throw Error(Status(Code::kInvalid, "hidden: expected sizes as 128,64, found '" + text + "'"));
    out.push_back(size);
    at = next + 1;
  }
  return out;
}

// The sizes of the hidden layers: --layers times --nodes, or what --hidden lists.
std::vector<int64_t> hidden_sizes(const Params& params) {
  const int64_t layers = params.get<int64_t>("layers", 0), nodes = params.get<int64_t>("nodes", 0);
  if (layers > 0 && nodes < 1) throw Error(Status(Code::kInvalid, "nodes: is missing beside layers"));
  if (layers > 0) return std::vector<int64_t>(static_cast<size_t>(layers), nodes);
  if (nodes > 0) throw Error(Status(Code::kInvalid, "layers: is missing beside nodes"));
  return sizes(params.get<std::string>("hidden"));
}

}  // namespace

Tensor perceptron(Tensor x, const Params& params) {
  for (int64_t units : hidden_sizes(params)) {
    x = dense(x, {.units = units, .activation = relu});
    x = dropout(x, params.get<double>("dropout", 0));
  }
  return dense(x, {.units = params.get<int64_t>("num_classes")});
}

EstimatorSpec mlp(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  Tensor x = image_of(features, params);
  if (x.rank() != 2) x = flatten(x);
  return classify(perceptron(x, params), labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
