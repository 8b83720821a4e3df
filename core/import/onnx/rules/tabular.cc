// Models of tables (ai.onnx.ml), as scikit-learn's are exported.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/scores.h"
#include "import/onnx/trees.h"

namespace tenon::onnx {
namespace tabular_ops {
namespace {

void scaler(Call& c) {
  Tensor x = real(c, 0);
  const std::vector<double> offset = c.reals("offset"), scale = c.reals("scale");
  if (!offset.empty()) x = x - spread_row(c, offset);
  if (!scale.empty()) x = x * spread_row(c, scale);
  c.give(x, Element::kF32);
}

void normalizer(Call& c) {
  const Tensor x = real(c, 0);
  const std::string norm = c.text("norm", "MAX");
  const int64_t axis = x.rank() - 1;
  const Tensor size = norm == "L1"   ? reduce_sum(abs(x), {axis}, true)
                      : norm == "L2" ? sqrt(reduce_sum(square(x), {axis}, true))
                                     : reduce_max(x, {axis}, true);
  c.give(x / select(compare(size, scalar_like(size, 0), CompareKind::kEq), scalar_like(size, 1), size), Element::kF32);
}

void binarizer(Call& c) {
  const Tensor x = c.in(0);
  c.give(cast(compare(x, scalar_like(x, c.real("threshold", 0)), CompareKind::kGt), x.dtype()));
}

void imputer(Call& c) {
  const Tensor x = c.in(0);
  const std::vector<double> values = c.reals("imputed_value_floats");
  if (values.empty()) c.refuse("values that are no floats");
  const double missing = c.real("replaced_value_float", 0);
  const Tensor gone =
      std::isnan(missing) ? compare(x, x, CompareKind::kNe) : compare(x, scalar_like(x, missing), CompareKind::kEq);
  c.give(choose(gone, cast(spread_row(c, values), x.dtype()), x));
}

void feature_vectorizer(Call& c) {
  Tensors parts;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Tensor x = real(c, i);
    parts.push_back(x.rank() == 1 ? reshape(x, {x.dim(0), 1}) : x);
  }
  c.give(parts.size() == 1 ? parts[0] : concat(parts, 1), Element::kF32);
}

// Takes a vector a row.
void array_feature_extractor(Call& c) {
  const Tensor at = c.in(1), x = c.in(0).rank() == 1 ? reshape(c.in(0), {1, c.in(0).dim(0)}) : c.in(0);
  if (x.rank() == 0) fail("an operand of no dimensions");
  c.give(gather(x, reshape(at, {at.elements()}), x.rank() - 1));
}

// A new last axis, of as many as there are categories. One that is none of them is all zeros.
void one_hot_encoder(Call& c) {
  const Ints categories = c.ints("cats_int64s");
  if (categories.empty()) c.refuse("categories that are strings");
  const Tensor x = cast(c.in(0), DType::kI64);
  std::vector<int64_t> dims = x.shape().vec();
  dims.push_back(static_cast<int64_t>(categories.size()));
  const Shape shape(dims);
  const Tensor all = c.ints_constant(categories, Shape({static_cast<int64_t>(categories.size())}));
  const Tensor is =
      compare(broadcast(x, shape, iota_list(x.rank())), broadcast(all, shape, {x.rank()}), CompareKind::kEq);
  c.give(cast(is, DType::kF32), Element::kF32);
}

void label_encoder(Call& c) {
  const auto list = [&](const char* stem) -> std::vector<double> {
    if (c.has_attr(cat(stem, "_floats"))) return c.reals(cat(stem, "_floats"));
    if (c.has_attr(cat(stem, "_int64s"))) {
      const Ints ints = c.ints(cat(stem, "_int64s"));
      return {ints.begin(), ints.end()};
    }
    if (const TensorData* data = c.tensor(cat(stem, "_tensor")); data && data->element != Element::kString)
      return to_array(*data).take().to<double>();
    c.refuse("labels that are strings");
  };
  const std::vector<double> keys = list("keys"), values = list("values");
  if (keys.size() != values.size()) fail(keys.size(), " keys and ", values.size(), " values");
  const bool to_float =
      c.has_attr("values_floats") || (c.tensor("values_tensor") && c.tensor("values_tensor")->element == Element::kF32);
  const TensorData* data = c.tensor("values_tensor");
  const Element to = data ? data->element : to_float ? Element::kF32 : Element::kI64;
  double missing = to_float ? c.real("default_float", 0) : static_cast<double>(c.integer("default_int64", -1));
  if (const TensorData* other = c.tensor("default_tensor")) missing = to_array(*other).take().item();
  const Tensor x = c.in(0);
  Tensor y = full(c.graph(), stored_as(to), x.shape(), missing);
  for (size_t i = keys.size(); i-- > 0;) {
    const Tensor is =
        std::isnan(keys[i]) ? compare(x, x, CompareKind::kNe) : compare(x, scalar_like(x, keys[i]), CompareKind::kEq);
    y = select(is, scalar_like(y, values[i]), y);
  }
  c.give(y, to);
}

void linear_classifier(Call& c) {
  const Tensor x = real(c, 0);
  const std::vector<double> weights = c.reals("coefficients"), bias = c.reals("intercepts");
  const int64_t features = x.dim(-1), rows = static_cast<int64_t>(weights.size()) / std::max<int64_t>(1, features);
  int64_t classes = 0;
  const Ints labels = class_labels(c, &classes);
  if (rows < 1 || rows * features != static_cast<int64_t>(weights.size()))
    fail(weights.size(), " coefficients of ", features, " features");
  Tensor scores =
      dot(x, floats(c, weights, Shape({rows, features})), {.tb = true, .precision = MathPrecision::kHighest});
  if (!bias.empty()) scores = scores + spread_row(c, bias);
  const std::string how = c.text("post_transform", "NONE");
  if (rows == 1 && classes == 2) {
    const Tensor one = answered(how, scores);
    const double middle = how == "NONE" ? 0 : 0.5;
    const Tensor index =
        reshape(cast(compare(one, scalar_like(one, middle), CompareKind::kGt), DType::kI32), {x.dim(0)});
    c.give(labels_of(c, index, labels), Element::kI64);
    c.give(concat({how == "NONE" ? neg(one) : 1.0 - one, one}, 1), Element::kF32);
    return;
  }
  c.give(labels_of(c, argmax(scores, 1), labels), Element::kI64);
  c.give(answered(how, scores), Element::kF32);
}

void linear_regressor(Call& c) {
  const Tensor x = real(c, 0);
  const std::vector<double> weights = c.reals("coefficients"), bias = c.reals("intercepts");
  const int64_t targets = c.integer("targets", 1);
  if (targets < 1 || targets * x.dim(-1) != static_cast<int64_t>(weights.size()))
    fail(weights.size(), " coefficients of ", x.dim(-1), " features");
  Tensor y =
      dot(x, floats(c, weights, Shape({targets, x.dim(-1)})), {.tb = true, .precision = MathPrecision::kHighest});
  if (!bias.empty()) y = y + spread_row(c, bias);
  c.give(answered(c.text("post_transform", "NONE"), y), Element::kF32);
}

// Thresholds of f64 are compared with numbers of f64.
Tensor wide(Call& c) { return c.in(0).dtype() == DType::kF64 ? c.in(0) : real(c, 0); }

void tree_regressor(Call& c) {
  const Trees trees = trees_of(c, "target");
  const Tensor y = tree_scores(c, trees, wide(c), c.integer("n_targets", 1), c.text("aggregate_function", "SUM"));
  c.give(cast(answered(c.text("post_transform", "NONE"), y), DType::kF32), Element::kF32);
}

void tree_ensemble(Call& c) {
  constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr const char* kAnswers[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const char* how = kAggregates[c.between("aggregate_function", 1, 0, 3)];
  const char* answer = kAnswers[c.between("post_transform", 0, 0, 4)];
  const Tensor y = tree_scores(c, trees_with_leaves(c), wide(c), c.integer("n_targets", 1), how);
  c.give(cast(answered(answer, y), c.in(0).dtype()));
}

void tree_classifier(Call& c) {
  int64_t classes = 0;
  const Ints labels = class_labels(c, &classes);
  const Trees trees = trees_of(c, "class");
  const std::string how = c.text("post_transform", "NONE");
  const bool one = classes == 2 && trees.only_column >= 0;
  if (!one) {
    const Tensor scores = tree_scores(c, trees, wide(c), classes, "SUM");
    c.give(labels_of(c, argmax(scores, 1), labels), Element::kI64);
    return c.give(cast(answered(how, scores), DType::kF32), Element::kF32);
  }
  // Two classes with the weights of one: the other has what is left.
  const Tensor all = cast(tree_scores(c, trees, wide(c), classes, "SUM"), DType::kF32);
  const Tensor score = part(all, 1, trees.only_column, trees.only_column + 1);
  const Tensor p = how == "LOGISTIC" ? answered(how, score) : score;
  const bool probability = how == "LOGISTIC" || trees.are_probabilities;
  const Tensor other = probability ? 1.0 - p : neg(p);
  const Tensor index =
      reshape(cast(compare(p, scalar_like(p, probability ? 0.5 : 0), CompareKind::kGt), DType::kI32), {all.dim(0)});
  c.give(labels_of(c, index, labels), Element::kI64);
  c.give(concat({other, p}, 1), Element::kF32);
}

// The scores alone: maps from labels to scores are none of Tenon's values.
void zip_map(Call& c) { c.give(c.value(0)); }

constexpr Rule kRules[] = {
    {"ArrayFeatureExtractor", array_feature_extractor, kMl},
    {"Binarizer", binarizer, kMl},
    {"FeatureVectorizer", feature_vectorizer, kMl},
    {"Imputer", imputer, kMl},
    {"LabelEncoder", label_encoder, kMl},
    {"LinearClassifier", linear_classifier, kMl},
    {"LinearRegressor", linear_regressor, kMl},
    {"Normalizer", normalizer, kMl},
    {"OneHotEncoder", one_hot_encoder, kMl},
    {"Scaler", scaler, kMl},
    {"TreeEnsemble", tree_ensemble, kMl},
    {"TreeEnsembleClassifier", tree_classifier, kMl},
    {"TreeEnsembleRegressor", tree_regressor, kMl},
    {"ZipMap", zip_map, kMl},
};

}  // namespace
}  // namespace tabular_ops

Rules tabular_rules() { return tabular_ops::kRules; }

}  // namespace tenon::onnx
