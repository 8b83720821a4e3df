// Inside of the layers: names, variables, padding.
#pragma once

#include "base/number.h"
#include "base/strings.h"
#include "graph/graph.h"
#include "op/op.h"
#include "tenon/layers.h"

namespace tenon {

// Names a layer's nodes and variables "NAME/..." while it lives, NAME made unique in the graph.
class LayerScope {
 public:
  // `layer` is for messages and the name that layers of its kind get, `name` the one asked for. Throws Error when the
  // input was never set, or the graph has a layer of a name that was asked for.
  LayerScope(Tensor x, std::string_view layer, std::string_view name);
  ~LayerScope() { graph_.set_scope(saved_); }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;
  const std::string& name() const { return name_; }
  // Another in each call of a layer that is called several times: what random numbers are keyed by.
  const std::string& call() const { return call_; }

  // Throws "conv2d 'block3/a': " followed by the parts.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    ::tenon::fail(layer_, " '", name_, "': ", parts...);
  }
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    if (!condition) fail(parts...);
  }
  // Throws unless it is finite, and `low` or more.
  void expect_number(std::string_view what, double value, double low = kLowestNumber) const {
    ::tenon::expect_number(cat(layer_, " '", name_, "': ", what), value, low);
  }
  // Throws unless it can be the size of a weight: `least` or more, and less than 2^31.
  void expect_size(std::string_view what, int64_t value, int64_t least = 1) const {
    expect(value >= least, what, " is ", value, ", expected ", least, " or more");
    expect(value <= INT32_MAX, what, " is ", value, ", expected less than 2^31");
  }
  // Throws unless it is a value of its enum, which begins with 0 and ends with `last`.
  template <class Enum>
  void expect_value_of(std::string_view what, Enum value, Enum last) const {
    expect(value <= last, what, " is value ", static_cast<int>(value), " of its enum, expected 0 to ",
           static_cast<int>(last));
  }
  // x is a float of rank `low` to `high` without an empty dimension.
  void expect_float(Tensor x, int low, int high = kMaxRank) const;
  // The same of x, where integers and bytes become what layers compute in, as in Keras.
  Tensor as_float(Tensor x, int low, int high = kMaxRank) const;
  // Throws where the size of a weight would depend on a dynamic dimension of x.
  void expect_static(Tensor x, int axis) const;
  // One size a dimension, each at least `least`.
  Ints sizes(std::string_view what, const Extent& extent, int dimensions, int64_t least = 1) const;

 private:
  Graph& graph_;
  std::string saved_, layer_, name_, call_;
};

// Whether the layer that builds has built it in this graph before.
bool has_variable(Tensor like, std::string_view name);
// A trainable or frozen variable with an optional penalty on the loss and constraint, in f32.
Tensor parameter(Tensor x, std::string_view name, const Shape& shape, const InitializerRule& rule, bool trainable,
                 const Regularizer& regularizer = {}, const Constraint& constraint = {});
// The same in x's dtype.
Tensor weight(Tensor x, std::string_view name, const Shape& shape, const InitializerRule& rule, bool trainable,
              const Regularizer& regularizer = {}, const Constraint& constraint = {});
// The penalty on x, called `what`, is added to the loss: all of it, or what an example of the batch has of it. Throws Error
// where the penalty is none.
enum class Share : uint8_t { kAll, kExample };
void add_penalty(std::string_view what, Tensor x, const Regularizer& regularizer, Share share = Share::kAll);
// What a layer gives, which its activity_regularizer penalizes.
template <class Options>
Tensor penalized(Tensor y, const Options& o) {
  if (o.activity_regularizer) add_penalty("the activity", y, o.activity_regularizer, Share::kExample);
  return y;
}
// The variable "bias", absent unless used.
template <class Options>
Tensor bias_of(Tensor x, const Shape& shape, const Options& o) {
  if (!o.use_bias) return {};
  return weight(x, "bias", shape, o.bias_initializer, o.trainable, o.bias_regularizer, o.bias_constraint);
}

// How the states of stateful recurrent layers are called, the second followed by "_1".
inline constexpr std::string_view kRnnState = "rnn_state";

// The slope or scale that Keras's function of that name has.
double default_alpha(Activation activation);

// low and high padding of each spatial dimension, as TensorFlow pads: the odd one at the end.
struct Paddings {
  Ints low, high;
};
Paddings paddings(Padding padding, const Ints& input, const Ints& kernel, const Ints& strides, const Ints& dilation);

// The spatial axes of [batch, .., channels].
Ints spatial_axes(Tensor x);

// Classes, or rows of a table, that x has the numbers of: as in Keras bytes, and the whole part of f32 and f64, are i32. Others
// stay, as 16 bits, which have few whole numbers.
Tensor as_indices(Tensor x);

// x without a last axis of size 1 that `like` does not have.
Tensor same_rank(Tensor x, Tensor like);
// sample_weight in f32 along the first axes of `values`, broadcast to it; `what` is for messages.
Tensor sample_weights(std::string_view what, Tensor weight, Tensor values);

}  // namespace tenon
