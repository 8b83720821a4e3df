// The models of keras.applications, with Keras's names, arguments, layers and weights, and two that Keras lacks.
//
//   Model all = applications::MobileNetV2({.weights = "mobilenet_v2.safetensors"});
//   Model base = applications::EfficientNetB0({.include_top = false, .input_shape = {160, 160, 3}, .pooling = "avg"});
//   Model mine({x}, {Dense(5)(base(x))});                    // a head of one's own; tenon/model.h says how base is frozen
//
// A model has what its paper has, in Keras's form: names of layers and variables ("conv1_conv/kernel"), momentum and
// epsilon of batch normalization, initializers. So weights that Keras wrote are found by name. Layers that Keras leaves
// unnamed are numbered as in a fresh session of Keras. Building a model neither draws nor keeps weights.
//
// Images are [B,H,W,C]. What a model expects of pixels says its preprocess_input(): most take what preprocess_input()
// makes of 0 to 255; MobileNetV3, EfficientNet, EfficientNetV2 and ConvNeXt take 0 to 255 and do it themselves.
//
// All functions throw tenon::Error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/layer_classes.h"
#include "tenon/model.h"

namespace tenon::applications {

// Keras's arguments. One that a family does not have is an error where it is given.
struct Options {
  bool include_top = true;   // the classifier, and what stands before it; without it the last map
  std::string weights = {};  // a file, which Model::load_weights reads; empty: first values
  // {height, width, channels}. None: the paper's with a classifier, else 3 channels and any size.
  InputShape input_shape = {};
  std::string pooling = {};  // of the map, without a classifier: "avg", "max"; "": none
  int64_t classes = 1000;
  ActivationRule classifier_activation = "softmax";  // linear: logits
  std::string name = {};                             // Keras's, "resnet50"

  std::optional<double> alpha = {};   // MobileNets: the width of all layers
  int64_t depth_multiplier = 1;       // MobileNet
  bool minimalistic = false;          // MobileNetV3: no hard swish, no squeeze and excite, kernels of 3
  bool include_preprocessing = true;  // MobileNetV3, EfficientNetV2, ConvNeXt
  // EfficientNet: the weights are those of ImageNet that Keras publishes, which have deviations where variances belong.
  // As with Keras's weights = "imagenet", pixels are divided by the deviations' roots once more.
  bool imagenet_weights = false;
  std::optional<double> dropout = {};              // before the classifier, where there is one
  std::optional<double> drop_connect_rate = {};    // EfficientNets, AmoebaNet: of whole branches, an example at a time
  std::optional<int64_t> num_layers, num_filters;  // AmoebaNet: normal cells and their filters, 18 and 256
};

// Residual networks (He et al. 2015), and their second form with activations before convolutions (2016).
Model ResNet50(const Options& options = {});
Model ResNet101(const Options& options = {});
Model ResNet152(const Options& options = {});
Model ResNet50V2(const Options& options = {});
Model ResNet101V2(const Options& options = {});
Model ResNet152V2(const Options& options = {});
// Howard et al. 2017, Sandler et al. 2018, Howard et al. 2019.
Model MobileNet(const Options& options = {});
Model MobileNetV2(const Options& options = {});
Model MobileNetV3Small(const Options& options = {});
Model MobileNetV3Large(const Options& options = {});
// Tan and Le 2019, 2021.
Model EfficientNetB0(const Options& options = {});
Model EfficientNetB1(const Options& options = {});
Model EfficientNetB2(const Options& options = {});
Model EfficientNetB3(const Options& options = {});
Model EfficientNetB4(const Options& options = {});
Model EfficientNetB5(const Options& options = {});
Model EfficientNetB6(const Options& options = {});
Model EfficientNetB7(const Options& options = {});
Model EfficientNetV2B0(const Options& options = {});
Model EfficientNetV2B1(const Options& options = {});
Model EfficientNetV2B2(const Options& options = {});
Model EfficientNetV2B3(const Options& options = {});
Model EfficientNetV2S(const Options& options = {});
Model EfficientNetV2M(const Options& options = {});
Model EfficientNetV2L(const Options& options = {});
// Simonyan and Zisserman 2014.
Model VGG16(const Options& options = {});
Model VGG19(const Options& options = {});
// Chollet 2016.
Model Xception(const Options& options = {});
// Huang et al. 2016.
Model DenseNet121(const Options& options = {});
Model DenseNet169(const Options& options = {});
Model DenseNet201(const Options& options = {});
// Szegedy et al. 2015, 2016.
Model InceptionV3(const Options& options = {});
Model InceptionResNetV2(const Options& options = {});
// Zoph et al. 2017. Of a known size.
Model NASNetMobile(const Options& options = {});
Model NASNetLarge(const Options& options = {});
// Liu et al. 2022.
Model ConvNeXtTiny(const Options& options = {});
Model ConvNeXtSmall(const Options& options = {});
Model ConvNeXtBase(const Options& options = {});
Model ConvNeXtLarge(const Options& options = {});
Model ConvNeXtXLarge(const Options& options = {});
// Dosovitskiy et al. 2020: 16x16 patches, 12 layers of 12 heads, 768 wide; torchvision's form, 86,567,656 parameters
// for 1,000 classes. Of a known size. Without a classifier: the class token, [B, 768]; no pooling.
Model ViTB16(const Options& options = {});
// Real et al. 2018, in the form that TensorFlow's TPU models have, without the head that helps training. Of a known
// size.
Model AmoebaNetD(const Options& options = {});

// What a model expects of pixels 0 to 255, by Keras's names.
enum class Preprocess : uint8_t {
  kNone,   // them, as they are
  kTf,     // x / 127.5 - 1
  kTorch,  // (x / 255 - mean) / deviation of each channel of ImageNet
  kCaffe,  // blue, green, red, less ImageNet's mean of each
};
// x[..,3], kTf: any x.
Tensor preprocess_input(Tensor x, Preprocess kind);

struct Application {
  const char* name;    // "ResNet50V2"
  const char* id;      // "resnet50_v2"
  const char* family;  // "ResNet"
  int64_t size;        // of images, height and width
  Preprocess preprocess;
  Model (*build)(const Options& options);
};
std::span<const Application> all();
// By either name, whatever is written large and with or without "_": "MobileNetV2", "mobilenet_v2"; nullptr: none.
const Application* find(std::string_view name);

}  // namespace tenon::applications
