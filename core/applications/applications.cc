// The table of the catalogue.
#include "tenon/applications.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"
#include "tenon/ops.h"

namespace tenon::applications {
namespace {

constexpr Preprocess kNone = Preprocess::kNone, kTf = Preprocess::kTf, kTorch = Preprocess::kTorch,
                     kCaffe = Preprocess::kCaffe;

constexpr Application kAll[] = {
    {"ResNet50", "resnet50", "ResNet", 224, kCaffe, ResNet50},
    {"ResNet101", "resnet101", "ResNet", 224, kCaffe, ResNet101},
    {"ResNet152", "resnet152", "ResNet", 224, kCaffe, ResNet152},
    {"ResNet50V2", "resnet50_v2", "ResNetV2", 224, kTf, ResNet50V2},
    {"ResNet101V2", "resnet101_v2", "ResNetV2", 224, kTf, ResNet101V2},
    {"ResNet152V2", "resnet152_v2", "ResNetV2", 224, kTf, ResNet152V2},
    {"MobileNet", "mobilenet", "MobileNet", 224, kTf, MobileNet},
    {"MobileNetV2", "mobilenet_v2", "MobileNetV2", 224, kTf, MobileNetV2},
    {"MobileNetV3Small", "mobilenet_v3_small", "MobileNetV3", 224, kNone, MobileNetV3Small},
    {"MobileNetV3Large", "mobilenet_v3_large", "MobileNetV3", 224, kNone, MobileNetV3Large},
    {"EfficientNetB0", "efficientnet_b0", "EfficientNet", 224, kNone, EfficientNetB0},
    {"EfficientNetB1", "efficientnet_b1", "EfficientNet", 240, kNone, EfficientNetB1},
    {"EfficientNetB2", "efficientnet_b2", "EfficientNet", 260, kNone, EfficientNetB2},
    {"EfficientNetB3", "efficientnet_b3", "EfficientNet", 300, kNone, EfficientNetB3},
    {"EfficientNetB4", "efficientnet_b4", "EfficientNet", 380, kNone, EfficientNetB4},
    {"EfficientNetB5", "efficientnet_b5", "EfficientNet", 456, kNone, EfficientNetB5},
    {"EfficientNetB6", "efficientnet_b6", "EfficientNet", 528, kNone, EfficientNetB6},
    {"EfficientNetB7", "efficientnet_b7", "EfficientNet", 600, kNone, EfficientNetB7},
    {"EfficientNetV2B0", "efficientnet_v2_b0", "EfficientNetV2", 224, kNone, EfficientNetV2B0},
    {"EfficientNetV2B1", "efficientnet_v2_b1", "EfficientNetV2", 240, kNone, EfficientNetV2B1},
    {"EfficientNetV2B2", "efficientnet_v2_b2", "EfficientNetV2", 260, kNone, EfficientNetV2B2},
    {"EfficientNetV2B3", "efficientnet_v2_b3", "EfficientNetV2", 300, kNone, EfficientNetV2B3},
    {"EfficientNetV2S", "efficientnet_v2_s", "EfficientNetV2", 384, kNone, EfficientNetV2S},
    {"EfficientNetV2M", "efficientnet_v2_m", "EfficientNetV2", 480, kNone, EfficientNetV2M},
    {"EfficientNetV2L", "efficientnet_v2_l", "EfficientNetV2", 480, kNone, EfficientNetV2L},
    {"VGG16", "vgg16", "VGG", 224, kCaffe, VGG16},
    {"VGG19", "vgg19", "VGG", 224, kCaffe, VGG19},
    {"Xception", "xception", "Xception", 299, kTf, Xception},
    {"DenseNet121", "densenet121", "DenseNet", 224, kTorch, DenseNet121},
    {"DenseNet169", "densenet169", "DenseNet", 224, kTorch, DenseNet169},
    {"DenseNet201", "densenet201", "DenseNet", 224, kTorch, DenseNet201},
    {"InceptionV3", "inception_v3", "Inception", 299, kTf, InceptionV3},
    {"InceptionResNetV2", "inception_resnet_v2", "Inception", 299, kTf, InceptionResNetV2},
    {"NASNetMobile", "nasnet_mobile", "NASNet", 224, kTf, NASNetMobile},
    {"NASNetLarge", "nasnet_large", "NASNet", 331, kTf, NASNetLarge},
    {"ConvNeXtTiny", "convnext_tiny", "ConvNeXt", 224, kNone, ConvNeXtTiny},
    {"ConvNeXtSmall", "convnext_small", "ConvNeXt", 224, kNone, ConvNeXtSmall},
    {"ConvNeXtBase", "convnext_base", "ConvNeXt", 224, kNone, ConvNeXtBase},
    {"ConvNeXtLarge", "convnext_large", "ConvNeXt", 224, kNone, ConvNeXtLarge},
    {"ConvNeXtXLarge", "convnext_xlarge", "ConvNeXt", 224, kNone, ConvNeXtXLarge},
    {"ViTB16", "vit_b_16", "ViT", 224, kTorch, ViTB16},
    {"AmoebaNetD", "amoebanet_d", "AmoebaNet", 331, kTf, AmoebaNetD},
};

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Tensor of_channels(Tensor x, const std::array<float, 3>& values) {
  return cast(constant(Array(std::vector<float>(values.begin(), values.end()), {3})), x.dtype());
}

}  // namespace

std::span<const Application> all() { return kAll; }

const Application* find(std::string_view name) {
  const std::string wanted = folded(name);
  const auto* found =
      std::find_if(std::begin(kAll), std::end(kAll), [&](const Application& a) { return folded(a.name) == wanted; });
  return found == std::end(kAll) ? nullptr : found;
}

Tensor preprocess_input(Tensor x, Preprocess kind) {
  if (!is_float(x.dtype())) x = cast(x, DType::kF32);
  if (kind == Preprocess::kNone) return x;
  if (kind == Preprocess::kTf) return x / 127.5 - 1;
  if (x.rank() < 1 || x.dim(-1) != 3) fail("preprocess_input: images are ", x.type().str(), ", expected 3 channels");
  if (kind == Preprocess::kCaffe) return reverse(x, {x.rank() - 1}) - of_channels(x, {103.939F, 116.779F, 123.68F});
  return (x / 255 - of_channels(x, {0.485F, 0.456F, 0.406F})) / of_channels(x, {0.229F, 0.224F, 0.225F});
}

}  // namespace tenon::applications
