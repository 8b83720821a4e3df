#include "data/image/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "unit/data/jpeg_writer.h"

namespace tenon {
namespace {

// Made with Python's zlib and struct, by the PNG specification.
const char kRgb[] =  // (255,0,0) (1,2,3)
    "89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd0000000f4944415478da63f8cfc0c0c8c4"
    "0c00060b0106bd70256a0000000049454e44ae426082";
const char kRgba16[] =  // 1234 5678 9abc, transparent
    "89504e470d0a1a0a0000000d49484452000000010000000110060000004f8518ca000000114944415478da63103209ab98b5"
    "878101000afd026bd89da5d70000000049454e44ae426082";
const char kPalette[] =  // entries 0 (10,20,30) and 1 (40,50,60)
    "89504e470d0a1a0a0000000d4948445200000002000000010103000000ceecedc900000006504c54450a141e28323cd51bb4"
    "e90000000a4944415478da637000000042004184bf8e620000000049454e44ae426082";
const char kGrayAlpha[] =  // 7 opaque above 9 transparent
    "89504e470d0a1a0a0000000d494844520000000100000002080400000033887eac0000000e4944415478da6360ffcfc0c900"
    "0004370110c54931b70000000049454e44ae426082";
const char kGray1[] =  // bits 1 0 1
    "89504e470d0a1a0a0000000d4948445200000003000000010100000000339b29190000000a4944415478da6358000000a200"
    "a17105cb410000000049454e44ae426082";

std::string unhex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<int> decoded_numbers(const std::string& bytes, const DecodeOptions& options = {}) {
  Image image;
  const Status status = decode_image(bytes, options, &image);
  EXPECT_TRUE(status.ok()) << status.message();
  return {image.pixels.begin(), image.pixels.begin() + (status.ok() ? image.bytes() : 0)};
}

Image decode(const std::string& bytes, const DecodeOptions& options = {}) {
  Image image;
  const Status status = decode_image(bytes, options, &image);
  EXPECT_TRUE(status.ok()) << status.message();
  image.pixels.resize(image.bytes());
  return image;
}

TEST(Png, ReadsEveryKindAsRgbOrGray) {
  EXPECT_EQ(decoded_numbers(unhex(kRgb)), (std::vector<int>{255, 0, 0, 1, 2, 3}));
  EXPECT_EQ(decoded_numbers(unhex(kRgba16)), (std::vector<int>{0x12, 0x56, 0x9a}));
  EXPECT_EQ(decoded_numbers(unhex(kPalette)), (std::vector<int>{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(decoded_numbers(unhex(kGrayAlpha)), (std::vector<int>{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(decoded_numbers(unhex(kGrayAlpha), {.channels = 1}), (std::vector<int>{7, 9}));
  EXPECT_EQ(decoded_numbers(unhex(kGray1), {.channels = 1}), (std::vector<int>{255, 0, 255}));
  EXPECT_EQ(decoded_numbers(unhex(kRgb), {.channels = 1})[0], 76);  // 0.299 R + 0.587 G + 0.114 B
}

std::vector<int> deep(const std::string& bytes, DecodeOptions options = {}) {
  options.deep = true;
  Image image;
  const Status status = decode_image(bytes, options, &image);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(image.deep);
  std::vector<uint16_t> values(image.bytes() / 2);
  std::memcpy(values.data(), image.pixels.data(), image.bytes());
  return {values.begin(), values.end()};
}

// Made with Python's zlib and struct, by the PNG specification.
const char kGray16[] =  // 0 1 / 255 65535
    "89504e470d0a1a0a0000000d4948445200000002000000021000000000074d8ebb000000124944415478da63606060606460"
    "f8ffff3f00060a02ff43b1614b0000000049454e44ae426082";
const char kRgba16Half[] =  // (65535, 0, 30000), 32768 of 65535 opaque
    "89504e470d0a1a0a0000000d49484452000000010000000110060000004f8518ca000000114944415478da63f8ff9f81a1d4"
    "a0810100125e0324c4d659140000000049454e44ae426082";

TEST(Png, SixteenBitsAreKeptWhereTheyAreWanted) {
  EXPECT_EQ(deep(unhex(kRgba16)), (std::vector<int>{0x1234, 0x5678, 0x9abc}));
  EXPECT_EQ(deep(unhex(kGray16), {.channels = 1}), (std::vector<int>{0, 1, 255, 65535}));
  EXPECT_EQ(deep(unhex(kGray16)), (std::vector<int>{0, 0, 0, 1, 1, 1, 255, 255, 255, 65535, 65535, 65535}));
  EXPECT_EQ(decoded_numbers(unhex(kGray16), {.channels = 1}), (std::vector<int>{0, 0, 0, 255})) << "the upper 8";
  EXPECT_EQ(read_image_info(unhex(kGray16))->bits, 16);
  EXPECT_EQ(deep(unhex(kGray16), {.channels = 1, .window = {1, 0, 1, 2}}), (std::vector<int>{1, 65535}));
  Image image;
  ASSERT_TRUE(decode_image(unhex(kRgb), {.deep = true}, &image).ok());
  EXPECT_FALSE(image.deep) << "8 bits are as they were";
}

TEST(Image, AlphaIsDroppedBlendedOrKept) {
  const std::string half = unhex(kRgba16Half), grey = unhex(kGrayAlpha);
  // 32768/65535 of it and the rest of the background, rounded.
  EXPECT_EQ(deep(half), (std::vector<int>{65535, 0, 30000}));
  EXPECT_EQ(deep(half, {.channels = 4, .alpha = Alpha::kKeep}), (std::vector<int>{65535, 0, 30000, 32768}));
  EXPECT_EQ(deep(half, {.alpha = Alpha::kBlend, .background = {0, 255, 0}}), (std::vector<int>{32768, 32767, 15000}));
  EXPECT_EQ(decoded_numbers(half, {.channels = 4, .alpha = Alpha::kKeep}), (std::vector<int>{255, 0, 117, 128}));
  // 7 opaque above 9 transparent.
  EXPECT_EQ(decoded_numbers(grey, {.channels = 4, .alpha = Alpha::kKeep}),
            (std::vector<int>{7, 7, 7, 255, 9, 9, 9, 0}));
  EXPECT_EQ(decoded_numbers(grey, {.alpha = Alpha::kBlend, .background = {1, 2, 3}}),
            (std::vector<int>{7, 7, 7, 1, 2, 3}));
  EXPECT_EQ(decoded_numbers(grey, {.channels = 1, .alpha = Alpha::kBlend, .background = {255, 255, 255}}),
            (std::vector<int>{7, 255}));
  // What has none is opaque.
  EXPECT_EQ(decoded_numbers(unhex(kRgb), {.channels = 4, .alpha = Alpha::kKeep}),
            (std::vector<int>{255, 0, 0, 255, 1, 2, 3, 255}));
  EXPECT_EQ(decoded_numbers(unhex(kRgb), {.alpha = Alpha::kBlend, .background = {9, 9, 9}}),
            (std::vector<int>{255, 0, 0, 1, 2, 3}));
  const std::string jpeg = *encode_jpeg(std::vector<uint8_t>(64 * 3, 90).data(), 8, 8, 3);
  const Image kept = decode(jpeg, {.channels = 4, .alpha = Alpha::kKeep}), plain = decode(jpeg);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(kept.pixels[4 * i + 3], 255);
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(kept.pixels[4 * i + c], plain.pixels[3 * i + c]);
  }
  Image image;
  EXPECT_EQ(decode_image(unhex(kRgb), {.alpha = Alpha::kKeep}, &image).message(),
            "image: expected 4 channels where alpha is kept, found 3");
  EXPECT_EQ(decode_image(unhex(kRgb), {.channels = 4}, &image).message(), "image: expected 1 or 3 channels, found 4");
}

TEST(Png, WhatIsWrittenIsReadBackExactly) {
  for (const int channels : {1, 3}) {
    const std::vector<uint8_t> pixels = smooth_pixels(37, 23, channels);
    const std::string png = *encode_png(pixels.data(), 37, 23, channels);
    const Image image = decode(png, {.channels = channels});
    EXPECT_EQ(image.width, 37);
    EXPECT_EQ(image.height, 23);
    EXPECT_EQ(image.pixels, pixels);
  }
}

TEST(Png, HeaderSaysSizeAndChannels) {
  const ImageInfo info = *read_image_info(unhex(kGrayAlpha));
  EXPECT_EQ(info.format, ImageFormat::kPng);
  EXPECT_EQ(info.width, 1);
  EXPECT_EQ(info.height, 2);
  EXPECT_EQ(info.channels, 2);
  EXPECT_EQ(read_image_info(unhex(kPalette))->channels, 3);
}

TEST(Jpeg, FlatColoursSurvive) {
  for (const int level : {0, 77, 128, 255}) {
    const std::vector<uint8_t> pixels(40 * 30 * 3, static_cast<uint8_t>(level));
    const Image image = decode(*encode_jpeg(pixels.data(), 40, 30, 3, 95));
    EXPECT_EQ(image.width, 40);
    EXPECT_EQ(image.height, 30);
    for (const uint8_t value : image.pixels) EXPECT_NEAR(value, level, 1);
  }
}

TEST(Jpeg, SmoothPicturesComeBackClose) {
  const std::vector<uint8_t> pixels = smooth_pixels(101, 67, 3);
  const std::string jpeg = *encode_jpeg(pixels.data(), 101, 67, 3, 98);
  for (const bool accurate : {true, false}) {
    const Image image = decode(jpeg, {.accurate = accurate});
    double sum = 0;
    for (size_t i = 0; i < pixels.size(); ++i) sum += std::abs(image.pixels[i] - pixels[i]);
    EXPECT_LT(sum / static_cast<double>(pixels.size()), 3.0);
  }
}

TEST(Jpeg, HeaderSaysSizeAndChannels) {
  const ImageInfo info = *read_image_info(*encode_jpeg(smooth_pixels(9, 5, 1).data(), 9, 5, 1));
  EXPECT_EQ(info.format, ImageFormat::kJpeg);
  EXPECT_EQ(info.width, 9);
  EXPECT_EQ(info.height, 5);
  EXPECT_EQ(info.channels, 1);
}

TEST(Jpeg, GrayBecomesThreeEqualChannelsAndColourBecomesLuma) {
  const std::vector<uint8_t> gray(16 * 16, 90);
  for (const uint8_t value : decode(*encode_jpeg(gray.data(), 16, 16, 1)).pixels) EXPECT_NEAR(value, 90, 1);
  std::vector<uint8_t> red;
  for (int i = 0; i < 256; ++i) red.insert(red.end(), {255, 0, 0});
  for (const uint8_t value : decode(*encode_jpeg(red.data(), 16, 16, 3), {.channels = 1}).pixels)
    EXPECT_NEAR(value, 76, 2);
}

// Ink: full cyan on white paper is (0, 255, 255).
TEST(Jpeg, CmykBecomesRgbWithAndWithoutAdobesInversion) {
  std::vector<uint8_t> cyan;
  for (int i = 0; i < 256; ++i) cyan.insert(cyan.end(), {255, 0, 0, 0});
  std::vector<uint8_t> inverted;
  for (const uint8_t value : cyan) inverted.push_back(255 - value);
  const std::string plain = write_jpeg(cyan, 16, 16, 4, JCS_CMYK, [](auto& jpeg) { jpeg.write_Adobe_marker = FALSE; });
  const std::string adobe = write_jpeg(inverted, 16, 16, 4, JCS_CMYK);
  const std::string ycck =
      write_jpeg(inverted, 16, 16, 4, JCS_CMYK, [](auto& jpeg) { jpeg_set_colorspace(&jpeg, JCS_YCCK); });
  for (const std::string& jpeg : {plain, adobe, ycck}) {
    const Image image = decode(jpeg);
    ASSERT_EQ(image.bytes(), 256u * 3);
    for (size_t i = 0; i < image.bytes(); i += 3) {
      EXPECT_NEAR(image.pixels[i], 0, 2);
      EXPECT_NEAR(image.pixels[i + 1], 255, 2);
      EXPECT_NEAR(image.pixels[i + 2], 255, 2);
    }
    EXPECT_NEAR(decode(jpeg, {.channels = 1}).pixels[0], 179, 2);
  }
}

TEST(Jpeg, ProgressiveGivesWhatBaselineGives) {
  const std::vector<uint8_t> pixels = smooth_pixels(50, 40, 3);
  const std::string baseline = write_jpeg(pixels, 50, 40, 3, JCS_RGB);
  const std::string progressive =
      write_jpeg(pixels, 50, 40, 3, JCS_RGB, [](auto& jpeg) { jpeg_simple_progression(&jpeg); });
  EXPECT_EQ(decode(baseline).pixels, decode(progressive).pixels);
}

// The rows and columns of `image` in the window.
std::vector<uint8_t> cropped(const Image& image, const ImageWindow& window) {
  std::vector<uint8_t> pixels;
  const size_t c = static_cast<size_t>(image.channels);
  for (int y = window.y; y < window.y + window.height; ++y) {
    const auto row =
        image.pixels.begin() + (static_cast<ptrdiff_t>(y) * image.width + window.x) * static_cast<ptrdiff_t>(c);
    pixels.insert(pixels.end(), row, row + static_cast<ptrdiff_t>(window.width * c));
  }
  return pixels;
}

TEST(Image, WindowGivesThePixelsOfTheWholeImageCropped) {
  const int width = 117, height = 93;
  const std::vector<uint8_t> pixels = smooth_pixels(width, height, 3);
  const std::vector<ImageWindow> windows = {{0, 0, width, height}, {0, 0, 1, 1},     {116, 92, 1, 1},  {33, 17, 40, 50},
                                            {15, 0, 17, 93},       {16, 16, 16, 16}, {1, 80, 116, 13}, {64, 40, 53, 3}};
  const auto sampling = [](int h, int v) {
    return [h, v](jpeg_compress_struct& jpeg) {
      jpeg.comp_info[0].h_samp_factor = h;
      jpeg.comp_info[0].v_samp_factor = v;
    };
  };
  std::vector<std::string> files = {*encode_png(pixels.data(), width, height, 3)};
  for (const auto& [h, v] : {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}})
    files.push_back(write_jpeg(pixels, width, height, 3, JCS_RGB, sampling(h, v)));
  files.push_back(write_jpeg(pixels, width, height, 3, JCS_RGB, [](auto& jpeg) { jpeg_simple_progression(&jpeg); }));
  files.push_back(write_jpeg(std::vector<uint8_t>(width * height * 4, 99), width, height, 4, JCS_CMYK));
  for (size_t file = 0; file < files.size(); ++file)
    for (const int channels : {1, 3}) {
      const Image whole = decode(files[file], {.channels = channels});
      for (const ImageWindow& window : windows) {
        const Image part = decode(files[file], {.channels = channels, .window = window});
        EXPECT_EQ(part.width, window.width);
        EXPECT_EQ(part.height, window.height);
        EXPECT_EQ(part.pixels, cropped(whole, window)) << "file " << file << " x " << window.x << " y " << window.y;
      }
    }
}

TEST(Image, WindowOutsideIsAnError) {
  const std::string png = unhex(kRgb);
  Image image;
  EXPECT_EQ(decode_image(png, {.window = {1, 0, 2, 1}}, &image).message(),
            "image: expected a window inside 2x1, found 2x1 at 1,0");
  EXPECT_FALSE(decode_image(png, {.window = {-1, 0, 1, 1}}, &image).ok());
  EXPECT_FALSE(decode_image(png, {.window = {2147483647, 0, 2147483647, 1}}, &image).ok());
}

TEST(Jpeg, ScalesDownOnlyAsFarAsAsked) {
  const std::vector<uint8_t> flat(201 * 101 * 3, 60);
  const std::string jpeg = *encode_jpeg(flat.data(), 201, 101, 3);
  EXPECT_EQ(decode(jpeg).scale, 1);
  EXPECT_EQ(decode(jpeg, {.min_width = 101, .min_height = 50}).scale, 1);
  const Image half = decode(jpeg, {.min_width = 100, .min_height = 50});
  EXPECT_EQ(half.scale, 2);
  EXPECT_EQ(half.width, 101);
  EXPECT_EQ(half.height, 51);
  for (const uint8_t value : half.pixels) EXPECT_NEAR(value, 60, 1);
  const Image quarter = decode(jpeg, {.min_width = 50, .min_height = 25});
  EXPECT_EQ(quarter.scale, 4);
  EXPECT_EQ(quarter.width, 51);
  const ImageWindow window{41, 17, 30, 50};
  const Image part = decode(jpeg, {.min_width = 100, .min_height = 50, .window = window});
  EXPECT_EQ(part.width, 16);   // columns 20 to 36
  EXPECT_EQ(part.height, 26);  // rows 8 to 34
}

TEST(Image, BufferIsUsedAgain) {
  Image image;
  const std::vector<uint8_t> pixels = smooth_pixels(64, 64, 3);
  const std::string jpeg = *encode_jpeg(pixels.data(), 64, 64, 3);
  ASSERT_TRUE(decode_image(jpeg, {}, &image).ok());
  const uint8_t* buffer = image.pixels.data();
  ASSERT_TRUE(decode_image(unhex(kRgb), {}, &image).ok());
  ASSERT_TRUE(decode_image(jpeg, {}, &image).ok());
  EXPECT_EQ(image.pixels.data(), buffer);
}

}  // namespace
}  // namespace tenon
