// Functions of an element's image, of which those that follow each other run as one ImagePass.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/image/image_pass.h"
#include "tenon/element.h"
#include "tenon/image_maps.h"

namespace tenon {

// One function of image_maps.h. Immutable, thread safe.
class ImageStep {
 public:
  explicit ImageStep(std::vector<double> options) : options_(std::move(options)) {}
  virtual ~ImageStep() = default;
  virtual std::string name() const = 0;
  // All that it was made with.
  const std::vector<double>& options() const { return options_; }
  virtual bool random() const { return false; }
  // Notes what is to be done. Throws Error.
  virtual void note(ImagePass& pass, SampleRandom random) const = 0;

 private:
  std::vector<double> options_;
};

// "random_crop(24, 32)"
std::string step_text(const std::string& name, const std::vector<double>& options);

// The bytes that an image is made of, where it is not there as pixels.
struct EncodedImage {
  std::string feature;  // or, where the element has none of that name, "path"
  PassSource source;
};

class ImageOp : public ElementOp {
 public:
  using Steps = std::vector<std::shared_ptr<const ImageStep>>;
  // `encoded` may be null.
  ImageOp(std::shared_ptr<const EncodedImage> encoded, Steps steps) : encoded_(std::move(encoded)), steps_(std::move(steps)) {}
  std::string name() const override;
  Element apply(Element element, const Sample& sample) const override;
  int maps() const override { return static_cast<int>(steps_.size()); }
  bool random() const override;
  std::shared_ptr<const ElementOp> then(const std::shared_ptr<const ElementOp>& next) const override;
  bool fill(const Element& element, const Sample& sample, std::span<const FeatureSpec> specs, Slots& out) const override;

 private:
  // `file` holds the bytes that are read.
  void begin(const Element& element, ImagePass& pass, std::string* file) const;
  void note(ImagePass& pass, const Sample& sample) const;
  std::string first() const { return steps_.front()->name(); }
  // What does not go on in the element.
  bool leaves_out(const std::string& feature) const;

  std::shared_ptr<const EncodedImage> encoded_;
  Steps steps_;
};

ElementMap image_map_of(std::shared_ptr<const ImageStep> step);

// To the middle with the proportions of height to width.
void crop_to_proportions(ImagePass& pass, int height, int width);
// height x width of the middle; of smaller images the middle with these proportions, resized.
void crop_centre(ImagePass& pass, int height, int width);
// 1 to 16384, or Error.
int checked_side(const std::string& name, const char* what, int64_t side);

}  // namespace tenon
