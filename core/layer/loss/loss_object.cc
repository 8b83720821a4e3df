// Losses as objects, and their names.
#include "layer/loss/loss_parts.h"

#include <cctype>

#include "layer/object/masks.h"

namespace tenon {
namespace {

using namespace losses;

struct KnownLoss {
  const char *name, *class_name, *alias;
  Loss::Function function;
};

template <class Options, Tensor (*function)(Tensor, Tensor, const Options&)>
Tensor by_default(Tensor y_true, Tensor y_pred, const LossOptions& o) {
  Options options;
  options.sample_weight = o.sample_weight;
  options.reduction = o.reduction;
  return function(y_true, y_pred, options);
}

const KnownLoss kLosses[] = {
    {"binary_crossentropy", "BinaryCrossentropy", "bce", binary_crossentropy},
    {"binary_focal_crossentropy", "BinaryFocalCrossentropy", "", by_default<FocalOptions, binary_focal_crossentropy>},
    {"categorical_crossentropy", "CategoricalCrossentropy", "", categorical_crossentropy},
    {"categorical_focal_crossentropy", "CategoricalFocalCrossentropy", "",
     by_default<FocalOptions, categorical_focal_crossentropy>},
    {"categorical_generalized_cross_entropy", "CategoricalGeneralizedCrossEntropy", "",
     by_default<GeneralizedOptions, categorical_generalized_cross_entropy>},
    {"categorical_hinge", "CategoricalHinge", "", categorical_hinge},
    {"circle", "Circle", "", by_default<CircleOptions, circle>},
    {"cosine_similarity", "CosineSimilarity", "", cosine_similarity},
    {"ctc", "CTC", "", by_default<CtcOptions, ctc>},
    {"dice", "Dice", "", by_default<OverlapOptions, dice>},
    {"hinge", "Hinge", "", hinge},
    {"huber_loss", "Huber", "huber", by_default<HuberOptions, huber>},
    {"kl_divergence", "KLDivergence", "kld", kl_divergence},
    {"log_cosh", "LogCosh", "logcosh", log_cosh},
    {"mean_absolute_error", "MeanAbsoluteError", "mae", mean_absolute_error},
    {"mean_absolute_percentage_error", "MeanAbsolutePercentageError", "mape", mean_absolute_percentage_error},
    {"mean_squared_error", "MeanSquaredError", "mse", mean_squared_error},
    {"mean_squared_logarithmic_error", "MeanSquaredLogarithmicError", "msle", mean_squared_logarithmic_error},
    {"poisson", "Poisson", "", poisson},
    {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", "", sparse_categorical_crossentropy},
    {"squared_hinge", "SquaredHinge", "", squared_hinge},
    {"tversky", "Tversky", "", by_default<OverlapOptions, tversky>},
    {"log_loss", "", "", log_loss},
};

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

const KnownLoss* find_loss(const std::string& name) {
  for (const KnownLoss& k : kLosses)  // Keras knows "MSE" as well as "mse"
    if (!name.empty() && (name == k.name || name == k.class_name || name == k.alias || name == upper_case(k.alias)))
      return &k;
  return nullptr;
}

const KnownLoss& known(const std::string& name) {
  if (const KnownLoss* k = find_loss(name)) return *k;
  const std::string_view near = nearest(name, loss_names());
  fail("no loss of name '", name, "'", near.empty() ? std::string() : cat("; did you mean '", near, "'?"));
}

const char* name_of(Loss::Function function) {
  for (const KnownLoss& k : kLosses)
    if (k.function == function) return k.name;
  return "loss";
}

// options: those of the function.
template <class Options>
Loss made(Tensor (*function)(Tensor, Tensor, const Options&), const Options& options, const char* name) {
  auto impl = std::make_shared<Loss::Impl>();
  impl->name = options.name.empty() ? name : options.name;
  if (options.sample_weight) fail("loss '", impl->name, "': sample_weight is given when it is called");
  impl->options = common(options);
  if constexpr (requires { options.ignore_class; }) impl->options.ignore_class = options.ignore_class;
  impl->call = [function, options](Tensor y, Tensor p, Tensor weight, Reduction reduction) {
    Options o = options;
    o.sample_weight = weight;
    o.reduction = reduction;
    return function(y, p, o);
  };
  return Loss(std::shared_ptr<const Loss::Impl>(std::move(impl)));
}

}  // namespace

namespace losses {

std::vector<std::string_view> loss_names() {
  std::vector<std::string_view> names;
  for (const KnownLoss& k : kLosses)
    for (const char* name : {k.name, k.class_name, k.alias})
      if (*name) names.emplace_back(name);
  return names;
}

bool is_loss(const std::string& name) { return find_loss(name) != nullptr; }

}  // namespace losses

Loss::Loss(const std::string& name) : Loss(known(name).function) {}
Loss::Loss(Function function, const LossOptions& options) {
  if (!function) fail("loss: the function is null");
  auto impl = std::make_shared<Impl>(made(function, options, name_of(function)).impl());
  if (function == cosine_similarity) impl->metric_sign = -1;
  impl->heeds_mask = function == Function(by_default<CtcOptions, ctc>);
  impl_ = std::move(impl);
}

Loss::Loss(std::function<Tensor(Tensor, Tensor)> per_sample, const LossOptions& options, int) {
  auto impl = std::make_shared<Impl>();
  impl->name = options.name.empty() ? "loss" : options.name;
  const char* name = impl->name.c_str();  // lives as long as what captures it
  expect_plain(name, options);
  if (options.sample_weight) fail("loss '", name, "': sample_weight is given when it is called");
  impl->options = options;
  impl->call = [name, per_sample = std::move(per_sample)](Tensor y, Tensor p, Tensor weight, Reduction reduction) {
    const Tensor values = per_sample(y, p);
    if (!values) fail(name, ": the function gave no tensor");
    if (!is_float(values.dtype())) fail(name, ": the function gave ", values.type().str(), ", expected floats");
    LossOptions o;
    o.sample_weight = weight;
    o.reduction = reduction;
    return reduced(name, values, o);
  };
  impl_ = std::move(impl);
}

Tensor Loss::operator()(Tensor y_true, Tensor y_pred, Tensor sample_weight) const {
  if (!impl_) fail("a loss was called that was never set");
  const Reduction reduction = impl_->options.reduction;
  const Tensor mask = impl_->heeds_mask ? Tensor() : mask_of(y_pred);
  if (mask) sample_weight = masked_weight(impl_->name, mask, sample_weight, reduction);
  return impl_->call(y_true, y_pred, sample_weight, reduction);
}
const std::string& Loss::name() const {
  static const std::string none;
  return impl_ ? impl_->name : none;
}

Loss BinaryCrossentropy(const LossOptions& o) { return Loss(binary_crossentropy, o); }
Loss BinaryFocalCrossentropy(const FocalOptions& o) {
  return made(binary_focal_crossentropy, o, "binary_focal_crossentropy");
}
Loss CategoricalCrossentropy(const LossOptions& o) { return Loss(categorical_crossentropy, o); }
Loss CategoricalFocalCrossentropy(const FocalOptions& o) {
  return made(categorical_focal_crossentropy, o, "categorical_focal_crossentropy");
}
Loss CategoricalGeneralizedCrossEntropy(const GeneralizedOptions& o) {
  return made(categorical_generalized_cross_entropy, o, "categorical_generalized_cross_entropy");
}
Loss CategoricalHinge(const LossOptions& o) { return Loss(categorical_hinge, o); }
Loss Circle(const CircleOptions& o) { return made(circle, o, "circle"); }
Loss CosineSimilarity(const LossOptions& o) { return Loss(cosine_similarity, o); }
Loss CTC(const LossOptions& o) {
  expect_plain("ctc", o);
  return Loss(by_default<CtcOptions, ctc>, o);
}
Loss Dice(const OverlapOptions& o) { return made(dice, o, "dice"); }
Loss Hinge(const LossOptions& o) { return Loss(hinge, o); }
Loss Huber(const HuberOptions& o) { return made(huber, o, "huber_loss"); }
Loss KLDivergence(const LossOptions& o) { return Loss(kl_divergence, o); }
Loss LogCosh(const LossOptions& o) { return Loss(log_cosh, o); }
Loss MeanAbsoluteError(const LossOptions& o) { return Loss(mean_absolute_error, o); }
Loss MeanAbsolutePercentageError(const LossOptions& o) { return Loss(mean_absolute_percentage_error, o); }
Loss MeanSquaredError(const LossOptions& o) { return Loss(mean_squared_error, o); }
Loss MeanSquaredLogarithmicError(const LossOptions& o) { return Loss(mean_squared_logarithmic_error, o); }
Loss Poisson(const LossOptions& o) { return Loss(poisson, o); }
Loss SparseCategoricalCrossentropy(const LossOptions& o) { return Loss(sparse_categorical_crossentropy, o); }
Loss SquaredHinge(const LossOptions& o) { return Loss(squared_hinge, o); }
Loss Tversky(const OverlapOptions& o) { return made(tversky, o, "tversky"); }

}  // namespace tenon
