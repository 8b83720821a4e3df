// What the models of the catalogue are put together with: a map, whose size is known as far as the input's is, and a function for
// each layer. Names that are empty are given by the model, as Keras gives them.
#pragma once

#include <string>
#include <vector>

#include "tenon/applications.h"

namespace tenon::applications {

struct Map {
  Symbol x;
  int64_t height, width, channels;  // kAnySize
};
using Maps = std::vector<Map>;

struct InputRule {
  int64_t size;        // with a classifier, where none is given
  int64_t least = 32;  // height and width
  bool any = true;     // whether there may be none without a classifier
};
// Throws Error where the options do not say images that the model takes.
Map image(const Options& options, const InputRule& rule);

Map conv(const Map& x, const ConvLayerOptions& options);
Map depthwise(const Map& x, const ConvLayerOptions& options);
Map separable(const Map& x, const ConvLayerOptions& options);
Map norm(const Map& x, const BatchNormOptions& options = {});
Map act(const Map& x, const ActivationRule& activation, std::string name = {});
// Keras's layer ReLU, which is another one than Activation("relu").
Map re_lu(const Map& x, std::optional<double> max_value = {}, std::string name = {});
Map pad(const Map& x, const Ints& top_bottom_left_right, std::string name = {});
Map max_pool(const Map& x, const PoolLayerOptions& options);
Map average_pool(const Map& x, const PoolLayerOptions& options);
Map add(const Map& a, const Map& b, std::string name = {});
Map concat(const Maps& maps, std::string name = {});
// Any layer that leaves the shape as it is.
template <class L>
Map apply(const Map& x, const L& layer) {
  return {layer(x.x), x.height, x.width, x.channels};
}

// What is added before a convolution of stride 2 that adds nothing itself, so that it sees what "same" would show it of an
// image of odd size.
Ints correct_pad(const Map& x, int64_t kernel);
// Channels of a wider or thinner network: the nearest multiple of 8, 8 at least, and of `mostly` nine tenths of what was asked.
int64_t eights(double channels, bool mostly = true);

// 1 / 3 and 2 over the fan that goes out, as the EfficientNets and AmoebaNet begin.
InitializerRule fan_out_kernel();
InitializerRule fan_out_classifier();

// Drops whole examples of a branch while training, as Dropout with noise_shape (None, 1, 1, 1) does.
class DropPath : public LayerOf<DropPath> {
 public:
  explicit DropPath(double rate, std::string name = {}) : LayerOf(std::move(name)), rate_(rate) {}
  Tensor call(Tensor x) override;

 private:
  double rate_;
};

// Squeeze and excite, as both EfficientNets have it: x times a number for each channel, by its mean over the map.
Map excited(const Map& x, int64_t squeezed, const std::string& name);

// How a model ends.
struct Top {
  std::string classifier_pool, average, maximum;  // names of the pooling layers, with a classifier and without
  double dropout = 0;                             // behind the pooling, "top_dropout"
  InitializerRule kernel_initializer = &glorot_uniform;
};
inline Top named_top() { return {"avg_pool", "avg_pool", "max_pool"}; }
Model finish(const Map& input, const Map& x, const Options& options, const std::string& name, const Top& top);
// The same where the classifier is the family's own: `x` is a map without it.
Symbol pooled(const Map& x, const Options& options, const std::string& average = {}, const std::string& maximum = {});
Symbol classified(const Symbol& x, const Options& options, const InitializerRule& kernel_initializer = &glorot_uniform);
Model finish(const Map& input, const Symbol& output, const Options& options, const std::string& name);

// Refuses options that the family does not have: those beside `has`.
struct Has {
  bool alpha = false, depth_multiplier = false, minimalistic = false, preprocessing = false, dropout = false,
       drop_connect = false, imagenet = false, cells = false;
};
void expect_options(const Options& options, const char* model, const Has& has);

}  // namespace tenon::applications
