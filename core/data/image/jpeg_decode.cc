// Decoding by libjpeg. Its errors leave by longjmp, so between setjmp and the end of a call no object
// with a destructor is made; what must outlive the jump sits in Decoder.
#include <algorithm>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstring>

#include <jpeglib.h>

#include <jerror.h>

#include "base/strings.h"
#include "data/image/image.h"
#include "data/image/image_internal.h"
#include "data/image/jpeg_huffman.h"

namespace tenon {
namespace {

constexpr int kMaxScans = 100;
// Each scan visits every block, even one that says nothing of them: what many scans of a large image may cost in all.
constexpr int64_t kBytesAVisit = 8;  // of max_bytes

struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jpeg_source_mgr source;
  int64_t max_visits = 0;  // of blocks, by all scans; 0: no decoding yet
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX] = {};
};

Decoder& decoder_of(j_common_ptr jpeg) { return *static_cast<Decoder*>(jpeg->client_data); }

[[noreturn]] void leave_decoder(j_common_ptr jpeg) {
  Decoder& decoder = decoder_of(jpeg);
  if (decoder.message[0] == 0) jpeg->err->format_message(jpeg, decoder.message);
  std::longjmp(decoder.escape, 1);
}

// Only warnings that mean missing pixels count; stray bytes between markers are common.
void warn(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const int code = jpeg->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER) leave_decoder(jpeg);
}

int64_t blocks_of(const jpeg_decompress_struct& jpeg) {
  int64_t blocks = 0;
  for (int c = 0; c < jpeg.num_components; ++c)
    blocks += static_cast<int64_t>(jpeg.comp_info[c].width_in_blocks) * jpeg.comp_info[c].height_in_blocks;
  return blocks;
}

void limit_scans(j_common_ptr common) {
  const jpeg_decompress_struct& jpeg = *reinterpret_cast<j_decompress_ptr>(common);
  Decoder& decoder = decoder_of(common);
  const int scans = jpeg.input_scan_number;
  if (scans > kMaxScans) {
    std::snprintf(decoder.message, JMSG_LENGTH_MAX, "expected at most %d scans, found more", kMaxScans);
  } else if (scans > 1 && scans * blocks_of(jpeg) > decoder.max_visits) {
    std::snprintf(decoder.message, JMSG_LENGTH_MAX, "expected fewer scans of an image of %ux%u, found %d",
                  jpeg.image_width, jpeg.image_height, scans);
  } else {
    return;
  }
  std::longjmp(decoder.escape, 1);
}

void ignore(j_decompress_ptr) {}

boolean no_more(j_decompress_ptr jpeg) {
  ERREXIT(jpeg, JERR_INPUT_EOF);
  return FALSE;
}

void skip(j_decompress_ptr jpeg, long bytes) {
  jpeg_source_mgr& source = *jpeg->src;
  if (bytes <= 0) return;
  if (static_cast<size_t>(bytes) > source.bytes_in_buffer) ERREXIT(jpeg, JERR_INPUT_EOF);
  source.next_input_byte += bytes;
  source.bytes_in_buffer -= static_cast<size_t>(bytes);
}

void begin(Decoder& decoder, std::string_view bytes) {
  decoder.jpeg = {};
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = leave_decoder;
  decoder.errors.emit_message = warn;
  decoder.jpeg.client_data = &decoder;
  decoder.source = {reinterpret_cast<const JOCTET*>(bytes.data()),
                    bytes.size(),
                    ignore,
                    no_more,
                    skip,
                    jpeg_resync_to_restart,
                    ignore};
  decoder.progress = {};
  decoder.progress.progress_monitor = limit_scans;
}

void read_header(Decoder& decoder) {
  jpeg_create_decompress(&decoder.jpeg);
  decoder.jpeg.client_data = &decoder;
  decoder.jpeg.src = &decoder.source;
  decoder.jpeg.progress = &decoder.progress;
  jpeg_read_header(&decoder.jpeg, TRUE);
}

// Coefficients of all blocks stay in memory where there are several scans.
int64_t coefficient_bytes(const jpeg_decompress_struct& jpeg) {
  if (!jpeg_has_multiple_scans(const_cast<j_decompress_ptr>(&jpeg))) return 0;
  return blocks_of(jpeg) * static_cast<int64_t>(sizeof(JBLOCK));
}

bool large_enough(const jpeg_decompress_struct& jpeg, unsigned scale, const DecodeOptions& options) {
  return jpeg.image_width / scale >= static_cast<unsigned>(options.min_width) &&
         jpeg.image_height / scale >= static_cast<unsigned>(options.min_height);
}

int choose_scale(const jpeg_decompress_struct& jpeg, const DecodeOptions& options) {
  if (options.min_width <= 0 && options.min_height <= 0) return 1;
  if (large_enough(jpeg, 4, options)) return 4;
  return large_enough(jpeg, 2, options) ? 2 : 1;
}

// CMYK comes as CMYK, everything else as what the caller wants.
void choose_output(jpeg_decompress_struct& jpeg, const DecodeOptions& options, int scale) {
  const bool cmyk = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = cmyk ? JCS_CMYK : options.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(scale);
  jpeg.dct_method = options.accurate ? JDCT_ISLOW : JDCT_IFAST;
  jpeg.do_fancy_upsampling = options.accurate;
}

// Adobe's CMYK is stored inverted.
void cmyk_to_rgb(const uint8_t* from, size_t pixels, bool inverted, int channels, uint8_t* to) {
  for (size_t i = 0; i < pixels; ++i, from += 4, to += channels) {
    int rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = inverted ? from[c] * from[3] / 255 : (255 - from[c]) * (255 - from[3]) / 255;
    if (channels == 1) {
      to[0] = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    } else {
      for (int c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(rgb[c]);
    }
  }
}

// What a decoding is about to write; plain numbers, so that a jump loses nothing.
struct Plan {
  int scale = 1;
  ImageWindow window;         // in scaled pixels
  unsigned first_column = 0;  // of the rows that libjpeg gives
  unsigned row_bytes = 0;     // of such a row
};

// libjpeg gives whole MCUs, and smooth chroma needs neighbours: ask for two columns more on each side.
unsigned crop_columns(jpeg_decompress_struct& jpeg, const ImageWindow& window) {
  const JDIMENSION left = window.x >= 2 ? static_cast<JDIMENSION>(window.x) - 2 : 0;
  const JDIMENSION right =
      std::min<JDIMENSION>(static_cast<JDIMENSION>(window.x + window.width) + 2, jpeg.output_width);
  if (left == 0 && right == jpeg.output_width) return 0;
  JDIMENSION first = left, width = right - left;
  jpeg_crop_scanline(&jpeg, &first, &width);
  return first;
}

void start(Decoder& decoder, JpegHuffman& huffman, Plan& plan) {
  jpeg_start_decompress(&decoder.jpeg);
  use_huffman(decoder.jpeg, huffman);
  plan.first_column = crop_columns(decoder.jpeg, plan.window);
  plan.row_bytes = decoder.jpeg.output_width * static_cast<unsigned>(decoder.jpeg.output_components);
}

// Where libjpeg's rows are those of the window. Several at a time: with chroma halved in height it makes two at once, and
// would copy the second one for a caller who asks for one.
void read_whole_rows(jpeg_decompress_struct& jpeg, int height, size_t row_bytes, uint8_t* out) {
  for (int y = 0; y < height;) {
    JSAMPROW rows[4];
    const int want = std::min(height - y, 4);
    for (int i = 0; i < want; ++i) rows[i] = out + static_cast<size_t>(y + i) * row_bytes;
    y += static_cast<int>(jpeg_read_scanlines(&jpeg, rows, static_cast<JDIMENSION>(want)));
  }
}

// `row` holds plan.row_bytes; `out` the window's pixels.
void read_rows(Decoder& decoder, const Plan& plan, int channels, uint8_t* row, uint8_t* out) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  const bool cmyk = jpeg.out_color_space == JCS_CMYK;
  const size_t out_bytes = static_cast<size_t>(plan.window.width) * channels;
  const size_t shift =
      (static_cast<unsigned>(plan.window.x) - plan.first_column) * static_cast<size_t>(jpeg.output_components);
  if (plan.window.y > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(plan.window.y));
  const bool whole = plan.row_bytes == out_bytes && !cmyk;
  if (whole) read_whole_rows(jpeg, plan.window.height, out_bytes, out);
  for (int y = 0; !whole && y < plan.window.height; ++y, out += out_bytes) {
    jpeg_read_scanlines(&jpeg, &row, 1);
    if (cmyk) {
      cmyk_to_rgb(row + shift, static_cast<size_t>(plan.window.width), jpeg.saw_Adobe_marker, channels, out);
    } else {
      std::memcpy(out, row + shift, out_bytes);
    }
  }
  if (jpeg.output_scanline == jpeg.output_height) jpeg_finish_decompress(&jpeg);
}

Status to_status(const Decoder& decoder) { return invalid("JPEG: ", decoder.message); }

// The functions that jump: true when the call came to its end.

bool try_header(Decoder& decoder) {
  if (setjmp(decoder.escape) != 0) return false;
  read_header(decoder);
  return true;
}

bool try_start(Decoder& decoder, JpegHuffman& huffman, Plan& plan) {
  if (setjmp(decoder.escape) != 0) return false;
  start(decoder, huffman, plan);
  return true;
}

bool try_rows(Decoder& decoder, const Plan& plan, int channels, uint8_t* row, uint8_t* out) {
  if (setjmp(decoder.escape) != 0) return false;
  read_rows(decoder, plan, channels, row, out);
  return true;
}

// Destroys what libjpeg holds, on every way out.
struct Guard {
  explicit Guard(Decoder& decoder) : decoder(decoder) {}
  ~Guard() { jpeg_destroy_decompress(&decoder.jpeg); }
  Decoder& decoder;
};

Status check_memory(Decoder& decoder, const DecodeOptions& options, Plan* plan) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  const ImageWindow whole{0, 0, static_cast<int>(jpeg.image_width), static_cast<int>(jpeg.image_height)};
  TENON_ASSIGN(const ImageWindow window, resolve_window(options.window, whole.width, whole.height));
  plan->scale = choose_scale(jpeg, options);
  plan->window = scale_window(window, plan->scale);
  const int64_t pixels = static_cast<int64_t>(plan->window.width) * plan->window.height;
  // Beside the pixels: the coefficients, and libjpeg's few rows.
  return take_image_room("JPEG", whole.width, whole.height, pixels * options.channels + coefficient_bytes(jpeg),
                         options.max_bytes);
}

}  // namespace

Result<ImageInfo> read_jpeg_info(std::string_view bytes) {
  Decoder decoder;
  begin(decoder, bytes);
  const Guard guard(decoder);
  if (!try_header(decoder)) return to_status(decoder);
  return ImageInfo{ImageFormat::kJpeg, static_cast<int>(decoder.jpeg.image_width),
                   static_cast<int>(decoder.jpeg.image_height), decoder.jpeg.num_components};
}

Status decode_jpeg(std::string_view bytes, const DecodeOptions& options, Image* image) {
  TENON_TRY(check_channels(options));
  Decoder decoder;
  begin(decoder, bytes);
  const Guard guard(decoder);
  if (!try_header(decoder)) return to_status(decoder);
  Plan plan;
  TENON_TRY(check_memory(decoder, options, &plan));
  decoder.max_visits = options.max_bytes / kBytesAVisit;
  decoder.jpeg.mem->max_memory_to_use = options.max_bytes + (int64_t{8} << 20);
  choose_output(decoder.jpeg, options, plan.scale);
  thread_local const JpegHuffmanPtr huffman = make_jpeg_huffman();
  if (!try_start(decoder, *huffman, plan)) return to_status(decoder);

  image->width = plan.window.width;
  image->height = plan.window.height;
  image->channels = std::min(options.channels, 3);
  image->scale = plan.scale;
  image->deep = false;
  const bool opaque = options.alpha == Alpha::kKeep;
  // One row of scratch behind the pixels.
  reserve_pixels(image, plan.row_bytes + (opaque ? image->bytes() / 3 : 0));
  uint8_t* out = image->pixels.data();
  if (!try_rows(decoder, plan, image->channels, out + image->bytes(), out)) return to_status(decoder);
  if (opaque) add_alpha(image);
  return {};
}

}  // namespace tenon
