// Models of tables (ai.onnx.ml), as scikit-learn's are exported.
#include <algorithm>
#include <cmath>

#include "import/onnx/rules.h"
#include "import/onnx/trees.h"

namespace tenon::onnx {
namespace tabular_ops {
namespace {

constexpr const char* kMl = "ai.onnx.ml";

Tensor floats(Call& c, const std::vector<double>& values, const Shape& shape) {
  std::vector<float> narrow(values.begin(), values.end());
  return constant(c.graph(), {DType::kF32, shape},
                  {reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(float)});
}

Tensor row(Call& c, const std::vector<double>& values) {
  return floats(c, values, Shape({static_cast<int64_t>(values.size())}));
}

// One number, or one a feature.
Tensor spread_row(Call& c, const std::vector<double>& values) {
  return values.size() == 1 ? c.scalar(DType::kF32, values[0]) : row(c, values);
}

Tensor real(Call& c, size_t i) { return cast(c.in(i), DType::kF32); }

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

void array_feature_extractor(Call& c) {
  const Tensor x = c.in(0), at = c.in(1);
  c.give(gather(x, reshape(at, {at.elements()}), x.rank() - 1));
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

// Scores become what the model answers.
Tensor answered(const std::string& how, Tensor x) {
  if (how == "LOGISTIC") return activation(x, Activation::kSigmoid);
  if (how == "SOFTMAX") return softmax(x, x.rank() - 1);
  if (how == "SOFTMAX_ZERO") {
    const Tensor zero = compare(x, scalar_like(x, 0), CompareKind::kEq);
    const Tensor e = select(zero, scalar_like(x, 0), exp(x - reduce_max(x, {x.rank() - 1}, true)));
    return e / reduce_sum(e, {x.rank() - 1}, true);
  }
  if (how != "NONE") fail("post_transform '", how, "'");
  return x;
}

// The class of the largest score. Of text labels the number.
Tensor labels_of(Call& c, Tensor index, const Ints& labels) {
  if (labels.empty()) return cast(index, DType::kI64);
  return gather(c.ints_constant(labels, Shape({static_cast<int64_t>(labels.size())})), index, 0);
}

Ints class_labels(Call& c, int64_t* count) {
  for (const char* name : {"classlabels_ints", "classlabels_int64s"})
    if (c.has_attr(name) && !c.ints(name).empty()) {
      const Ints labels = c.ints(name);
      *count = static_cast<int64_t>(labels.size());
      return labels;
    }
  const std::vector<std::string> names = c.texts("classlabels_strings");
  if (!names.empty() && c.wants(0)) c.refuse("labels that are strings");
  *count = static_cast<int64_t>(names.size());
  return {};
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

void tree_regressor(Call& c) {
  const Trees trees = trees_of(c, "target");
  c.give(answered(c.text("post_transform", "NONE"), tree_scores(c, trees, real(c, 0), c.integer("n_targets", 1))),
         Element::kF32);
}

void tree_classifier(Call& c) {
  int64_t classes = 0;
  const Ints labels = class_labels(c, &classes);
  const Trees trees = trees_of(c, "class");
  const std::string how = c.text("post_transform", "NONE");
  const bool one = classes == 2 && trees.only_column >= 0;
  if (!one) {
    const Tensor scores = tree_scores(c, trees, real(c, 0), classes);
    c.give(labels_of(c, argmax(scores, 1), labels), Element::kI64);
    return c.give(answered(how, scores), Element::kF32);
  }
  // Two classes with the weights of one: the other has what is left.
  const Tensor all = tree_scores(c, trees, real(c, 0), classes);
  const Tensor score = part(all, 1, trees.only_column, trees.only_column + 1);
  const Tensor p = how == "LOGISTIC" ? answered(how, score) : score;
  const bool probability = how == "LOGISTIC" || trees.are_probabilities;
  const Tensor other = probability ? 1.0 - p : neg(p);
  const Tensor index =
      reshape(cast(compare(p, scalar_like(p, probability ? 0.5 : 0), CompareKind::kGt), DType::kI32), {all.dim(0)});
  c.give(labels_of(c, index, labels), Element::kI64);
  c.give(concat({other, p}, 1), Element::kF32);
}

// What a support vector machine sees of x and each of its vectors: [B, vectors].
Tensor kernel_of(Call& c, Tensor x, Tensor vectors) {
  const std::string kind = c.text("kernel_type", "LINEAR");
  const std::vector<double> params = c.reals("kernel_params");
  const double gamma = params.size() > 0 ? params[0] : 0, offset = params.size() > 1 ? params[1] : 0,
               degree = params.size() > 2 ? params[2] : 0;
  const Tensor products = dot(x, vectors, {.tb = true, .precision = MathPrecision::kHighest});
  if (kind == "LINEAR") return products;
  if (kind == "POLY") return pow(products * gamma + offset, scalar_like(products, degree));
  if (kind == "SIGMOID") return tanh(products * gamma + offset);
  if (kind != "RBF") c.refuse("the kernel '", kind, "'");
  const Tensor sizes = reduce_sum(square(x), {1}, true), own = reduce_sum(square(vectors), {1});
  return exp((sizes + own - products * 2.0) * -gamma);
}

void svm_regressor(Call& c) {
  const Tensor x = real(c, 0);
  const std::vector<double> coefficients = c.reals("coefficients"), vectors = c.reals("support_vectors"),
                            rho = c.reals("rho");
  const int64_t count = c.integer("n_supports", 0);
  const auto n = static_cast<int64_t>(coefficients.size());
  Tensor seen = x;
  if (count > 0) {
    if (n != count || static_cast<int64_t>(vectors.size()) != count * x.dim(-1))
      fail(vectors.size(), " numbers of ", count, " vectors");
    seen = kernel_of(c, x, floats(c, vectors, Shape({count, x.dim(-1)})));
  } else if (n != x.dim(-1)) {
    fail(n, " coefficients of ", x.dim(-1), " features");
  }
  Tensor y = dot(seen, floats(c, coefficients, Shape({n, 1})), {.precision = MathPrecision::kHighest});
  if (!rho.empty()) y = y + rho[0];
  if (c.flag("one_class"))
    y = select(compare(y, scalar_like(y, 0), CompareKind::kGt), scalar_like(y, 1), scalar_like(y, -1));
  c.give(answered(c.text("post_transform", "NONE"), y), Element::kF32);
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
    {"SVMRegressor", svm_regressor, kMl},
    {"Scaler", scaler, kMl},
    {"TreeEnsembleClassifier", tree_classifier, kMl},
    {"TreeEnsembleRegressor", tree_regressor, kMl},
    {"ZipMap", zip_map, kMl},
};

}  // namespace
}  // namespace tabular_ops

Rules tabular_rules() { return tabular_ops::kRules; }

}  // namespace tenon::onnx
