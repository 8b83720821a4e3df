// A network for tables: numbers, and a vector for each value of each category, behind each other into a multilayer perceptron. Features
// "numbers" f32[batch, n] and "categories" i32[batch, c], places of one list of `num_places`; either may be absent.
#include "models/models.h"

namespace tenon::models {

EstimatorSpec table(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  std::vector<Tensor> parts;
  if (params.get<int64_t>("num_numbers") > 0) parts.push_back(features["numbers"]);
  if (params.get<int64_t>("num_categories") > 0)
    parts.push_back(flatten(embedding(features["categories"], {.input_dim = params.get<int64_t>("num_places"),
                                                               .output_dim = params.get<int64_t>("embedding_size")})));
  const Tensor x = parts.size() == 1 ? parts[0] : concat(parts, 1);
  return classify(perceptron(x, params), labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
