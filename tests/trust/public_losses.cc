#include "public_functions.h"
#include "tenon/losses.h"
#include "tenon/metrics.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

#define LOSS(f)                                                              \
  {                                                                          \
#f, [](A& a) { auto x = a.floats({2, 3}, true); f(a.any({2, 3}, true), x); } \
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
    LOSS(categorical_crossentropy),
    LOSS(binary_crossentropy),
    {"huber",
     [](A& a) {
       auto x = a.floats({2, 3}, true), y = a.any({2, 3}, true);
       huber(y, x, {.delta = a.positive(1)});
     }},
    {"sparse_categorical_crossentropy from logits",
     [](A& a) {
       auto x = a.floats({4, 3}), l = a.tensor(DType::kI32, {4}, {DType::kBool}, true);
       LossOptions o{.from_logits = true};
       o.label_smoothing = a.within(0.1, {-1, 1.5});
       sparse_categorical_crossentropy(l, x, o);
     }},
    {"sparse_categorical_crossentropy",
     [](A& a) {
       auto x = a.floats({4, 3});
       sparse_categorical_crossentropy(a.classes({4}, true), x);
     }},
    {"binary_focal_crossentropy",
     [](A& a) {
       auto x = a.floats({4, 3}, true), l = a.any({4, 3}, true);
       FocalOptions f;
       f.alpha = a.within(0.25, {-1});
       f.gamma = a.within(2, {-1});
       binary_focal_crossentropy(l, x, f);
     }},
    {"circle",
     [](A& a) {
       auto x = a.floats({4, 3}), y = a.classes({4}, true);
       circle(y, x, {.gamma = a.within(80, {-1}), .margin = a.finite(0.4)});
     }},
    {"ctc",
     [](A& a) {
       auto x = a.floats({2, 4, 3}), y = a.classes({2, 2});
       ctc(y, x);
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
