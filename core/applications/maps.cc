#include "applications/maps.h"

#include "base/strings.h"

namespace tenon::applications {
namespace {

int64_t reduced(int64_t size, int64_t kernel, int64_t stride, Padding padding, int64_t dilation = 1) {
  if (size == kAnySize) return size;
  const int64_t room = padding == same ? size - 1 : size - (kernel - 1) * dilation - 1;
  return room / stride + 1;
}

Map convolved(const Map& x, const Symbol& y, const ConvLayerOptions& o, int64_t channels) {
  const Ints kernel = o.kernel.of(2), strides = o.strides.of(2), dilation = o.dilation.of(2);
  return {y, reduced(x.height, kernel[0], strides[0], o.padding, dilation[0]),
          reduced(x.width, kernel[1], strides[1], o.padding, dilation[1]), channels};
}

Map pooled_map(const Map& x, const Symbol& y, const PoolLayerOptions& o) {
  const Ints window = o.pool_size.of(2), strides = o.strides ? o.strides->of(2) : window;
  return {y, reduced(x.height, window[0], strides[0], o.padding), reduced(x.width, window[1], strides[1], o.padding),
          x.channels};
}

int64_t grown(int64_t size, int64_t by) { return size == kAnySize ? size : size + by; }

}  // namespace

Map image(const Options& options, const InputRule& rule) {
  std::vector<int64_t> dims = options.input_shape.dims();
  if (dims.empty() && (options.include_top || !rule.any)) dims = {rule.size, rule.size, 3};
  if (dims.empty()) dims = {kAnySize, kAnySize, 3};
  if (dims.size() != 3)
    fail("applications: input_shape has ", dims.size(), " sizes, expected height, width and channels");
  for (int i = 0; i < 2; ++i) {
    const int64_t size = dims[static_cast<size_t>(i)];
    const char* what = i == 0 ? "height" : "width";
    if (size == kAnySize && (options.include_top || !rule.any))
      fail("applications: the ", what, " of input_shape is any size, which this model does not take",
           rule.any ? " with its classifier" : "");
    if (size != kAnySize && (size < rule.least || size > (1 << 20)))
      fail("applications: the ", what, " of input_shape is ", size, ", expected ", rule.least, " or more");
  }
  if (dims[2] < 1 || dims[2] > (1 << 20))
    fail("applications: input_shape has ", dims[2], " channels, expected 1 or more");
  if (options.classes < 1) fail("applications: classes is ", options.classes, ", expected 1 or more");
  return {Input({dims[0], dims[1], dims[2]}), dims[0], dims[1], dims[2]};
}

Map conv(const Map& x, const ConvLayerOptions& options) {
  return convolved(x, Conv2D(options)(x.x), options, options.filters);
}
Map depthwise(const Map& x, const ConvLayerOptions& options) {
  return convolved(x, DepthwiseConv2D(options)(x.x), options, x.channels * options.depth_multiplier);
}
Map separable(const Map& x, const ConvLayerOptions& options) {
  return convolved(x, SeparableConv2D(options)(x.x), options, options.filters);
}
Map norm(const Map& x, const BatchNormOptions& options) { return apply(x, BatchNormalization(options)); }
Map act(const Map& x, const ActivationRule& activation, std::string name) {
  return apply(x, ActivationLayer(activation, std::move(name)));
}
Map re_lu(const Map& x, std::optional<double> max_value, std::string name) {
  ReluOptions options{.max_value = max_value};
  if (!name.empty()) options.name = std::move(name);
  return apply(x, ReLU(options));
}
Map pad(const Map& x, const Ints& by, std::string name) {
  return {ZeroPadding2D(Extent(by), std::move(name))(x.x), grown(x.height, by[0] + by[1]),
          grown(x.width, by[2] + by[3]), x.channels};
}
Map max_pool(const Map& x, const PoolLayerOptions& options) {
  return pooled_map(x, MaxPooling2D(options)(x.x), options);
}
Map average_pool(const Map& x, const PoolLayerOptions& options) {
  return pooled_map(x, AveragePooling2D(options)(x.x), options);
}
Map add(const Map& a, const Map& b, std::string name) {
  return {Add(std::move(name))(std::vector{a.x, b.x}), a.height, a.width, a.channels};
}
Map concat(const Maps& maps, std::string name) {
  std::vector<Symbol> all;
  Map out = maps[0];
  out.channels = 0;
  for (const Map& map : maps) {
    all.push_back(map.x);
    out.channels += map.channels;
  }
  out.x = Concatenate(-1, std::move(name))(all);
  return out;
}

Ints correct_pad(const Map& x, int64_t kernel) {
  const auto less = [](int64_t size) { return size == kAnySize ? 1 : 1 - size % 2; };
  return {kernel / 2 - less(x.height), kernel / 2, kernel / 2 - less(x.width), kernel / 2};
}

int64_t eights(double channels, bool mostly) {
  const int64_t near = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return mostly && static_cast<double>(near) < 0.9 * channels ? near + 8 : near;
}

InitializerRule fan_out_kernel() {
  return +[](const Shape& kernel) {
    return variance_scaling(2, FanMode::kFanOut, Distribution::kTruncatedNormal, kernel);
  };
}
InitializerRule fan_out_classifier() {
  return +[](const Shape& kernel) {
    return variance_scaling(1.0 / 3, FanMode::kFanOut, Distribution::kUniform, kernel);
  };
}

Tensor DropPath::call(Tensor x) {
  if (mode_of(x) != Mode::kTrain || rate_ == 0) return x;
  std::vector<int64_t> each(static_cast<size_t>(x.rank()), 1);
  each[0] = x.dim(0);
  return multiply({x, dropout(full(*x.graph(), x.dtype(), Shape(each), 1), rate_)});
}

Map excited(const Map& x, int64_t squeezed, const std::string& name) {
  Symbol y = GlobalAveragePooling2D(false, name + "se_squeeze")(x.x);
  y = Reshape(ReshapeOptions{.target_shape = {1, 1, x.channels}, .name = name + "se_reshape"})(y);
  const auto one = [&](int64_t filters, const ActivationRule& activation, const char* part) {
    y = Conv2D({.filters = filters,
                .padding = same,
                .activation = activation,
                .kernel_initializer = fan_out_kernel(),
                .name = name + part})(y);
  };
  one(squeezed, swish, "se_reduce");
  one(x.channels, sigmoid, "se_expand");
  return {Multiply(name + "se_excite")(std::vector{x.x, y}), x.height, x.width, x.channels};
}

Symbol pooled(const Map& x, const Options& options, const std::string& average, const std::string& maximum) {
  if (options.pooling.empty()) return x.x;
  if (options.pooling == "avg") return GlobalAveragePooling2D(false, average)(x.x);
  if (options.pooling == "max") return GlobalMaxPooling2D(false, maximum)(x.x);
  fail("applications: pooling is '", options.pooling, "', expected avg, max or nothing");
}

Symbol classified(const Symbol& x, const Options& options, const InitializerRule& kernel_initializer) {
  return Dense({.units = options.classes,
                .activation = options.classifier_activation,
                .kernel_initializer = kernel_initializer,
                .name = "predictions"})(x);
}

Model finish(const Map& input, const Map& x, const Options& options, const std::string& name, const Top& top) {
  if (!options.include_top) return finish(input, pooled(x, options, top.average, top.maximum), options, name);
  Symbol y = GlobalAveragePooling2D(false, top.classifier_pool)(x.x);
  if (top.dropout > 0) y = Dropout(DropoutOptions{.rate = top.dropout, .name = "top_dropout"})(y);
  return finish(input, classified(y, options, top.kernel_initializer), options, name);
}

Model finish(const Map& input, const Symbol& output, const Options& options, const std::string& name) {
  Model model({input.x}, {output}, options.name.empty() ? name : options.name);
  if (!options.weights.empty()) model.load_weights(options.weights);
  return model;
}

void expect_options(const Options& o, const char* model, const Has& has) {
  const auto refuse = [&](const char* option) { fail("applications: ", model, " has no option ", option); };
  if (o.alpha && !has.alpha) refuse("alpha");
  if (o.depth_multiplier != 1 && !has.depth_multiplier) refuse("depth_multiplier");
  if (o.minimalistic && !has.minimalistic) refuse("minimalistic");
  if (!o.include_preprocessing && !has.preprocessing) refuse("include_preprocessing");
  if (o.imagenet_weights && !has.imagenet) refuse("imagenet_weights");
  if (o.dropout && !has.dropout) refuse("dropout");
  if (o.drop_connect_rate && !has.drop_connect) refuse("drop_connect_rate");
  if (o.num_layers && !has.cells) refuse("num_layers");
  if (o.num_filters && !has.cells) refuse("num_filters");
  if (o.alpha && !(*o.alpha > 0 && *o.alpha <= 100))
    fail("applications: alpha is ", *o.alpha, ", expected more than 0");
  if (o.depth_multiplier < 1) fail("applications: depth_multiplier is ", o.depth_multiplier, ", expected 1 or more");
  for (const auto& [what, rate] :
       {std::pair{"dropout", o.dropout}, std::pair{"drop_connect_rate", o.drop_connect_rate}})
    if (rate && !(*rate >= 0 && *rate < 1)) fail("applications: ", what, " is ", *rate, ", expected 0 to less than 1");
}

}  // namespace tenon::applications
