// Metrics as objects, and their names.
#include "layer/metric/metric_parts.h"
#include "layer/object/masks.h"

namespace tenon {

struct Metric::Impl {
  std::string name;
  Function function;
};

namespace {

using namespace metrics;

enum class Kind : uint8_t { kBinary, kSparse, kCategorical };

// Keras's rule; of predictions with one dimension only each is a sample.
Kind kind_of(const char* metric, Tensor y, Tensor p) {
  if (!y || !p) fail(metric, ": labels or predictions were never set");
  if (p.rank() < 2 || p.dim(-1) == 1) return Kind::kBinary;
  return y.rank() < p.rank() || y.dim(-1) == 1 ? Kind::kSparse : Kind::kCategorical;
}

MetricOp accuracy_by_shapes(Tensor y, Tensor p, Tensor w) {
  const Kind kind = kind_of("accuracy", y, p);
  if (kind == Kind::kBinary) return binary_accuracy(y, p, 0.5, w);
  return kind == Kind::kSparse ? sparse_categorical_accuracy(y, p, w) : categorical_accuracy(y, p, w);
}

MetricOp crossentropy_by_shapes(Tensor y, Tensor p, Tensor w) {
  const Kind kind = kind_of("crossentropy", y, p);
  const Loss loss = kind == Kind::kBinary   ? BinaryCrossentropy()
                    : kind == Kind::kSparse ? SparseCategoricalCrossentropy()
                                            : CategoricalCrossentropy();
  return Metric(loss)(y, p, w);
}

MetricOp of_loss(const Loss& loss, Tensor y, Tensor p, Tensor w) {
  const Loss::Impl& impl = loss.impl();
  const char* name = impl.name.c_str();
  Tensor values = impl.call(y, p, {}, Reduction::kNone);
  if (impl.metric_sign != 1) values = values * impl.metric_sign;
  if (w) w = sample_weights(name, w, values);
  if (Tensor some = losses::counted(y, impl.options)) {
    some = reshape(some, values.shape());
    w = w ? w * some : some;
  }
  return weighted(name, values, w);
}

struct KnownMetric {
  const char *name, *class_name;
  Metric (*make)();
};

template <auto maker>
Metric by_default() {
  return maker({});
}

const KnownMetric kMetrics[] = {
    {"categorical_accuracy", "CategoricalAccuracy", [] { return CategoricalAccuracy(); }},
    {"sparse_categorical_accuracy", "SparseCategoricalAccuracy", [] { return SparseCategoricalAccuracy(); }},
    {"binary_accuracy", "BinaryAccuracy", by_default<BinaryAccuracy>},
    {"top_k_categorical_accuracy", "TopKCategoricalAccuracy", by_default<TopKCategoricalAccuracy>},
    {"sparse_top_k_categorical_accuracy", "SparseTopKCategoricalAccuracy", by_default<SparseTopKCategoricalAccuracy>},
    {"root_mean_squared_error", "RootMeanSquaredError", [] { return RootMeanSquaredError(); }},
    {"rmse", "", [] { return RootMeanSquaredError(); }},
    {"logcosh", "LogCoshError", [] { return LogCoshError(); }},
    {"pearson_correlation", "PearsonCorrelation", [] { return PearsonCorrelation(); }},
    {"concordance_correlation", "ConcordanceCorrelation", [] { return ConcordanceCorrelation(); }},
    {"r2_score", "R2Score", by_default<R2Score>},
    {"true_positives", "TruePositives", by_default<TruePositives>},
    {"false_positives", "FalsePositives", by_default<FalsePositives>},
    {"true_negatives", "TrueNegatives", by_default<TrueNegatives>},
    {"false_negatives", "FalseNegatives", by_default<FalseNegatives>},
    {"precision", "Precision", by_default<Precision>},
    {"recall", "Recall", by_default<Recall>},
    {"auc", "AUC", by_default<AUC>},
    {"fbeta_score", "FBetaScore", by_default<FBetaScore>},
    {"f1_score", "F1Score", by_default<F1Score>},
    {"binary_io_u", "BinaryIoU", by_default<BinaryIoU>},
};

Metric::Function function_of(const std::string& name) {
  if (name == "accuracy" || name == "acc" || name == "Accuracy") return accuracy_by_shapes;
  if (name == "crossentropy" || name == "ce") return crossentropy_by_shapes;
  std::vector<std::string_view> names = losses::loss_names();
  for (const KnownMetric& k : kMetrics) {
    if (!name.empty() && (name == k.name || name == k.class_name)) return k.make();
    names.insert(names.end(), {k.name, k.class_name});
  }
  if (losses::is_loss(name)) return Metric(Loss(name));
  names.insert(names.end(), {"accuracy", "crossentropy"});
  const std::string_view near = nearest(name, names);
  fail("no metric of name '", name, "'", near.empty() ? std::string() : cat("; did you mean '", near, "'?"));
}

}  // namespace

Metric::Metric(const std::string& name) : Metric(name, function_of(name)) {}
Metric::Metric(const Loss& loss) {
  if (!loss) fail("a metric was made of a loss that was never set");
  const auto of = [loss](Tensor y, Tensor p, Tensor w) { return of_loss(loss, y, p, w); };
  impl_ = std::make_shared<Impl>(loss.name(), of);
}
Metric::Metric(std::string name, Function function) {
  if (!function) fail("metric '", name, "': the function is empty");
  impl_ = std::make_shared<Impl>(std::move(name), std::move(function));
}

MetricOp Metric::operator()(Tensor y_true, Tensor y_pred, Tensor sample_weight) const {
  if (!impl_) fail("a metric was called that was never set");
  if (const Tensor mask = mask_of(y_pred))
    sample_weight = masked_weight(impl_->name, mask, sample_weight, Reduction::kSum);
  MetricOp op = impl_->function(y_true, y_pred, sample_weight);
  if (op.sums.empty()) fail("metric '", impl_->name, "' gave no sums");
  for (const Tensor& s : op.sums)
    if (!s || s.dtype() != DType::kF32)
      fail("metric '", impl_->name, "' gave a sum ", s ? s.type().str() : "that was never set", ", expected f32");
  return op;
}
const std::string& Metric::name() const {
  static const std::string none;
  return impl_ ? impl_->name : none;
}

Metric MeanMetricWrapper(std::function<Tensor(Tensor, Tensor)> values, std::string name) {
  if (!values) fail("metric '", name, "': the function is empty");
  return {name, [values = std::move(values), name](Tensor y, Tensor p, Tensor w) {
            return weighted(name.c_str(), values(y, p), w);
          }};
}

Metric Accuracy(const std::string& name) { return {name, accuracy}; }
Metric CategoricalAccuracy(const std::string& name) { return {name, categorical_accuracy}; }
Metric SparseCategoricalAccuracy(const std::string& name) { return {name, sparse_categorical_accuracy}; }
Metric BinaryAccuracy(const BinaryAccuracyOptions& o) {
  return {o.name, [o](Tensor y, Tensor p, Tensor w) { return binary_accuracy(y, p, o.threshold, w); }};
}
Metric TopKCategoricalAccuracy(const TopKOptions& o) {
  return {o.name.empty() ? "top_k_categorical_accuracy" : o.name,
          [o](Tensor y, Tensor p, Tensor w) { return top_k_categorical_accuracy(y, p, o.k, w); }};
}
Metric SparseTopKCategoricalAccuracy(const TopKOptions& o) {
  return {o.name.empty() ? "sparse_top_k_categorical_accuracy" : o.name,
          [o](Tensor y, Tensor p, Tensor w) { return sparse_top_k_categorical_accuracy(y, p, o.k, w); }};
}

}  // namespace tenon
