// mix_up, cut_mix: of a batch as a whole.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/strings.h"
#include "data/maps/image_op.h"
#include "tenon/image_maps.h"

namespace tenon {
namespace {

// A draw from Beta(a, a), as the layers have it: Ulrich 1984, and a gamma variate of a is one of a + 1 times U^(1 / a).
float symmetric_beta(SampleRandom& random, float a) {
  const auto draw = [&] { return 1.0f - random.uniform(0, 1); };  // in (0, 1]
  const float radius = std::sqrt(1.0f - std::pow(draw(), 2.0f / (a * 2.0f + 1.0f)));
  const float turned = std::cos(draw() * static_cast<float>(2 * std::numbers::pi));
  const float at = std::clamp(radius * turned, -1 + 1e-7f, 1 - 1e-7f);
  const float one = draw(), other = draw();
  const float odds = std::log(1.0f + at) - std::log(1.0f - at) + (std::log(one) - std::log(other)) / a;
  return 1.0f / (1.0f + std::exp(-odds));
}

std::vector<int> permutation(SampleRandom& random, int64_t n) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int i = static_cast<int>(n) - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(random.below(i + 1))]);
  return order;
}

// [batch, values an example] in f32.
struct Examples {
  Array array;
  int64_t each;

  float* of(int64_t example) { return reinterpret_cast<float*>(array.bytes().data()) + example * each; }
};

Examples floats_of(const Array& array) {
  Array out = array.dtype() == DType::kF32 ? array : Array(array.to<float>(), array.shape());
  const int64_t each = out.elements() / std::max<int64_t>(out.dim(0), 1);
  return {std::move(out), each};
}

class MixOp : public ElementOp {
 public:
  MixOp(std::string name, std::vector<double> options, std::string label)
      : name_(std::move(name)), options_(std::move(options)), label_(std::move(label)) {}
  std::string name() const override { return cat(step_text(name_, options_), " of ", label_); }
  bool random() const override { return true; }

  Element apply(Element element, const Sample& sample) const override {
    const auto image = element.find("image");
    if (image == element.end()) fail(name_, ": the batch has no 'image'");
    if (image->second.shape().rank() != 4 || image->second.elements() == 0)
      fail(name_, ": 'image' is ", image->second.type().str(), ", expected a batch of images: ", name_,
           "() comes after batch()");
    const auto label = element.find(label_);
    if (label == element.end()) fail(name_, ": the batch has no '", label_, "'");
    const DType dtype = label->second.dtype();
    if (dtype != DType::kF32 || label->second.shape().rank() < 1 || label->second.dim(0) != image->second.dim(0))
      fail(name_, ": '", label_, "' is ", label->second.type().str(), ", expected f32, ", image->second.dim(0),
           " examples; classes as one_hot has them");
    Examples images = floats_of(image->second), labels = floats_of(label->second);
    mix(images, labels, sample.random());
    image->second = std::move(images.array);
    label->second = std::move(labels.array);
    return element;
  }

 protected:
  virtual void mix(Examples& images, Examples& labels, SampleRandom random) const = 0;

  static void mix_values(Examples& out, const Examples& from, int64_t example, int64_t other, float w) {
    float* const to = out.of(example);
    const float* const a = const_cast<Examples&>(from).of(example);
    const float* const b = const_cast<Examples&>(from).of(other);
    for (int64_t i = 0; i < out.each; ++i) to[i] = w * a[i] + (1.0f - w) * b[i];
  }

 private:
  std::string name_;
  std::vector<double> options_;
  std::string label_;
};

class MixUpOp : public MixOp {
 public:
  MixUpOp(const MixUpOptions& o, std::string label)
      : MixOp(o.name, {o.alpha}, std::move(label)), alpha_(static_cast<float>(o.alpha)) {
    if (!(o.alpha > 0) || !std::isfinite(o.alpha)) fail(o.name, ": alpha is ", o.alpha, ", expected more than 0");
  }

 protected:
  void mix(Examples& images, Examples& labels, SampleRandom random) const override {
    const Examples own_images = images, own_labels = labels;
    const std::vector<int> order = permutation(random, images.array.dim(0));
    for (size_t i = 0; i < order.size(); ++i) {
      const float w = symmetric_beta(random, alpha_);
      mix_values(images, own_images, static_cast<int64_t>(i), order[i], w);
      mix_values(labels, own_labels, static_cast<int64_t>(i), order[i], w);
    }
  }

 private:
  float alpha_;
};

// Positions whose middle lies in a part of an axis.
struct Stretch {
  int begin, end;
  Stretch(SampleRandom& random, int64_t size, float share) {
    const float length = share * static_cast<float>(size);
    const float start = random.uniform(0, 1) * (static_cast<float>(size) - length);
    begin = static_cast<int>(std::ceil(start - 0.5f));
    end = std::min(static_cast<int>(std::ceil(start + length - 0.5f)), static_cast<int>(size));
    begin = std::clamp(begin, 0, end);
  }
  int size() const { return end - begin; }
};

class CutMixOp : public MixOp {
 public:
  CutMixOp(const CutMixOptions& o, std::string label)
      : MixOp(o.name, {o.factor.low, o.factor.high}, std::move(label)),
        factor_(o.factor.low == -o.factor.high ? Factor(0, o.factor.high) : o.factor) {
    if (!(0 <= factor_.low && factor_.low <= factor_.high && factor_.high <= 1))
      fail(o.name, ": factor is ", factor_.low, " to ", factor_.high, ", expected two numbers from 0 to 1");
  }

 protected:
  void mix(Examples& images, Examples& labels, SampleRandom random) const override {
    const Examples own_images = images, own_labels = labels;
    const int64_t height = images.array.dim(1), width = images.array.dim(2), channels = images.array.dim(3);
    const float alpha =
        random.uniform(0, 1) * static_cast<float>(factor_.high - factor_.low) + static_cast<float>(factor_.low + 1e-6);
    const std::vector<int> order = permutation(random, images.array.dim(0));
    for (size_t i = 0; i < order.size(); ++i) {
      const float length = std::sqrt(1.0f - symmetric_beta(random, alpha));
      const Stretch rows(random, height, length), columns(random, width, length);
      const float* const from = const_cast<Examples&>(own_images).of(order[i]);
      float* const to = images.of(static_cast<int64_t>(i));
      for (int y = rows.begin; y < rows.end; ++y) {
        const int64_t at = (y * width + columns.begin) * channels;
        std::copy_n(from + at, columns.size() * channels, to + at);
      }
      const float share = static_cast<float>(rows.size()) / static_cast<float>(height) *
                          (static_cast<float>(columns.size()) / static_cast<float>(width));
      mix_values(labels, own_labels, static_cast<int64_t>(i), order[i], 1.0f - share);
    }
  }

 private:
  Factor factor_;
};

ElementMap mixing(std::shared_ptr<const ElementOp> op) { return op; }

}  // namespace

ElementMap mix_up(const MixUpOptions& o, const std::string& label) {
  return mixing(std::make_shared<MixUpOp>(o, label));
}
ElementMap cut_mix(const CutMixOptions& o, const std::string& label) {
  return mixing(std::make_shared<CutMixOp>(o, label));
}

}  // namespace tenon
