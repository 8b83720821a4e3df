// Support vector machines (ai.onnx.ml), as libsvm has them.
#include <algorithm>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/scores.h"

namespace tenon::onnx {
namespace support_vector_ops {
namespace {

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

// A classifier of each pair of classes, in the order (0, 1), (0, 2), .., (1, 2), ..
struct Pairs {
  int64_t classes;
  std::vector<std::pair<int64_t, int64_t>> of;

  explicit Pairs(int64_t classes) : classes(classes) {
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j) of.emplace_back(i, j);
  }
  int64_t size() const { return static_cast<int64_t>(of.size()); }
  int64_t at(int64_t i, int64_t j) const { return i * classes - i * (i + 1) / 2 + j - i - 1; }
};

// [vectors, pairs] of libsvm's rows: row j - 1 has the weights of i's vectors against j, row i those of j's against i.
Tensor pair_weights(Call& c, const Pairs& pairs, const Ints& counts, const std::vector<double>& rows) {
  Ints first = {0};
  for (const int64_t n : counts) first.push_back(first.back() + n);
  const int64_t vectors = first.back();
  expect_table(static_cast<double>(vectors) * static_cast<double>(pairs.size()));
  std::vector<double> table(static_cast<size_t>(vectors * pairs.size()), 0);
  for (int64_t p = 0; p < pairs.size(); ++p) {
    const auto [i, j] = pairs.of[static_cast<size_t>(p)];
    const auto put = [&, p](int64_t of, int64_t row) {
      for (int64_t v = first[static_cast<size_t>(of)]; v < first[static_cast<size_t>(of) + 1]; ++v)
        table[static_cast<size_t>(v * pairs.size() + p)] = rows[static_cast<size_t>(row * vectors + v)];
    };
    put(i, j - 1);
    put(j, i);
  }
  return floats(c, table, Shape({vectors, pairs.size()}));
}

// How many pairs each class wins: [B, classes].
Tensor votes_of(Call& c, const Pairs& pairs, Tensor scores) {
  std::vector<double> if_won(static_cast<size_t>(pairs.size() * pairs.classes), 0), if_lost = if_won;
  for (int64_t p = 0; p < pairs.size(); ++p) {
    const auto [i, j] = pairs.of[static_cast<size_t>(p)];
    if_won[static_cast<size_t>(p * pairs.classes + i)] = if_lost[static_cast<size_t>(p * pairs.classes + j)] = 1;
  }
  const Shape shape({pairs.size(), pairs.classes});
  const Tensor won = cast(compare(scores, scalar_like(scores, 0), CompareKind::kGt), DType::kF32);
  return dot(won, floats(c, if_won, shape)) + dot(1.0 - won, floats(c, if_lost, shape));
}

Tensor column(Tensor x, int64_t i) { return part(x, 1, i, i + 1); }

// The probabilities of classes from those of pairs r[B, pairs], by libsvm's second method (Wu, Lin and Weng 2004): coordinate descent on
// min p' Q p. Each row ends where its error is below 0.005 / classes, as it does there.
class Coupling {
 public:
  Coupling(const Pairs& pairs, Tensor r) : n_(pairs.classes), q_(static_cast<size_t>(n_ * n_)) {
    for (int64_t t = 0; t < n_; ++t)
      for (int64_t j = 0; j < n_; ++j) {
        if (j == t) continue;
        const Tensor here = rate(pairs, r, t, j), there = rate(pairs, r, j, t);
        q(t, j) = neg(here * there);
        q(t, t) = q(t, t) ? q(t, t) + square(there) : square(there);
      }
    p_.assign(static_cast<size_t>(n_), full_like(column(r, 0), 1.0 / static_cast<double>(n_)));
  }

  Tensor run() {
    const int64_t turns = n_ == 2 ? 2 : std::max<int64_t>(100, n_);  // two classes meet at once
    for (int64_t turn = 0; turn < turns; ++turn) step();
    return concat(p_, 1);
  }

 private:
  static Tensor rate(const Pairs& pairs, Tensor r, int64_t i, int64_t j) {
    return i < j ? column(r, pairs.at(i, j)) : 1.0 - column(r, pairs.at(j, i));
  }
  Tensor& q(int64_t i, int64_t j) { return q_[static_cast<size_t>(i * n_ + j)]; }

  void step() {
    Tensors product, next = p_;
    Tensor sum, error;
    for (int64_t t = 0; t < n_; ++t) {
      Tensor row;
      for (int64_t j = 0; j < n_; ++j) {
        const Tensor term = q(t, j) * p_[static_cast<size_t>(j)];
        row = row ? row + term : term;
      }
      product.push_back(row);
      const Tensor term = p_[static_cast<size_t>(t)] * row;
      sum = sum ? sum + term : term;
    }
    for (const Tensor& row : product) error = error ? maximum(error, abs(row - sum)) : abs(row - sum);
    const Tensor done = compare(error, scalar_like(error, 0.005 / static_cast<double>(n_)), CompareKind::kLt);
    for (int64_t t = 0; t < n_; ++t) {
      const auto at = static_cast<size_t>(t);
      const Tensor diff = (sum - product[at]) / q(t, t), whole = diff + 1.0;
      sum = (sum + diff * (diff * q(t, t) + 2.0 * product[at])) / square(whole);
      next[at] = next[at] + diff;
      for (int64_t j = 0; j < n_; ++j) {
        const auto other = static_cast<size_t>(j);
        product[other] = (product[other] + diff * q(t, j)) / whole;
        next[other] = next[other] / whole;
      }
    }
    for (size_t t = 0; t < p_.size(); ++t) p_[t] = select(done, p_[t], next[t]);
  }

  int64_t n_;
  Tensors q_, p_;
};

Tensor probabilities(Call& c, const Pairs& pairs, Tensor scores, const std::vector<double>& a) {
  constexpr double kLeast = 1e-7;
  constexpr int64_t kMostClasses = 24;  // the descent is unrolled
  const std::vector<double> b = c.reals("prob_b");
  const auto expected = static_cast<size_t>(pairs.size());
  if (a.size() != expected || b.size() != expected)
    fail(a.size(), " and ", b.size(), " numbers of probabilities, expected ", expected);
  if (pairs.classes > kMostClasses) c.refuse("probabilities of more than ", kMostClasses, " classes");
  const Shape one({pairs.size()});
  const Tensor r = activation(neg(scores * floats(c, a, one) + floats(c, b, one)), Activation::kSigmoid);
  return Coupling(pairs, minimum(maximum(r, scalar_like(r, kLeast)), scalar_like(r, 1 - kLeast))).run();
}

// One score of two classes as one of each.
Tensor both(const std::string& how, Tensor score) {
  return how == "NONE" ? concat({neg(score), score}, 1) : concat({1.0 - answered(how, score), answered(how, score)}, 1);
}

// A weight a class and feature, as liblinear has them.
void linear_scores(Call& c, Tensor x, const Ints& labels, int64_t classes) {
  const std::vector<double> weights = c.reals("coefficients"), rho = c.reals("rho");
  if (rho.empty() || static_cast<int64_t>(weights.size()) != product(classes, x.dim(-1)))
    fail(weights.size(), " coefficients and ", rho.size(), " offsets of ", classes, " classes and ", x.dim(-1),
         " features");
  const Tensor scores =
      dot(x, floats(c, weights, Shape({classes, x.dim(-1)})), {.tb = true, .precision = MathPrecision::kHighest}) +
      rho[0];
  c.give(labels_of(c, argmax(scores, 1), labels), Element::kI64);
  c.give(answered(c.text("post_transform", "NONE"), scores), Element::kF32);
}

void svm_classifier(Call& c) {
  const Tensor x = real(c, 0);
  int64_t classes = 0, vectors = 0;
  const Ints labels = class_labels(c, &classes), counts = c.ints("vectors_per_class");
  if (x.rank() != 2) fail("an operand of ", x.rank(), " dimensions, expected 2");
  if (classes < 2 || classes > 1 << 12) fail(classes, " classes");
  for (const int64_t n : counts) {
    if (n < 0 || n > 1 << 26) fail("a class has ", n, " vectors");
    vectors += n;
  }
  if (vectors == 0) return linear_scores(c, x, labels, classes);
  const std::vector<double> given = c.reals("support_vectors"), weights = c.reals("coefficients"), rho = c.reals("rho");
  const Pairs pairs(classes);
  if (static_cast<int64_t>(counts.size()) != classes ||
      static_cast<int64_t>(given.size()) != product(vectors, x.dim(1)) ||
      static_cast<int64_t>(weights.size()) != product(vectors, classes - 1) ||
      static_cast<int64_t>(rho.size()) != pairs.size())
    fail(given.size(), " numbers of ", vectors, " vectors of ", x.dim(1), " features, ", weights.size(),
         " coefficients, ", rho.size(), " offsets of ", classes, " classes");
  const Tensor seen = kernel_of(c, x, floats(c, given, Shape({vectors, x.dim(1)})));
  const Tensor scores =
      dot(seen, pair_weights(c, pairs, counts, weights), {.precision = MathPrecision::kHighest}) + spread_row(c, rho);
  const std::vector<double> a = c.reals("prob_a");
  const std::string how = c.text("post_transform", "NONE");
  const bool positive = std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  // ONNX Runtime's rule: two classes without a negative weight are the second one.
  const Tensor winner = classes == 2 && a.empty() && positive ? full(c.graph(), DType::kI32, Shape({x.dim(0)}), 1)
                                                              : argmax(votes_of(c, pairs, scores), 1);
  c.give(labels_of(c, winner, labels), Element::kI64);
  if (!a.empty())
    c.give(answered(how, probabilities(c, pairs, scores, a)), Element::kF32);
  else
    c.give(classes == 2 ? both(how, scores) : answered(how, scores), Element::kF32);
}

constexpr Rule kRules[] = {
    {"SVMClassifier", svm_classifier, kMl},
    {"SVMRegressor", svm_regressor, kMl},
};

}  // namespace
}  // namespace support_vector_ops

Rules support_vector_rules() { return support_vector_ops::kRules; }

}  // namespace tenon::onnx
