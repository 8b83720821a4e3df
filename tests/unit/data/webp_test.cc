// WebP beside libwebp itself, whose simplest functions give the expected pixels.
#include <gtest/gtest.h>
#include <webp/decode.h>
#include <webp/encode.h>

#include <cstring>
#include <string>
#include <vector>

#include "data/image/image.h"
#include "unit/data/jpeg_writer.h"

namespace tenon {
namespace {

constexpr int kWidth = 61, kHeight = 47;

std::string taken(uint8_t* bytes, size_t size) {
  std::string out(reinterpret_cast<char*>(bytes), size);
  WebPFree(bytes);
  return out;
}

std::vector<uint8_t> picture(int channels) {
  std::vector<uint8_t> pixels = smooth_pixels(kWidth, kHeight, channels);
  for (size_t i = 3; channels == 4 && i < pixels.size(); i += 4) pixels[i] = static_cast<uint8_t>(i / 4 * 5);
  return pixels;
}

std::string lossy(int channels) {
  const std::vector<uint8_t> pixels = picture(channels);
  uint8_t* out = nullptr;
  const size_t size = channels == 4 ? WebPEncodeRGBA(pixels.data(), kWidth, kHeight, kWidth * 4, 80, &out)
                                    : WebPEncodeRGB(pixels.data(), kWidth, kHeight, kWidth * 3, 80, &out);
  return taken(out, size);
}

std::string lossless(int channels) {
  const std::vector<uint8_t> pixels = picture(channels);
  uint8_t* out = nullptr;
  const size_t size = channels == 4 ? WebPEncodeLosslessRGBA(pixels.data(), kWidth, kHeight, kWidth * 4, &out)
                                    : WebPEncodeLosslessRGB(pixels.data(), kWidth, kHeight, kWidth * 3, &out);
  return taken(out, size);
}

std::vector<std::string> all_kinds() { return {lossy(3), lossy(4), lossless(3), lossless(4)}; }

// RGB or RGBA, as libwebp decodes it.
std::vector<uint8_t> plain(const std::string& webp, int channels) {
  int width = 0, height = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(webp.data());
  uint8_t* const pixels = channels == 4 ? WebPDecodeRGBA(bytes, webp.size(), &width, &height)
                                        : WebPDecodeRGB(bytes, webp.size(), &width, &height);
  if (!pixels) return {};
  std::vector<uint8_t> out(pixels, pixels + static_cast<size_t>(width) * height * channels);
  WebPFree(pixels);
  return out;
}

std::vector<uint8_t> decoded_webp(const std::string& webp, const DecodeOptions& options = {}) {
  Image image;
  const Status status = decode_image(webp, options, &image);
  EXPECT_TRUE(status.ok()) << status.message();
  image.pixels.resize(image.bytes());
  return image.pixels;
}

std::string decode_error(const std::string& webp, const DecodeOptions& options = {}) {
  Image image;
  return decode_image(webp, options, &image).message();
}

std::string chunk(const std::string& name, std::string data) {
  std::string out = name;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(data.size() >> shift);
  if (data.size() % 2) data += '\0';
  return out + data;
}
std::string riff(const std::string& chunks) { return "RIFF" + chunk("", "WEBP" + chunks); }

// An extended header has 24 bits for each side, a lossy image's has 14.
std::string extended(uint32_t width, uint32_t height, uint8_t flags, const std::string& rest) {
  std::string data{static_cast<char>(flags), 0, 0, 0};
  for (const uint32_t side : {width - 1, height - 1})
    for (int shift = 0; shift < 24; shift += 8) data += static_cast<char>(side >> shift);
  return riff(chunk("VP8X", data) + rest);
}

TEST(Webp, PixelsAreLibwebps) {
  for (const std::string& webp : all_kinds()) EXPECT_EQ(decoded_webp(webp), plain(webp, 3));
  EXPECT_EQ(decoded_webp(lossless(3)), picture(3)) << "which loses nothing";
}

TEST(Webp, HeaderSaysSizeAndChannels) {
  for (const int channels : {3, 4})
    for (const std::string& webp : {lossy(channels), lossless(channels)}) {
      const ImageInfo info = *read_image_info(webp);
      EXPECT_EQ(info.format, ImageFormat::kWebp);
      EXPECT_EQ(info.width, kWidth);
      EXPECT_EQ(info.height, kHeight);
      EXPECT_EQ(info.channels, channels);
      EXPECT_EQ(info.bits, 8);
    }
}

TEST(Webp, WindowGivesThePixelsOfTheWholeImageCropped) {
  for (const std::string& webp : all_kinds())
    for (const int channels : {1, 3})
      for (const ImageWindow& w :
           {ImageWindow{0, 0, 1, 1}, {60, 46, 1, 1}, {7, 5, 30, 21}, {1, 1, 60, 46}, {16, 2, 17, 33}, {3, 44, 57, 3}}) {
        const std::vector<uint8_t> whole = decoded_webp(webp, {.channels = channels});
        std::vector<uint8_t> expected;
        for (int y = w.y; y < w.y + w.height; ++y) {
          const auto row = whole.begin() + (y * kWidth + w.x) * channels;
          expected.insert(expected.end(), row, row + w.width * channels);
        }
        EXPECT_EQ(decoded_webp(webp, {.channels = channels, .window = w}), expected) << w.x << ", " << w.y;
      }
}

TEST(Webp, AlphaIsKeptDroppedOrBlended) {
  for (const std::string& webp : {lossy(4), lossless(4)}) {
    const std::vector<uint8_t> rgba = plain(webp, 4);
    EXPECT_EQ(decoded_webp(webp, {.channels = 4, .alpha = Alpha::kKeep}), rgba);
    const std::vector<uint8_t> blended = decoded_webp(webp, {.alpha = Alpha::kBlend, .background = {200, 100, 0}});
    ASSERT_EQ(blended.size(), rgba.size() / 4 * 3);
    const double below[3] = {200, 100, 0};
    for (size_t i = 0; i < rgba.size() / 4; ++i)
      for (size_t c = 0; c < 3; ++c) {
        const double seen = rgba[4 * i + 3] / 255.0;
        ASSERT_NEAR(blended[3 * i + c], rgba[4 * i + c] * seen + below[c] * (1 - seen), 0.5001);
      }
  }
  const std::vector<uint8_t> opaque = decoded_webp(lossless(3), {.channels = 4, .alpha = Alpha::kKeep});
  for (size_t i = 0; i < opaque.size(); ++i) ASSERT_EQ(opaque[i], i % 4 == 3 ? 255 : picture(3)[i / 4 * 3 + i % 4]);
}

TEST(Webp, ColourBecomesLuma) {
  const std::vector<uint8_t> rgb = picture(3), gray = decoded_webp(lossless(3), {.channels = 1});
  ASSERT_EQ(gray.size() * 3, rgb.size());
  for (size_t i = 0; i < gray.size(); ++i)
    ASSERT_NEAR(gray[i], 0.299 * rgb[3 * i] + 0.587 * rgb[3 * i + 1] + 0.114 * rgb[3 * i + 2], 0.501);
}

TEST(Webp, EveryTruncationIsAnError) {
  for (const std::string& webp : all_kinds()) {
    Image image;
    for (size_t size = 12; size + 1 < webp.size(); ++size)  // the last byte may only fill it up to an even length
      EXPECT_EQ(decode_error(webp.substr(0, size)).rfind("WebP: ", 0), 0u) << size << " of " << webp.size();
    EXPECT_TRUE(decode_image(webp, {}, &image).ok());
  }
  EXPECT_EQ(decode_error(lossy(3).substr(0, 400)), "WebP: the data end too early");
}

TEST(Webp, NoFlippedBitBreaksTheDecoder) {
  Image image;
  for (const std::string& webp : all_kinds())
    for (size_t at = 12; at < webp.size(); ++at) {
      std::string bad = webp;
      bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
      const Status status = decode_image(bad, {.max_bytes = 1 << 20}, &image);
      EXPECT_TRUE(status.ok() || status.code() == Code::kInvalid) << status.message();
      EXPECT_LE(image.pixels.size(), size_t{2} << 20);
    }
}

TEST(Webp, AnAnimationIsOneClearError) {
  const std::string frame = chunk("ANMF", std::string(16, '\0') + lossy(3).substr(12));
  const std::string webp = extended(kWidth, kHeight, 0x02, chunk("ANIM", std::string(6, '\0')) + frame + frame);
  EXPECT_EQ(decode_error(webp), "WebP: an animation, expected one image");
  EXPECT_EQ(read_image_info(webp).status().message(), "WebP: an animation, expected one image");
}

TEST(Webp, HugeHeadersAreRefusedBeforeAnythingIsAllocated) {
  std::string webp = lossless(3);  // whose header has 14 bits of each side, less one
  const size_t at = webp.find("VP8L") + 9;
  webp[at] = webp[at + 1] = webp[at + 2] = '\xff', webp[at + 3] = static_cast<char>(webp[at + 3] | 0x0f);
  EXPECT_EQ(decode_error(webp), "WebP: an image of 16384x16384 needs 2149580800 bytes, expected at most 67108864");
  Image image;
  EXPECT_FALSE(decode_image(webp, {}, &image).ok());
  EXPECT_EQ(image.pixels.size(), 0u);
  EXPECT_FALSE(read_image_info(extended(1 << 24, 1 << 24, 0, "")).ok());
}

TEST(Webp, LimitIsTheCallers) {
  EXPECT_EQ(decode_error(lossy(3), {.max_bytes = 1000}).rfind("WebP: an image of 61x47 needs ", 0), 0u);
  EXPECT_EQ(decode_error(lossy(3), {.max_bytes = 1 << 20}), "");
}

}  // namespace
}  // namespace tenon
