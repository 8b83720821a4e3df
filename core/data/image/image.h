// JPEG, PNG and WebP images in memory: u8 pixels (or u16), height x width x channels, and back.
//
// Images come from files that nobody vouches for: the header is read first, and an image that would
// take more memory than allowed, has more than 100 scans, or ends too early is a Status. All of it is
// thread safe (no state is shared but the room that is left, base/room.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/image_options.h"
#include "tenon/status.h"

namespace tenon {

enum class ImageFormat { kUnknown, kJpeg, kPng, kWebp };

// By the first bytes.
ImageFormat image_format(std::string_view bytes);
std::string_view image_format_name(ImageFormat format);  // "JPEG", "PNG", "WebP", "unknown"

struct ImageInfo {
  ImageFormat format = ImageFormat::kUnknown;
  int width = 0;
  int height = 0;
  int channels = 0;  // in the file: 1 gray, 2 gray and alpha, 3 colour, 4 CMYK or colour and alpha
  int bits = 8;      // of a channel
};

// Reads the header only.
Result<ImageInfo> read_image_info(std::string_view bytes);

// width 0: all of it.
struct ImageWindow {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

struct DecodeOptions {
  int channels = 3;  // 1 or 3, or 4 with Alpha::kKeep. Gray is copied to all three, colour becomes luma
  Alpha alpha = Alpha::kDrop;
  Colour background = {255, 255, 255};  // of Alpha::kBlend
  bool deep = false;                    // u16 of what has 16 bits, rather than the upper 8
  // When set, a JPEG may be decoded at 1/2 or 1/4 of its size, which is faster, as long as the whole
  // image stays at least this large. 0 in both: always full size. Others are always full size.
  int min_width = 0;
  int min_height = 0;
  // The part that is wanted, in pixels of the full-size image. A JPEG is then decoded no further than
  // the last row of the window (damage below it goes unnoticed). The pixels are those of the whole
  // image, cropped. At a scale of 1/s the window covers x/s (rounded down) to (x + width)/s (up).
  ImageWindow window;
  // What decoding may take in all: the pixels, and the coefficients of a progressive JPEG.
  int64_t max_bytes = int64_t{64} << 20;
  // The exact integer DCT and smooth chroma, as TensorFlow's and libjpeg's defaults. False is faster
  // and less exact.
  bool accurate = true;
};

// A decoded image whose buffer is meant to be used again for the next one.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  int scale = 1;                // 1, 2 or 4: the file's image is that much larger
  bool deep = false;            // pixels are u16, of the machine's byte order
  std::vector<uint8_t> pixels;  // the first bytes() of it; may be longer

  size_t bytes() const { return static_cast<size_t>(width) * height * channels * (deep ? 2 : 1); }

  // Frees pixels that are many for what is left: the next image may be small, and others wait for the room.
  void free_large();
};

// Decodes whichever it is. After an error *image is unspecified but valid. 12-bit JPEG and animated WebP are refused by name;
// CMYK and YCCK become RGB.
Status decode_image(std::string_view bytes, const DecodeOptions& options, Image* image);
Status decode_jpeg(std::string_view bytes, const DecodeOptions& options, Image* image);
Status decode_png(std::string_view bytes, const DecodeOptions& options, Image* image);
Status decode_webp(std::string_view bytes, const DecodeOptions& options, Image* image);

// pixels: height x width x channels (1 or 3). `quality` 1..100.
Result<std::string> encode_jpeg(const uint8_t* pixels, int width, int height, int channels, int quality = 90);
Result<std::string> encode_png(const uint8_t* pixels, int width, int height, int channels);

}  // namespace tenon
