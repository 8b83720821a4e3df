// Decoding by libwebp.
#include <webp/decode.h>

#include <algorithm>

#include "base/strings.h"
#include "data/image/image.h"
#include "data/image/image_internal.h"

namespace tenon {
namespace {

const char* words_of(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "of a kind that libwebp does not know";
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "the data end too early";
    default:
      return "damaged";
  }
}

Result<WebPBitstreamFeatures> header(std::string_view bytes) {
  WebPBitstreamFeatures found;
  const VP8StatusCode code = WebPGetFeatures(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &found);
  if (code != VP8_STATUS_OK) return invalid("WebP: ", words_of(code));
  if (found.has_animation) return invalid("WebP: an animation, expected one image");
  if (found.width < 1 || found.height < 1) return invalid("WebP: no pixels");
  return found;
}

// Beside the pixels: lossless images, and the alpha of others, are kept whole.
int64_t kept_bytes(const WebPBitstreamFeatures& found) {
  const int64_t rows = int64_t{128} * found.width, pixels = static_cast<int64_t>(found.width) * found.height;
  return rows + (found.format == 1 ? pixels * found.has_alpha : pixels * 4);
}

// What libwebp is asked for: it cuts lossy images at even places only, and smooth chroma needs neighbours.
ImageWindow wider(const ImageWindow& window, int width, int height) {
  const int x = std::max(window.x - 2, 0) & ~1, y = std::max(window.y - 2, 0) & ~1;
  return {x, y, std::min(window.x + window.width + 2, width) - x, std::min(window.y + window.height + 2, height) - y};
}

}  // namespace

Result<ImageInfo> read_webp_info(std::string_view bytes) {
  TENON_ASSIGN(const WebPBitstreamFeatures found, header(bytes));
  return ImageInfo{ImageFormat::kWebp, found.width, found.height, found.has_alpha ? 4 : 3};
}

Status decode_webp(std::string_view bytes, const DecodeOptions& options, Image* image) {
  TENON_TRY(check_channels(options));
  TENON_ASSIGN(const WebPBitstreamFeatures found, header(bytes));
  TENON_ASSIGN(const ImageWindow window, resolve_window(options.window, found.width, found.height));
  const ImageWindow decoded = wider(window, found.width, found.height);
  const bool alpha = options.alpha != Alpha::kDrop && found.has_alpha;
  image->width = decoded.width;
  image->height = decoded.height;
  image->channels = alpha ? 4 : 3;
  image->scale = 1;
  image->deep = false;
  const int64_t pixels = static_cast<int64_t>(decoded.width) * decoded.height;
  TENON_TRY(take_image_room("WebP", found.width, found.height, pixels * 4 + kept_bytes(found), options.max_bytes));
  reserve_pixels(image, static_cast<size_t>(pixels));  // for an alpha that is added

  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return Status(Code::kInternal, "WebP: another version of libwebp");
  config.options.use_cropping = options.window.width != 0;
  config.options.crop_left = decoded.x, config.options.crop_top = decoded.y;
  config.options.crop_width = decoded.width, config.options.crop_height = decoded.height;
  config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image->pixels.data(), decoded.width * image->channels, image->bytes()};
  const VP8StatusCode code = WebPDecode(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &config);
  if (code != VP8_STATUS_OK) return invalid("WebP: ", words_of(code));

  crop_pixels(image, {window.x - decoded.x, window.y - decoded.y, window.width, window.height});
  if (options.alpha == Alpha::kKeep) {
    if (!alpha) add_alpha(image);
    return {};
  }
  if (alpha) blend_alpha(image, options.background);
  if (options.channels == 1) to_gray(image);
  return {};
}

}  // namespace tenon
