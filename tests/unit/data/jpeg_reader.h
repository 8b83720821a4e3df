// JPEGs decoded by libjpeg alone: what the library's decoding is held to. With the library's Huffman decoder in it, that alone differs.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "data/image/jpeg_huffman.h"

namespace tenon {

struct PlainJpeg {
  std::string error;    // of libjpeg; empty: none
  std::string missing;  // the first warning that pixels are missing; empty: none
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t>
      pixels;  // grey or RGB, or CMYK as it is stored; also those that are missing, as libjpeg makes them up
  bool whole() const { return error.empty() && missing.empty(); }
};

struct PlainJpegOptions {
  int channels = 3;
  int scale = 1;  // 1, 2, 4 or 8: at this part of the size
  bool accurate = true;
  int64_t max_pixels = int64_t{1} << 22;
  JpegHuffman* huffman = nullptr;  // in the place of libjpeg's
  // Bytes that libjpeg is given at a time. With few it looks at each code; with many it takes an MCU in a stride, and where that ends
  // at stray bytes FF FF 00 it takes it again, and leaves coefficients of the first try in it.
  size_t at_once = 256;
};

class PlainJpegReader {
 public:
  PlainJpegReader(std::string_view bytes, const PlainJpegOptions& options) : options_(options), rest_(bytes) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    errors_.emit_message = note;
    jpeg_.client_data = this;
    source_ = {nullptr, 0, ignore, give_more, skip, jpeg_resync_to_restart, ignore};
  }
  ~PlainJpegReader() { jpeg_destroy_decompress(&jpeg_); }
  PlainJpegReader(const PlainJpegReader&) = delete;
  PlainJpegReader& operator=(const PlainJpegReader&) = delete;

  PlainJpeg read() {
    if (!start()) return out_;
    out_.width = static_cast<int>(jpeg_.output_width), out_.height = static_cast<int>(jpeg_.output_height);
    out_.channels = jpeg_.output_components;
    out_.pixels.assign(static_cast<size_t>(out_.width) * out_.height * out_.channels, 0);
    rows();
    return out_;
  }

 private:
  // Errors leave by longjmp, past nothing that has a destructor.
  bool start() {
    if (setjmp(escape_) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_.client_data = this;
    jpeg_.src = &source_;
    jpeg_read_header(&jpeg_, TRUE);
    if (int64_t{jpeg_.image_width} * jpeg_.image_height > options_.max_pixels) ERREXIT1(&jpeg_, JERR_OUT_OF_MEMORY, 0);
    const bool cmyk = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = cmyk ? JCS_CMYK : options_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_.scale_num = 1, jpeg_.scale_denom = static_cast<unsigned>(options_.scale);
    jpeg_.dct_method = options_.accurate ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_.do_fancy_upsampling = options_.accurate;
    jpeg_start_decompress(&jpeg_);
    if (options_.huffman) use_huffman(jpeg_, *options_.huffman);
    return true;
  }
  bool rows() {
    if (setjmp(escape_) != 0) return false;
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW rows[4];
      for (size_t i = 0; i < 4; ++i)
        rows[i] = out_.pixels.data() + (jpeg_.output_scanline + i) * static_cast<size_t>(out_.width) * out_.channels;
      const JDIMENSION left = jpeg_.output_height - jpeg_.output_scanline;
      jpeg_read_scanlines(&jpeg_, rows, left < 4 ? left : 4);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  static PlainJpegReader& of(j_common_ptr jpeg) { return *static_cast<PlainJpegReader*>(jpeg->client_data); }
  static std::string message(j_common_ptr jpeg) {
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    return text;
  }
  [[noreturn]] static void leave(j_common_ptr jpeg) {
    PlainJpegReader& reader = of(jpeg);
    reader.out_.error = message(jpeg);
    std::longjmp(reader.escape_, 1);
  }
  static void note(j_common_ptr jpeg, int level) {
    const int code = jpeg->err->msg_code;
    if (level >= 0 || (code != JWRN_JPEG_EOF && code != JWRN_HIT_MARKER)) return;
    if (of(jpeg).out_.missing.empty()) of(jpeg).out_.missing = message(jpeg);
  }
  static void ignore(j_decompress_ptr) {}
  static boolean give_more(j_decompress_ptr jpeg) {
    PlainJpegReader& reader = of(reinterpret_cast<j_common_ptr>(jpeg));
    const std::string_view piece = reader.rest_.substr(0, reader.options_.at_once);
    if (piece.empty()) ERREXIT(jpeg, JERR_INPUT_EOF);
    reader.rest_.remove_prefix(piece.size());
    reader.source_.next_input_byte = reinterpret_cast<const JOCTET*>(piece.data());
    reader.source_.bytes_in_buffer = piece.size();
    return TRUE;
  }
  static void skip(j_decompress_ptr jpeg, long bytes) {
    jpeg_source_mgr& source = *jpeg->src;
    for (auto left = static_cast<size_t>(bytes > 0 ? bytes : 0); left > 0;) {
      if (source.bytes_in_buffer == 0) give_more(jpeg);
      const size_t passed = left < source.bytes_in_buffer ? left : source.bytes_in_buffer;
      source.next_input_byte += passed;
      source.bytes_in_buffer -= passed;
      left -= passed;
    }
  }

  PlainJpegOptions options_;
  PlainJpeg out_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
  std::string_view rest_;
  std::jmp_buf escape_;
};

inline PlainJpeg read_plain_jpeg(std::string_view bytes, const PlainJpegOptions& options = {}) {
  return PlainJpegReader(bytes, options).read();
}

}  // namespace tenon
