// Decoding by libpng. Its errors leave by longjmp, so between setjmp and the end of a call no object
// with a destructor is made.
#include <png.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "base/strings.h"
#include "data/image/image.h"
#include "data/image/image_internal.h"

namespace tenon {
namespace {

// Those that say nothing of the pixels, as libpng wants their names: of five bytes.
constexpr png_byte kIgnoredChunks[] = "bKGD\0eXIf\0hIST\0iTXt\0oFFs\0pCAL\0pHYs\0sCAL\0sPLT\0sTER\0tEXt\0tIME\0zTXt";

struct Reader {
  std::string_view rest;
  char message[128] = "out of memory";
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void leave_reader(png_structp png, png_const_charp why) {
  Reader& reader = *static_cast<Reader*>(png_get_error_ptr(png));
  std::snprintf(reader.message, sizeof reader.message, "%s", why);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void take(png_structp png, png_bytep out, size_t bytes) {
  Reader& reader = *static_cast<Reader*>(png_get_io_ptr(png));
  if (bytes > reader.rest.size()) png_error(png, "the data end too early");
  std::memcpy(out, reader.rest.data(), bytes);
  reader.rest.remove_prefix(bytes);
}

bool open(Reader& reader, std::string_view bytes) {
  reader.rest = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, leave_reader, ignore_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  return reader.info != nullptr;
}

bool try_header(Reader& reader, int64_t max_chunk) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, take);
  png_set_user_limits(reader.png, 0x7fffffff, 0x7fffffff);  // header() has our own, and names what it found
  png_set_chunk_malloc_max(reader.png, static_cast<png_alloc_size_t>(max_chunk));
  // Text and the like are none of our business. libpng would take memory for all that their length claims, whatever its
  // limit says.
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, kIgnoredChunks, sizeof kIgnoredChunks / 5);
  png_read_info(reader.png, reader.info);
  return true;
}

// Everything to gray or RGB, with its alpha where that is wanted, of 8 bits or 16.
bool try_start(Reader& reader, int channels, bool alpha, bool deep, int* passes, size_t* row_bytes) {
  png_structp png = reader.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const int type = png_get_color_type(png, reader.info);
  if (deep) {
    if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
  } else {
    png_set_strip_16(png);
  }
  png_set_packing(png);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if (alpha) {
    if (png_get_valid(png, reader.info, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(png);
    png_set_add_alpha(png, deep ? 0xffff : 0xff, PNG_FILLER_AFTER);
  } else {
    png_set_strip_alpha(png);
  }
  const bool colour = (type & PNG_COLOR_MASK_COLOR) != 0;
  if (channels == 3 && !colour) png_set_gray_to_rgb(png);
  if (channels == 1 && colour) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  *passes = png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
  *row_bytes = png_get_rowbytes(png, reader.info);
  return true;
}

bool try_rows(Reader& reader, int passes, int height, size_t row_bytes, uint8_t* out) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  for (int pass = 0; pass < passes; ++pass)
    for (int y = 0; y < height; ++y) png_read_row(reader.png, out + static_cast<size_t>(y) * row_bytes, nullptr);
  png_read_end(reader.png, nullptr);
  return true;
}

Status to_status(const Reader& reader) { return invalid("PNG: ", reader.message); }

Status header(Reader& reader, std::string_view bytes, int64_t max_chunk, ImageInfo* info) {
  if (!open(reader, bytes) || !try_header(reader, max_chunk)) return to_status(reader);
  *info = {ImageFormat::kPng, static_cast<int>(png_get_image_width(reader.png, reader.info)),
           static_cast<int>(png_get_image_height(reader.png, reader.info)), png_get_channels(reader.png, reader.info),
           png_get_bit_depth(reader.png, reader.info)};
  if (png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_PALETTE) info->channels = 3;
  if (info->width > kMaxImageSide || info->height > kMaxImageSide)
    return invalid("PNG: expected at most ", kMaxImageSide, " pixels a side, found ", info->width, "x", info->height);
  return {};
}

}  // namespace

Result<ImageInfo> read_png_info(std::string_view bytes) {
  Reader reader;
  ImageInfo info;
  TENON_TRY(header(reader, bytes, int64_t{1} << 20, &info));
  return info;
}

Status decode_png(std::string_view bytes, const DecodeOptions& options, Image* image) {
  TENON_TRY(check_channels(options));
  Reader reader;
  ImageInfo info;
  TENON_TRY(header(reader, bytes, std::min<int64_t>(options.max_bytes, 1 << 20), &info));
  TENON_ASSIGN(const ImageWindow window, resolve_window(options.window, info.width, info.height));
  const bool blends = options.alpha == Alpha::kBlend, alpha = options.alpha != Alpha::kDrop;
  const bool deep = options.deep && info.bits == 16;
  const int colours = options.channels == 4 ? 3 : options.channels;  // beside the alpha
  const int channels = colours + alpha, pixel_bytes = channels * (deep ? 2 : 1);
  // libpng keeps two rows of up to 8 bytes a pixel.
  const int64_t needed = static_cast<int64_t>(info.width) * info.height * pixel_bytes + int64_t{16} * info.width;
  TENON_TRY(take_image_room("PNG", info.width, info.height, needed, options.max_bytes));
  int passes = 1;
  size_t row_bytes = 0;
  if (!try_start(reader, colours, alpha, deep, &passes, &row_bytes)) return to_status(reader);
  if (row_bytes != static_cast<size_t>(info.width) * pixel_bytes)
    return Status(Code::kInternal,
                  cat("PNG: expected rows of ", info.width * pixel_bytes, " bytes, found ", row_bytes));
  image->width = info.width;
  image->height = info.height;
  image->channels = channels;
  image->scale = 1;
  image->deep = deep;
  reserve_pixels(image, 0);
  if (!try_rows(reader, passes, info.height, row_bytes, image->pixels.data())) return to_status(reader);
  if (options.window.width != 0) crop_pixels(image, window);
  if (blends) blend_alpha(image, options.background);
  return {};
}

}  // namespace tenon
