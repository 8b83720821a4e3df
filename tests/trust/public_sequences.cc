#include "public_functions.h"
#include "tenon/batch_dot.h"
#include "tenon/einsum_dense.h"
#include "tenon/masking.h"
#include "tenon/noise.h"
#include "tenon/random.h"
#include "tenon/recurrent.h"
#include "tenon/sequences.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

template <class Options>
Options recurrent_options(A& a) {
  Options o;
  o.units = a.size(4);
  o.activation = a.one_of(Activation::kTanh);
  o.dropout = a.rate(0.1);
  o.recurrent_dropout = a.rate(0.1);
  o.kernel_regularizer.l2 = a.within(0.01, {-1});
  o.recurrent_regularizer.l1 = a.within(0.01, {-1});
  o.bias_regularizer.l2 = a.within(0.01, {-1});
  return o;
}

const std::vector<Ints> kNoSize = {{0}, {-1}, {kMost}, {2, 2}, {}};

const std::vector<Function> kSequences = {
    {"simple_rnn",
     [](A& a) {
       auto x = a.ranked({2, 5, 3});
       simple_rnn(x, recurrent_options<SimpleRNNOptions>(a));
     }},
    {"simple_rnn from a state",
     [](A& a) {
       auto x = a.ranked({2, 5, 3}), h = a.floats({2, 4}, true);
       simple_rnn(Tensors{x, h}, {.units = 4, .return_state = true});
     }},
    {"lstm (layer)",
     [](A& a) {
       auto x = a.ranked({2, 5, 3});
       lstm(x, recurrent_options<LSTMOptions>(a));
     }},
    {"lstm from states",
     [](A& a) {
       auto x = a.ranked({2, 5, 3}), h = a.floats({2, 4}, true), c = a.floats({2, 4}, true);
       lstm(Tensors{x, h, c}, {.units = 4, .return_state = true});
     }},
    {"gru (layer)",
     [](A& a) {
       auto x = a.ranked({2, 5, 3});
       gru(x, recurrent_options<GRUOptions>(a));
     }},
    {"gru from a state",
     [](A& a) {
       auto x = a.ranked({2, 5, 3}), h = a.floats({2, 4}, true);
       gru(Tensors{x, h}, {.units = 4, .return_state = true});
     }},
    {"Bidirectional",
     [](A& a) {
       auto x = a.ranked({2, 5, 3});
       LSTMOptions o;
       o.units = a.size(4);
       Bidirectional(LSTM(o), {.merge_mode = a.one_of(MergeMode::kSum)})(x);
     }},
    {"Bidirectional of two",
     [](A& a) {
       auto x = a.ranked({2, 5, 3});
       LSTMOptions back{.units = 4};
       back.go_backwards = a.number(1, {0}) == 1;
       back.return_sequences = a.number(0, {1}) == 1;
       Bidirectional(LSTM({.units = 4}), LSTM(back))(x);
     }},
    {"masking",
     [](A& a) {
       auto x = a.any({2, 5, 3});
       masking(x, {.mask_value = a.finite(0)});
     }},
    {"set_mask",
     [](A& a) {
       auto x = a.any({2, 5, 3});
       const Shape shape = a.shape({2, 5}, {{2, 4}, {3, 5}, {2, 5, 3, 1}});
       set_mask(x, Tensor(&a.graph(), a.graph().add_input({DType::kBool, shape}, Role::kFeed, "mask")));
       lstm(x, {.units = 4});
     }},
    {"time_distributed",
     [](A& a) {
       auto x = a.any({2, 5, 3});
       const int64_t units = a.size(4);
       time_distributed(x, [units](Tensor step) { return dense(step, {.units = units}); });
     }},
    {"conv1d_transpose",
     [](A& a) {
       auto x = a.ranked({2, 8, 4}, true);
       ConvTransposeOptions o;
       o.filters = a.size(4);
       o.kernel = Extent(a.list({3}, kNoSize));
       o.strides = Extent(a.list({2}, kNoSize));
       o.output_padding = Extent(a.list({1}, {{-1}, {2}, {kMost}, {1, 1}}));
       conv1d_transpose(x, o);
     }},
    {"depthwise_conv1d",
     [](A& a) {
       auto x = a.ranked({2, 8, 4}, true);
       ConvLayerOptions o;
       o.kernel = Extent(a.list({3}, kNoSize));
       o.strides = Extent(a.list({1}, kNoSize));
       o.depth_multiplier = a.size(2);
       depthwise_conv1d(x, o);
     }},
    {"separable_conv1d",
     [](A& a) {
       auto x = a.ranked({2, 8, 4}, true);
       ConvLayerOptions o;
       o.filters = a.size(4);
       o.kernel = Extent(a.list({3}, kNoSize));
       o.dilation = Extent(a.list({1}, kNoSize));
       o.depth_multiplier = a.size(2);
       separable_conv1d(x, o);
     }},
    {"zero_padding1d",
     [](A& a) {
       auto x = a.any({2, 8, 4});
       zero_padding1d(x, Extent(a.list({1}, {{-1}, {kMost}, {kLeast}, {1, 2, 3}, {}})));
     }},
    {"cropping1d",
     [](A& a) {
       auto x = a.any({2, 8, 4});
       cropping1d(x, Extent(a.list({1}, {{-1}, {4}, {kMost}, {kLeast}, {1, 2, 3}, {}})));
     }},
    {"up_sampling1d",
     [](A& a) {
       auto x = a.any({2, 8, 4});
       up_sampling1d(x, a.size(2));
     }},
    {"repeat_vector",
     [](A& a) {
       auto x = a.any({2, 8});
       repeat_vector(x, a.size(3));
     }},
    {"einsum_dense",
     [](A& a) {
       auto x = a.ranked({2, 5, 3}, true);
       static const char* const kEquations[] = {"abc,cd->abd", "",           "abc", "abc,cd", "ab,bc->ac",
                                                "abc,cd->abe", "aac,cd->acd"};
       EinsumDenseOptions o;
       o.equation = kEquations[a.number(0, {1, 2, 3, 4, 5, 6})];
       o.output_shape = a.list({5, 4}, {{5}, {}, {0, 4}, {-2, 4}, {5, 0}, {5, kMost}, {5, kLeast}, {6, 4}, {5, -1}});
       static const char* const kBias[] = {"d", "c", "a", "dd", "?"};
       o.bias_axes = kBias[a.number(0, {1, 3, 4})];
       o.activation = a.one_of(Activation::kRelu);
       o.kernel_regularizer.l2 = a.within(0.01, {-1});
       einsum_dense(x, o);
     }},
    {"batch_dot",
     [](A& a) {
       auto x = a.floats({2, 3, 4}), y = a.floats({2, 3, 5});
       batch_dot({x, y}, {.axes = a.list({1}, {{}, {0}, {2}, {3}, {-4}, {1, 2}, {1, 1, 1}, {kMost}, {kLeast}})});
     }},
    {"gaussian_noise",
     [](A& a) {
       auto x = a.floats({2, 3});
       gaussian_noise(x, {.stddev = a.within(0.1, {-1})});
     }},
    {"gaussian_dropout",
     [](A& a) {
       auto x = a.floats({2, 3});
       gaussian_dropout(x, {.rate = a.rate(0.1)});
     }},
    {"alpha_dropout",
     [](A& a) {
       auto x = a.floats({2, 3});
       alpha_dropout(x, {.rate = a.rate(0.1)});
     }},
    {"activity_regularization",
     [](A& a) {
       auto x = a.floats({2, 3});
       ActivityRegularizationOptions o;
       o.l1 = a.within(0.1, {-1});
       o.l2 = a.within(0.1, {-1});
       activity_regularization(x, o);
     }},
};

}  // namespace

const std::vector<Function>& sequence_functions() { return kSequences; }

}  // namespace tenon::public_arguments
