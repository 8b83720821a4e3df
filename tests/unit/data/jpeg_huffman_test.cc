// The library's Huffman decoder is held to libjpeg's: the same pixels, and the same verdict on what is damaged.
#include "data/image/jpeg_huffman.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "data/image/image.h"
#include "unit/data/jpeg_reader.h"
#include "unit/data/jpeg_writer.h"

namespace tenon {
namespace {

using JpegSetup = std::function<void(jpeg_compress_struct&)>;

// Noise on smooth pixels: strength 0 is none, 128 all 256 values, so that numbers of every size are coded.
std::vector<uint8_t> grainy_pixels(int width, int height, int channels, int strength, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<uint8_t> pixels = smooth_pixels(width, height, channels);
  for (uint8_t& p : pixels)
    if (strength > 0)
      p = static_cast<uint8_t>(std::clamp<int>(p + static_cast<int>(random() % (2u * strength)) - strength, 0, 255));
  return pixels;
}

std::string grainy_jpeg(int width, int height, int strength, const JpegSetup& setup = {}, unsigned seed = 1) {
  return write_jpeg(grainy_pixels(width, height, 3, strength, seed), width, height, 3, JCS_RGB, setup);
}

JpegSetup sampling(int h, int v) {
  return [=](jpeg_compress_struct& jpeg) {
    jpeg.comp_info[0].h_samp_factor = h;
    jpeg.comp_info[0].v_samp_factor = v;
  };
}

JpegSetup both(JpegSetup a, JpegSetup b) {
  return [a = std::move(a), b = std::move(b)](jpeg_compress_struct& jpeg) { a(jpeg), b(jpeg); };
}

JpegSetup quality(int q) {
  return [=](jpeg_compress_struct& jpeg) {
    jpeg.err->trace_level = -1;  // of tables with 16 bits it would say that they are no baseline's
    jpeg_set_quality(&jpeg, q, FALSE);
  };
}

JpegSetup restarts(int mcus) {
  return [=](jpeg_compress_struct& jpeg) { jpeg.restart_interval = static_cast<unsigned>(mcus); };
}

void optimise(jpeg_compress_struct& jpeg) { jpeg.optimize_coding = TRUE; }
void progress(jpeg_compress_struct& jpeg) { jpeg_simple_progression(&jpeg); }

JpegHuffman& huffman() {
  static const JpegHuffmanPtr tables = make_jpeg_huffman();  // of image after image
  return *tables;
}

// What libjpeg finds, and whether the library finds the same: with its decoder in libjpeg's place, also of what libjpeg makes up for
// missing data, and as a whole.
PlainJpeg agreed(std::string_view bytes, PlainJpegOptions options = {}) {
  PlainJpeg plain = read_plain_jpeg(bytes, options);
  options.huffman = &huffman();
  options.at_once = bytes.size();
  const PlainJpeg own = read_plain_jpeg(bytes, options);
  EXPECT_EQ(own.error, plain.error);
  EXPECT_EQ(own.missing, plain.missing);
  EXPECT_TRUE(own.pixels == plain.pixels || !plain.error.empty()) << plain.missing;
  Image image;
  const Status status = decode_jpeg(
      bytes, {.channels = options.channels, .max_bytes = options.max_pixels * 3, .accurate = options.accurate}, &image);
  const bool refused =
      status.message().find(" needs ") != std::string::npos || status.message().find("scans") != std::string::npos;
  if (refused) return plain;  // by the library's limits
  EXPECT_EQ(status.ok(), plain.whole()) << status.message() << " / " << plain.error << plain.missing;
  if (!status.ok() || plain.channels == 4) return plain;
  EXPECT_EQ(image.width, plain.width);
  EXPECT_EQ(image.height, plain.height);
  EXPECT_TRUE(std::equal(plain.pixels.begin(), plain.pixels.end(), image.pixels.begin()));
  return plain;
}

void expect_whole(const std::string& jpeg) {
  for (const bool accurate : {true, false})
    for (const int channels : {1, 3}) {
      const PlainJpeg plain = agreed(jpeg, {.channels = channels, .accurate = accurate});
      EXPECT_TRUE(plain.whole()) << plain.error << plain.missing;
    }
}

// Where the coded data begin.
size_t scan_data(const std::string& jpeg) {
  const size_t at = jpeg.find("\xff\xda");
  return at + 2 + static_cast<uint8_t>(jpeg[at + 2]) * 256u + static_cast<uint8_t>(jpeg[at + 3]);
}

// Kinds of which damaged ones are made: with restarts and without, of one component and three.
std::vector<std::string> kinds_to_damage() {
  return {grainy_jpeg(50, 41, 30, quality(90)),
          grainy_jpeg(50, 41, 60, both(quality(98), sampling(1, 1))),
          grainy_jpeg(70, 33, 20, both(sampling(2, 1), restarts(2))),
          grainy_jpeg(64, 64, 90, both(both(quality(75), optimise), restarts(1))),
          write_jpeg(grainy_pixels(67, 30, 1, 40), 67, 30, 1, JCS_GRAYSCALE, restarts(5)),
          write_jpeg(grainy_pixels(40, 40, 1, 3), 40, 40, 1, JCS_GRAYSCALE),
          grainy_jpeg(48, 48, 30, progress)};
}

TEST(JpegHuffman, EverySamplingAndTableGivesLibjpegsPixels) {
  for (const auto& [h, v] : {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}, {4, 1}, {1, 4}, {4, 2}})
    for (const JpegSetup& tables : {JpegSetup(quality(75)), JpegSetup(optimise)})
      for (const int interval : {0, 1, 3, 100}) {
        SCOPED_TRACE(testing::Message() << h << "x" << v << " restarts " << interval);
        expect_whole(grainy_jpeg(83, 61, 40, both(both(sampling(h, v), tables), restarts(interval))));
      }
}

TEST(JpegHuffman, EveryQualityGivesLibjpegsPixels) {
  for (int q = 1; q <= 100; ++q)
    for (const int strength : {0, 8, 128}) {
      SCOPED_TRACE(testing::Message() << "quality " << q << " strength " << strength);
      expect_whole(grainy_jpeg(49, 35, strength, both(quality(q), q % 2 ? JpegSetup(optimise) : sampling(1, 1)),
                               static_cast<unsigned>(q)));
    }
}

TEST(JpegHuffman, EverySizeGivesLibjpegsPixels) {
  for (const auto& [width, height] : {std::pair(1, 1),
                                      {1, 2},
                                      {2, 1},
                                      {7, 8},
                                      {8, 8},
                                      {9, 8},
                                      {15, 17},
                                      {16, 16},
                                      {17, 1},
                                      {1, 333},
                                      {1500, 3},
                                      {3, 1500},
                                      {640, 480}})
    for (const auto& [h, v] : {std::pair(1, 1), {2, 2}, {2, 1}}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height << " " << h << "x" << v);
      expect_whole(grainy_jpeg(width, height, 50, sampling(h, v)));
    }
}

TEST(JpegHuffman, GreyColoursAsTheyAreAndInkGiveLibjpegsPixels) {
  for (const int strength : {0, 20, 128}) {
    const auto as = [&](int channels, J_COLOR_SPACE space, const JpegSetup& setup = {}) {
      expect_whole(write_jpeg(grainy_pixels(53, 37, channels, strength), 53, 37, channels, space, setup));
    };
    as(1, JCS_GRAYSCALE);
    as(1, JCS_GRAYSCALE, optimise);
    as(3, JCS_RGB, [](auto& jpeg) { jpeg_set_colorspace(&jpeg, JCS_RGB); });
  }
  const std::vector<uint8_t> ink = grainy_pixels(53, 37, 4, 60);
  EXPECT_TRUE(agreed(write_jpeg(ink, 53, 37, 4, JCS_CMYK)).whole());
  EXPECT_TRUE(
      agreed(write_jpeg(ink, 53, 37, 4, JCS_CMYK, [](auto& jpeg) { jpeg_set_colorspace(&jpeg, JCS_YCCK); })).whole());
}

// Large numbers with codes of 16 bits: blocks that are black or white as a chess board, without quantization.
TEST(JpegHuffman, LongestCodesAndLargestNumbersGiveLibjpegsPixels) {
  std::vector<uint8_t> pixels(96 * 96 * 3);
  for (int y = 0; y < 96; ++y)
    for (int x = 0; x < 96; ++x)
      for (int c = 0; c < 3; ++c)
        pixels[static_cast<size_t>((y * 96 + x) * 3 + c)] =
            (x / (1 + y / 24) + y / (1 + x / 24) + c * (x / 48)) % 2 ? 255 : 0;
  for (const int q : {100, 90, 50})
    for (const JpegSetup& tables : {JpegSetup(optimise), JpegSetup(sampling(1, 1))})
      expect_whole(write_jpeg(pixels, 96, 96, 3, JCS_RGB, both(quality(q), tables)));
}

// Frequencies that halve from symbol to symbol give codes of every length.
TEST(JpegHuffman, SteepTablesGiveLibjpegsPixels) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::vector<uint8_t> pixels = smooth_pixels(160, 160, 3);
    std::mt19937 random(seed);
    for (uint8_t& p : pixels)
      if (random() % 97 < seed) p = static_cast<uint8_t>(p ^ (1u << (random() % 8)));
    expect_whole(write_jpeg(pixels, 160, 160, 3, JCS_RGB, both(quality(60 + static_cast<int>(seed)), optimise)));
  }
}

TEST(JpegHuffman, MixedScalesGiveLibjpegsPixels) {
  const std::string jpeg = grainy_jpeg(203, 149, 40, restarts(4));
  for (const int scale : {2, 4}) {
    const PlainJpeg plain = read_plain_jpeg(jpeg, {.scale = scale});
    Image image;
    ASSERT_TRUE(decode_jpeg(jpeg, {.min_width = 200 / scale, .min_height = 148 / scale}, &image).ok());
    EXPECT_EQ(image.scale, scale);
    ASSERT_EQ(image.bytes(), plain.pixels.size());
    EXPECT_TRUE(std::equal(plain.pixels.begin(), plain.pixels.end(), image.pixels.begin()));
  }
}

TEST(JpegHuffman, EveryTruncationEndsAsLibjpegsDoes) {
  for (const std::string& jpeg : kinds_to_damage())
    for (size_t size = 0; size < jpeg.size(); ++size) {
      SCOPED_TRACE(testing::Message() << size << " of " << jpeg.size());
      EXPECT_FALSE(agreed(std::string_view(jpeg).substr(0, size)).whole());
    }
}

TEST(JpegHuffman, TruncationsThatSomethingClosedEndAsLibjpegsDo) {
  for (const std::string& jpeg : kinds_to_damage())
    for (size_t size = scan_data(jpeg); size < jpeg.size() - 2; size += 3)
      for (const char* end : {"\xff\xd9", "\xff\xff\xff\xd9", "\xff\xd0\xff\xd9", "\xff\xfe\x00"}) {
        SCOPED_TRACE(testing::Message() << size << " of " << jpeg.size());
        agreed(jpeg.substr(0, size) + end);
      }
}

TEST(JpegHuffman, FlippedBitsOfTheDataEndAsLibjpegsDo) {
  std::mt19937 random(7);
  int whole = 0;
  for (const std::string& jpeg : kinds_to_damage())
    for (int i = 0; i < 600; ++i) {
      std::string bad = jpeg;
      const size_t begin = scan_data(jpeg);
      for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
        bad[begin + random() % (jpeg.size() - begin)] ^= static_cast<char>(1u << random() % 8);
      SCOPED_TRACE(i);
      whole += agreed(bad).whole();
    }
  EXPECT_GT(whole, 500) << "most flips change pixels and nothing else";
}

TEST(JpegHuffman, FlippedBitsOfHeadersAndTablesEndAsLibjpegsDo) {
  std::mt19937 random(8);
  for (const std::string& jpeg : kinds_to_damage())
    for (size_t at = 2; at < scan_data(jpeg); ++at) {
      std::string bad = jpeg;
      bad[at] ^= static_cast<char>(1u << random() % 8);
      SCOPED_TRACE(at);
      agreed(bad, {.max_pixels = 1 << 16});
    }
}

// Bytes of any value, where markers, stuffed bytes and restarts come as they like.
TEST(JpegHuffman, StrayMarkersEndAsLibjpegsDo) {
  std::mt19937 random(9);
  const std::vector<std::string> stray = {"\xff\xd0", "\xff\xd7",     "\xff\xd9", "\xff\xd8",
                                          "\xff\xc4", "\xff\xff\xff", "\xff",     std::string("\xff\0", 2),
                                          "\xff\x01", "\xff\xda",     "\xff\xe0"};
  for (const std::string& jpeg : kinds_to_damage())
    for (const std::string& marker : stray)
      for (int i = 0; i < 30; ++i) {
        std::string bad = jpeg;
        const size_t begin = scan_data(jpeg), at = begin + random() % (jpeg.size() - begin);
        i % 2 ? bad.insert(at, marker) : bad.replace(at, marker.size(), marker);
        SCOPED_TRACE(testing::Message() << static_cast<int>(static_cast<uint8_t>(marker.back())) << " at " << at);
        agreed(bad);
      }
}

// Places of restart markers.
std::vector<size_t> restart_markers(const std::string& jpeg) {
  std::vector<size_t> out;
  for (size_t i = scan_data(jpeg); i + 1 < jpeg.size(); ++i)
    if (jpeg[i] == '\xff' && (jpeg[i + 1] & 0xf8) == 0xd0) out.push_back(i);
  return out;
}

TEST(JpegHuffman, RestartsOutOfOrderEndAsLibjpegsDo) {
  for (const std::string& jpeg : kinds_to_damage()) {
    const std::vector<size_t> markers = restart_markers(jpeg);
    for (const size_t at : markers) {
      for (int number = 0; number < 8; ++number) {
        std::string bad = jpeg;
        bad[at + 1] = static_cast<char>(0xd0 + number);
        SCOPED_TRACE(testing::Message() << "RST" << number << " at " << at);
        agreed(bad);
      }
      std::string without = jpeg;
      agreed(without.erase(at, 2));
    }
    // A segment that is not there, and one that is there twice.
    for (size_t i = 0; i + 1 < markers.size(); ++i) {
      std::string bad = jpeg;
      agreed(bad.erase(markers[i], markers[i + 1] - markers[i]));
      bad = jpeg;
      agreed(bad.insert(markers[i], jpeg.substr(markers[i], markers[i + 1] - markers[i])));
    }
  }
}

// More data between two restarts than a buffer holds, and none at all.
TEST(JpegHuffman, LongAndEmptySegmentsEndAsLibjpegsDo) {
  std::string jpeg = grainy_jpeg(64, 64, 30, restarts(2));
  const std::vector<size_t> markers = restart_markers(jpeg);
  ASSERT_GE(markers.size(), 4u);
  std::mt19937 random(3);
  for (const size_t length : {100u, 5000u, 16384u, 40000u}) {
    std::string filling;
    while (filling.size() < length) filling += static_cast<char>(random() % 255);
    std::string bad = jpeg;
    agreed(bad.insert(markers[2], filling));
  }
  std::string empty = jpeg;
  agreed(empty.erase(markers[1] + 2, markers[2] - markers[1] - 2));
}

TEST(JpegHuffman, BytesBehindTheEndAreLeftAlone) {
  for (const std::string& jpeg : kinds_to_damage()) {
    EXPECT_TRUE(agreed(jpeg + "more").whole());
    EXPECT_TRUE(agreed(jpeg + jpeg).whole());
  }
}

// One decoder for images of all kinds, a damaged one between two good ones.
TEST(JpegHuffman, NothingOfOneImageIsLeftForTheNext) {
  std::vector<std::string> kinds = kinds_to_damage();
  for (const std::string& jpeg : kinds_to_damage()) kinds.push_back(jpeg.substr(0, jpeg.size() * 2 / 3));
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const size_t which = random() % kinds.size();
    EXPECT_EQ(agreed(kinds[which]).whole(), which < kinds.size() / 2);
  }
}

}  // namespace
}  // namespace tenon
