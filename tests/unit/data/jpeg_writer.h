// JPEG files of the kinds that the library itself never writes, by libjpeg.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace tenon {

// `setup` may change the parameters after the defaults are set.
inline std::string write_jpeg(const std::vector<uint8_t>& pixels, int width, int height, int components,
                              J_COLOR_SPACE space, const std::function<void(jpeg_compress_struct&)>& setup = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &out, &bytes);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = components;
  jpeg.in_color_space = space;
  jpeg_set_defaults(&jpeg);
  if (setup) setup(jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(pixels.data()) + static_cast<size_t>(jpeg.next_scanline) * width * components;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string result(reinterpret_cast<char*>(out), bytes);
  jpeg_destroy_compress(&jpeg);
  std::free(out);
  return result;
}

// Smooth colours with some detail, so that JPEG keeps them well.
inline std::vector<uint8_t> smooth_pixels(int width, int height, int channels) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>((x * (c + 1) + 2 * y * (3 - c)) * 200 / (3 * (width + 2 * height)) +
                                              (x / 5 + y / 7) % 2 * 20));
  return pixels;
}

}  // namespace tenon
