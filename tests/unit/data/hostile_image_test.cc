// Images that nobody should have made: each is a named error, quickly and in little memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "data/image/image.h"
#include "unit/data/jpeg_writer.h"

namespace tenon {
namespace {

std::string decode_error(const std::string& bytes, const DecodeOptions& options = {}) {
  Image image;
  return decode_image(bytes, options, &image).message();
}

std::string a_jpeg(int width = 48, int height = 40) {
  return *encode_jpeg(smooth_pixels(width, height, 3).data(), width, height, 3);
}

// The frame header: FF C0 or FF C2, length, precision, height, width.
size_t frame_header(const std::string& jpeg) {
  for (size_t i = 2; i + 9 < jpeg.size();) {
    const uint8_t marker = static_cast<uint8_t>(jpeg[i + 1]);
    if (marker == 0xC0 || marker == 0xC2) return i;
    i += 2 + static_cast<uint8_t>(jpeg[i + 2]) * 256u + static_cast<uint8_t>(jpeg[i + 3]);
  }
  return 0;
}

void set_size(std::string& jpeg, int width, int height) {
  const size_t at = frame_header(jpeg);
  ASSERT_NE(at, 0u);
  jpeg[at + 5] = static_cast<char>(height >> 8), jpeg[at + 6] = static_cast<char>(height);
  jpeg[at + 7] = static_cast<char>(width >> 8), jpeg[at + 8] = static_cast<char>(width);
}

long peak_kib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(HostileImage, TextAndNothingAreNoImages) {
  EXPECT_EQ(decode_error(""), "image: expected JPEG, PNG or WebP, found bytes nothing");
  EXPECT_EQ(decode_error("hello, world"), "image: expected JPEG, PNG or WebP, found bytes 68656c6c6f2c2077");
  Image image;
  EXPECT_EQ(decode_jpeg("", {}, &image).message(), "JPEG: Premature end of input file");
  EXPECT_EQ(decode_jpeg("hello, world", {}, &image).message(), "JPEG: Not a JPEG file: starts with 0x68 0x65");
  EXPECT_EQ(decode_png("", {}, &image).message(), "PNG: the data end too early");
  EXPECT_EQ(decode_png("hello, world", {}, &image).message(), "PNG: Not a PNG file");
}

TEST(HostileImage, HugeHeadersAreRefusedBeforeAnythingIsAllocated) {
  const long before = peak_kib();
  std::string jpeg = a_jpeg();
  set_size(jpeg, 65500, 65500);
  EXPECT_EQ(decode_error(jpeg), "JPEG: an image of 65500x65500 needs 12870750000 bytes, expected at most 67108864");
  std::string progressive =
      write_jpeg(smooth_pixels(48, 40, 3), 48, 40, 3, JCS_RGB, [](auto& j) { jpeg_simple_progression(&j); });
  set_size(progressive, 65500, 65500);
  EXPECT_NE(decode_error(progressive).find("expected at most 67108864"), std::string::npos);
  // Pixels would fit into the limit, the coefficients of a progressive image do not.
  set_size(progressive, 4400, 4400);
  EXPECT_NE(decode_error(progressive).find("JPEG: an image of 4400x4400 needs "), std::string::npos);
  std::string png = *encode_png(smooth_pixels(8, 8, 3).data(), 8, 8, 3);
  png.replace(16, 8, std::string("\x00\x00\xff\xdc\x00\x00\xff\xdc", 8));
  png.replace(29, 4, std::string("\x1c\x35\x81\x4c", 4));  // the chunk's CRC-32, by Python's zlib
  EXPECT_EQ(decode_error(png), "PNG: an image of 65500x65500 needs 12871798000 bytes, expected at most 67108864");
  EXPECT_LT(peak_kib() - before, 16 << 10);
}

// Chunks with the checksums that they need.
std::string png_of(const std::vector<std::pair<std::string, std::string>>& chunks) {
  std::string png("\x89PNG\r\n\x1a\n", 8);
  const auto put = [&](uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) png += static_cast<char>(value >> shift);
  };
  for (const auto& [name, data] : chunks) {
    put(static_cast<uint32_t>(data.size()));
    const size_t at = png.size();
    png += name + data;
    put(static_cast<uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(png.data()) + at, static_cast<uInt>(png.size() - at))));
  }
  return png;
}

std::string png_header(uint32_t width, uint32_t height) {
  std::string data;
  for (const uint32_t side : {width, height})
    for (int shift = 24; shift >= 0; shift -= 8) data += static_cast<char>(side >> shift);
  return data + std::string("\x08\x02\0\0\0", 5);
}

TEST(HostileImage, SidesWhoseProductOverflowsAreRefused) {
  const std::string png = png_of({{"IHDR", png_header(0x7fffffff, 0x7fffffff)}, {"IDAT", "12345678"}});
  ASSERT_EQ(png.size(), 53u);
  const std::string expected = "PNG: expected at most 1000000 pixels a side, found 2147483647x2147483647";
  EXPECT_EQ(decode_error(png), expected);
  EXPECT_EQ(read_image_info(png).status().message(), expected);
}

// The chunks that libpng knows between IHDR and IEND, and one that it does not know.
TEST(HostileImage, LengthOfAChunkIsNotBelieved) {
  const long before = peak_kib();
  for (const char* name : {"tEXt", "zTXt", "iTXt", "iCCP", "sPLT", "eXIf", "pCAL", "sCAL", "hIST", "bKGD", "tRNS",
                           "PLTE", "gAMA", "cHRM", "sRGB", "sBIT", "oFFs", "pHYs", "tIME", "IDAT", "noNe"}) {
    std::string png = png_of({{"IHDR", png_header(4, 4)}});
    png += std::string("\x7f\xff\xff\xff", 4) + name + "text";
    EXPECT_NE(decode_error(png).find("PNG: "), std::string::npos) << name;
    EXPECT_FALSE(read_image_info(png).ok() && decode_error(png).empty()) << name;
  }
  EXPECT_LT(peak_kib() - before, 16 << 10);
}

TEST(HostileImage, TextInAnImageTakesNoMemory) {
  std::string text(1000 << 10, 'a'), packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                     text.size()),
            Z_OK);
  std::vector<std::pair<std::string, std::string>> chunks = {{"IHDR", png_header(1, 1)}};
  for (int i = 0; i < 1000; ++i) chunks.push_back({"zTXt", std::string("k\0\0", 3) + packed.substr(0, size)});
  chunks.push_back({"IDAT", std::string("\x78\x9c\x63\x60\x60\x60\0\0\0\x04\0\x01", 12)});
  chunks.push_back({"IEND", ""});
  const long before = peak_kib();
  EXPECT_EQ(decode_error(png_of(chunks)), "");
  EXPECT_LT(peak_kib() - before, 8 << 10);
}

TEST(HostileImage, LimitIsTheCallers) {
  EXPECT_EQ(decode_error(a_jpeg(), {.max_bytes = 48 * 40 * 3}), "");
  EXPECT_EQ(decode_error(a_jpeg(), {.max_bytes = 48 * 40 * 3 - 1}),
            "JPEG: an image of 48x40 needs 5760 bytes, expected at most 5759");
}

// A JPEG whose scan script names one scan more than allowed: refinements of single coefficients.
TEST(HostileImage, MoreThanAHundredScansAreRefused) {
  std::vector<jpeg_scan_info> script = {{3, {0, 1, 2, 0}, 0, 0, 0, 0}};
  for (int component = 0; component < 3; ++component)
    for (int k = 1; k <= 63; ++k) script.push_back({1, {component, 0, 0, 0}, k, k, 0, 0});
  const auto with_scans = [&](int scans) {
    return write_jpeg(smooth_pixels(32, 32, 3), 32, 32, 3, JCS_RGB, [&](auto& jpeg) {
      jpeg.scan_info = script.data();
      jpeg.num_scans = scans;
    });
  };
  EXPECT_EQ(decode_error(with_scans(100)), "");
  EXPECT_EQ(decode_error(with_scans(101)), "JPEG: expected at most 100 scans, found more");
  EXPECT_EQ(decode_error(with_scans(190)), "JPEG: expected at most 100 scans, found more");
}

TEST(HostileImage, TwelveBitJpegIsRefusedByName) {
  std::string jpeg = a_jpeg();
  jpeg[frame_header(jpeg) + 4] = 12;
  EXPECT_EQ(decode_error(jpeg), "JPEG: Unsupported JPEG data precision 12");
}

TEST(HostileImage, EveryTruncationIsAnError) {
  const std::vector<std::string> files = {
      a_jpeg(), write_jpeg(smooth_pixels(48, 40, 3), 48, 40, 3, JCS_RGB, [](auto& j) { jpeg_simple_progression(&j); }),
      *encode_png(smooth_pixels(20, 10, 3).data(), 20, 10, 3)};
  for (const std::string& file : files)
    for (size_t size = 0; size < file.size(); ++size) EXPECT_NE(decode_error(file.substr(0, size)), "") << size;
}

// As a truncated download that something closed properly.
TEST(HostileImage, EndMarkerAfterHalfTheDataIsAnError) {
  const std::string jpeg = a_jpeg(200, 200);
  EXPECT_EQ(decode_error(jpeg.substr(0, jpeg.size() / 2) + "\xff\xd9"),
            "JPEG: Corrupt JPEG data: premature end of data segment");
}

TEST(HostileImage, NoFlippedByteBreaksTheDecoders) {
  const std::vector<std::string> files = {
      a_jpeg(16, 16), *encode_png(smooth_pixels(8, 8, 3).data(), 8, 8, 3),
      write_jpeg(smooth_pixels(16, 16, 3), 16, 16, 3, JCS_RGB, [](auto& j) { jpeg_simple_progression(&j); })};
  Image image;
  for (const std::string& file : files)
    for (size_t at = 0; at < file.size(); ++at)
      for (const int flip : {0x01, 0x80, 0xff}) {
        std::string bad = file;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        const Status status = decode_image(bad, {.max_bytes = 1 << 20}, &image);
        EXPECT_LE(image.pixels.size(), size_t{2} << 20);
        (void)read_image_info(bad);
        EXPECT_TRUE(status.ok() || status.code() == Code::kInvalid);
      }
}

TEST(HostileImage, DecodingGoesOnAfterAnError) {
  Image image;
  EXPECT_FALSE(decode_image(a_jpeg().substr(0, 700), {}, &image).ok());
  EXPECT_TRUE(decode_image(a_jpeg(), {}, &image).ok());
  EXPECT_EQ(image.width, 48);
}

TEST(ImageEncoder, RefusesSizesAndChannelsThatNoFormatHas) {
  const uint8_t pixel[4] = {};
  EXPECT_EQ(encode_jpeg(pixel, 0, 1, 3).status().message(), "image: expected a size of 1x1 to 65500x65500, found 0x1");
  EXPECT_EQ(encode_png(pixel, 1, 70000, 3).status().message(),
            "image: expected a size of 1x1 to 65500x65500, found 1x70000");
  EXPECT_EQ(encode_png(pixel, 1, 1, 4).status().message(), "image: expected 1 or 3 channels, found 4");
}

}  // namespace
}  // namespace tenon
