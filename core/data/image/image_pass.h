// An image on its way from a file's bytes to a row of a batch. What is to be done to it is noted, and done in one pass when it is
// written: of a JPEG no more is decoded than the result shows, and pixels stay u8 up to the last arithmetic.
//
//   ImagePass pass;
//   TENON_TRY(pass.begin(bytes, {.channels = 3}));       // reads the header
//   TENON_TRY(pass.resize(234, 234, ResizeKind::kLegacy));
//   TENON_TRY(pass.crop(top, left, 224, 224));
//   TENON_TRY(pass.write(row));                           // decodes, resizes, cuts
//
// What cannot be part of that pass (a rotation, a second resize) makes what was noted before, in buffers of the thread.
#pragma once

#include <string_view>

#include "data/image/affine_pixels.h"
#include "data/image/augment.h"
#include "data/image/image.h"
#include "data/image/value_changes.h"

namespace tenon {

struct PassSource {
  int channels = 3;
  Alpha alpha = Alpha::kDrop;
  Colour background = {255, 255, 255};
  bool deep = false;
  bool accurate = true;  // DecodeOptions
  bool scale_decode = false;
};

// One at a time in a thread: the buffers are the thread's.
class ImagePass {
 public:
  ImagePass();
  ~ImagePass();  // gives large buffers back
  ImagePass(const ImagePass&) = delete;
  ImagePass& operator=(const ImagePass&) = delete;

  // An encoded image, which must stay until it is written.
  Status begin(std::string_view bytes, const PassSource& source);
  // Pixels in memory, all of an image; f32 are of 0 to 255 like those of files, or whatever the caller has.
  void begin(const PixelView& pixels);

  int height() const { return window_.height; }
  int width() const { return window_.width; }
  int channels() const { return channels_; }
  // u8 as long as nothing asks for other values.
  PixelType type() const;

  // REQUIRED: it lies inside.
  Status crop(int top, int left, int height, int width);
  Status resize(int height, int width, ResizeKind kind);
  void flip_columns();
  void flip_rows();
  Status move(const Places& places, FillMode fill, ResizeMethod method, float value);

  // x scale + offset, one of each or one a channel; (x - mean of the channel) * contrast + mean; to [low, high].
  Status scale(float scale, float offset);
  Status scale(const float* scale, const float* offset);
  Status contrast(float contrast);
  Status clip(float low, float high);
  Status round();  // to 0, 1 .. 255; its type is u8 then
  void floats();   // its type is f32 from now on
  // What Dataset::images does, in its order: REQUIRED: nothing of the above. Values are in units of 255.
  void colour(const ColourChange& change);

  // [height,width,channels].
  Status write(float* out);
  Status write(uint8_t* out);  // REQUIRED: type() is kU8

 private:
  // Changes of values, in this order. What changes next joins in as long as nothing is clipped.
  struct Values : ValueChange {
    float contrast = 1;
    bool is_uniform() const;
    ValueChange about(const float* means) const;  // without the contrast, which is about these
  };
  static constexpr int kMostValues = 8;

  void begin_whole(int height, int width, int channels, PixelType type);
  bool is_resized() const;
  Result<Values*> open_values();
  Status settle();  // makes all that is noted, so that the image is pixels in memory
  Result<PixelView> pixels();
  DecodeOptions decode_options() const;
  Status write_floats(float* out);

  std::string_view bytes_;
  PassSource source_;
  PixelView given_;  // where there are no bytes
  // The part of the source that counts, in its pixels, and what is seen of it at which size.
  ImageWindow part_;
  int source_height_ = 0, source_width_ = 0;
  ResizeWindow window_;
  int channels_ = 0;
  PixelType source_type_ = PixelType::kU8;
  bool floats_ = false, whole_ = false;  // whole_: f32 pixels that are those of an u8 image
  Values values_[kMostValues];
  int value_count_ = 0;
  ColourChange colour_ = {0, 1, 1, 0, 1};
  bool has_colour_ = false;
  int buffer_ = 0;  // of the thread's two, which is next
};

}  // namespace tenon
