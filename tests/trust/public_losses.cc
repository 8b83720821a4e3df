#include "public_functions.h"
#include "tenon/losses.h"
#include "tenon/metrics.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

#define LOSS(f)                                                              \
  {                                                                          \
#f, [](A& a) { auto x = a.floats({2, 3}, true); f(x, a.any({2, 3}, true)); } \
  }  // labels of any dtype are numbers

const std::vector<Function> kLosses = {
    LOSS(mean_squared_error),
    LOSS(mean_absolute_error),
    LOSS(mean_absolute_percentage_error),
    LOSS(mean_squared_logarithmic_error),
    LOSS(log_cosh),
    LOSS(poisson),
    LOSS(kl_divergence),
    LOSS(cosine_similarity),
    LOSS(hinge),
    LOSS(squared_hinge),
    LOSS(categorical_hinge),
    LOSS(categorical_cross_entropy),
    LOSS(binary_cross_entropy),
    {"huber",
     [](A& a) {
       auto x = a.floats({2, 3}, true), y = a.any({2, 3}, true);
       huber(x, y, a.positive(1));
     }},
    {"softmax_cross_entropy",
     [](A& a) {
       auto x = a.floats({4, 3}), l = a.tensor(DType::kI32, {4}, {DType::kBool}, true);
       LossOptions o;
       o.label_smoothing = a.within(0.1, {-1, 1.5});
       softmax_cross_entropy(x, l, o);
     }},
    {"sparse_categorical_cross_entropy",
     [](A& a) {
       auto x = a.floats({4, 3});
       sparse_categorical_cross_entropy(x, a.indices({4}, true));
     }},
    {"binary_focal_cross_entropy",
     [](A& a) {
       auto x = a.floats({4, 3}, true), l = a.any({4, 3}, true);
       FocalOptions f;
       f.alpha = a.within(0.25, {-1});
       f.gamma = a.within(2, {-1});
       binary_focal_cross_entropy(x, l, f);
     }},
    {"accuracy",
     [](A& a) {
       auto x = a.any({4}, true);
       accuracy(x, a.any({4}, true));
     }},
    {"sparse_categorical_accuracy",
     [](A& a) {
       auto x = a.any({4}, true);
       sparse_categorical_accuracy(x, a.numbers({4, 3}));
     }},
    {"binary_accuracy",
     [](A& a) {
       auto x = a.any({4}, true), y = a.any({4}, true);
       binary_accuracy(x, y, a.finite(0.5));
     }},
    {"precision",
     [](A& a) {
       auto x = a.any({4}, true), y = a.any({4}, true);
       precision(x, y, a.finite(0.5));
     }},
    {"sparse_top_k_categorical_accuracy",
     [](A& a) {
       auto x = a.any({4}, true);
       auto y = a.numbers({4, 9});
       sparse_top_k_categorical_accuracy(x, y, a.list({5}, {{0}, {-1}, {kLeast}})[0]);
     }},
};

#undef LOSS

}  // namespace

const std::vector<Function>& loss_functions() { return kLosses; }

}  // namespace tenon::public_arguments
