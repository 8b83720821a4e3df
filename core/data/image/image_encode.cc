#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include "base/strings.h"
#include "data/image/image.h"
#include "data/image/image_internal.h"

namespace tenon {
namespace {

Status check_size(int width, int height, int channels) {
  TENON_TRY(check_channels({.channels = channels}));
  if (width >= 1 && height >= 1 && width <= 65500 && height <= 65500) return {};
  return invalid("image: expected a size of 1x1 to 65500x65500, found ", width, "x", height);
}

struct JpegEncoder {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape;
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  char message[JMSG_LENGTH_MAX] = {};

  ~JpegEncoder() {
    jpeg_destroy_compress(&jpeg);
    std::free(out);
  }
};

[[noreturn]] void leave_encoder(j_common_ptr jpeg) {
  JpegEncoder& encoder = *static_cast<JpegEncoder*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, encoder.message);
  std::longjmp(encoder.escape, 1);
}

bool try_encode(JpegEncoder& encoder, const uint8_t* pixels, int width, int height, int channels, int quality) {
  jpeg_compress_struct& jpeg = encoder.jpeg;
  jpeg.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = leave_encoder;
  jpeg.client_data = &encoder;
  if (setjmp(encoder.escape) != 0) return false;
  jpeg_create_compress(&jpeg);
  jpeg.client_data = &encoder;
  jpeg_mem_dest(&jpeg, &encoder.out, &encoder.bytes);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(pixels) + static_cast<size_t>(jpeg.next_scanline) * width * channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

Result<std::string> encode_jpeg(const uint8_t* pixels, int width, int height, int channels, int quality) {
  TENON_TRY(check_size(width, height, channels));
  JpegEncoder encoder;
  if (!try_encode(encoder, pixels, width, height, channels, quality)) return invalid("JPEG: ", encoder.message);
  return std::string(reinterpret_cast<const char*>(encoder.out), encoder.bytes);
}

Result<std::string> encode_png(const uint8_t* pixels, int width, int height, int channels) {
  TENON_TRY(check_size(width, height, channels));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string out(bytes, '\0');
  if (png_image_write_to_memory(&image, out.data(), &bytes, 0, pixels, 0, nullptr) == 0)
    return Status(Code::kOutOfMemory, cat("PNG: ", image.message));
  out.resize(bytes);
  return out;
}

}  // namespace tenon
