#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <set>

#include "data/image/image.h"
#include "tenon/element_maps.h"
#include "tenon/example.h"
#include "tenon/image_maps.h"
#include "unit/data/input_testing.h"

namespace tenon {
namespace {

std::vector<uint8_t> picture(int height, int width, int channels, int seed) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>(128 + 100 * std::sin(0.05 * (x + seed) * (c + 1)) * std::cos(0.07 * y)));
  return pixels;
}

struct Stored {
  std::string format;
  int height, width, channels;
  int64_t label = 1;
  std::string encoded = {};  // instead of the picture
};

std::string encode(const Stored& s, int seed) {
  const std::vector<uint8_t> pixels = picture(s.height, s.width, s.channels, seed);
  if (!s.encoded.empty()) return s.encoded;
  if (s.format == "JPEG") return encode_jpeg(pixels.data(), s.width, s.height, s.channels).take();
  if (s.format == "PNG") return encode_png(pixels.data(), s.width, s.height, s.channels).take();
  return {pixels.begin(), pixels.end()};
}

void write_images(const TemporaryDirectory& directory, const std::vector<Stored>& images,
                  const InputOptions& names = {}) {
  auto writer = RecordWriter::create(shard_path(directory, "train", 0, 1)).take();
  ExampleBuilder builder;
  for (size_t i = 0; i < images.size(); ++i) {
    const Stored& s = images[i];
    builder.add_bytes(names.image_feature, encode(s, static_cast<int>(i)));
    builder.add_bytes(names.format_feature, s.format);
    builder.add_int64("image/height", s.height);
    builder.add_int64("image/width", s.width);
    builder.add_int64("image/channels", s.channels);
    builder.add_int64(names.label_feature, s.label + names.label_offset - 1);
    check(writer.write(builder.finish()));
  }
  check(writer.close());
}

InputOptions images_in(const TemporaryDirectory& directory, int64_t batch, int side, int channels = 3) {
  InputOptions options = numbers_in(directory);
  options.batch_size = batch;
  options.height = options.width = side;
  options.channels = channels;
  options.num_classes = 5;
  return options;
}

struct Images {
  std::vector<std::vector<float>> images;  // batches
  std::vector<int32_t> labels;
  std::vector<PipelineState> states;
  Status status;
};

Images read_images(const InputOptions& options, int threads = 2, PipelineState from = {}, size_t limit = 100) {
  const Dataset data = Dataset::images(options).take();
  ThreadPool pool(threads);
  Ring ring(data, 3);
  auto pipeline = InputPipeline::create(data, pool, ring.slots, from).take();
  Images out;
  while (out.images.size() < limit) {
    const Result<Batch> batch = pipeline->next();
    out.status = batch.status();
    if (!batch.ok() || batch->end()) break;
    const size_t size = static_cast<size_t>(data.specs()[0].type.bytes() * options.batch_size) / sizeof(float);
    out.images.emplace_back(ring.get<float>(batch->slot, 0), ring.get<float>(batch->slot, 0) + size);
    out.labels.insert(out.labels.end(), ring.get<int32_t>(batch->slot, 1),
                      ring.get<int32_t>(batch->slot, 1) + batch->rows);
    out.states.push_back(pipeline->state_after(*batch));
    pipeline->release(batch->slot);
  }
  return out;
}

TEST(InputImages, RawPixelsOfTheRightSizeAreOnlyNormalised) {
  TemporaryDirectory directory;
  write_images(directory, {{"RAW", 28, 28, 1, 3}, {"raw", 28, 28, 1, 5}});
  for (PixelRange range : {PixelRange::kMinusOneToOne, PixelRange::kZeroToOne}) {
    InputOptions options = images_in(directory, 2, 28, 1);
    options.range = range;
    const Images read = read_images(options);
    EXPECT_EQ(read.labels, (std::vector<int32_t>{2, 4})) << "the record counts classes from 1";
    for (int i = 0; i < 2; ++i) {
      const std::vector<uint8_t> pixels = picture(28, 28, 1, i);
      for (size_t p = 0; p < pixels.size(); ++p) {
        const double x = pixels[p] / 255.0;
        ASSERT_NEAR(read.images[0][static_cast<size_t>(i) * 784 + p],
                    range == PixelRange::kZeroToOne ? x : (x - 0.5) * 2, 1e-6);
      }
    }
  }
}

// The same work asked for by verbs, in the order of the files.
std::vector<std::vector<float>> read_chain(const TemporaryDirectory& directory, int64_t batch,
                                           const std::vector<ElementMap>& maps) {
  Dataset data = Dataset::from_records({shard_path(directory, "train", 0, 1)})
                     .map(parse_example({{"data", {.dtype = DType::kU8, .name = "image/encoded"}},
                                         {"label", {.dtype = DType::kI32, .name = "image/class/label", .offset = 1}}}));
  for (const ElementMap& map : maps) data = data.map(map);
  std::vector<std::vector<float>> out;
  for (const Element& e : data.batch(batch)) out.push_back(e.at("image").to<float>());
  return out;
}

TEST(InputImages, AChainOfVerbsGivesTheBytesOfTheOptions) {
  TemporaryDirectory directory;
  write_images(directory, {{"JPEG", 61, 83, 3}, {"PNG", 20, 31, 3}, {"JPEG", 12, 9, 3}, {"PNG", 40, 40, 1}});
  for (const ResizeKind resize : {ResizeKind::kLegacy, ResizeKind::kHalfPixel, ResizeKind::kAntialias})
    for (const int side : {17, 40, 96}) {  // smaller, the same, enlarged
      InputOptions options = images_in(directory, 2, side);
      options.resize = resize;
      const ReadImageOptions read{.height = side, .width = side, .resize = resize};
      EXPECT_TRUE(read_images(options).images == read_chain(directory, 2, {read_image(read), rescale(2 / 255., -1)}))
          << static_cast<int>(resize) << " to " << side;
      options.training = true;
      options.shuffle_buffer = 0;
      options.augmentation = Augmentation::none();
      ReadImageOptions fast = read;
      fast.fast = true;
      EXPECT_TRUE(read_images(options).images == read_chain(directory, 2, {read_image(fast), rescale(2 / 255., -1)}))
          << static_cast<int>(resize) << " to " << side << ", training";
    }
}

// What counts is what was done: pixels that stand in a record need no decoding.
TEST(InputImages, WorkIsCountedByWhatItIs) {
  TemporaryDirectory jpegs, raw;
  write_images(jpegs, {{"JPEG", 61, 83, 3}, {"JPEG", 20, 31, 3}});
  write_images(raw, {{"RAW", 30, 30, 3}, {"RAW", 30, 30, 3}});
  const auto work_of = [](const TemporaryDirectory& directory, bool verbs) {
    const InputWork work;
    for (int i = 0; i < 20; ++i)
      verbs ? (void)read_chain(directory, 2, {read_image({.height = 64, .width = 64})})
            : (void)read_images(images_in(directory, 2, 64));
    return work.seconds();
  };
  const InputWork all;
  const std::clock_t begun = std::clock();
  for (const bool verbs : {false, true}) {
    const InputWork::Seconds work = work_of(jpegs, verbs);
    EXPECT_GT(work.read, 0) << verbs;
    EXPECT_GT(work.decode, 0) << verbs;
    EXPECT_GT(work.change, 0) << verbs;
  }
  const InputWork::Seconds still = work_of(raw, false), most = all.seconds();
  EXPECT_GT(still.change, 0);
  EXPECT_EQ(still.decode, 0);
  EXPECT_LE(most.read + most.decode + most.change, static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC + 0.02)
      << "no work counts twice";
  EXPECT_GT(most.read, still.read);
}

TEST(InputImages, EvaluationResizesTheWholeImageWithoutRandomness) {
  TemporaryDirectory directory;
  write_images(directory, {{"PNG", 30, 40, 3}, {"PNG", 30, 40, 3}});
  InputOptions options = images_in(directory, 1, 20);
  options.seed = 1;
  const Images first = read_images(options);
  options.seed = 2;
  EXPECT_EQ(first.images, read_images(options).images);
  const std::vector<uint8_t> pixels = picture(30, 40, 3, 0);
  // Row 4 reads row 6 exactly (30 / 20 = 1.5), column 7 reads column 14 (40 / 20 = 2).
  for (size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(first.images[0][(4 * 20 + 7) * 3 + c], pixels[(6 * 40 + 14) * 3 + c] / 127.5 - 1, 1e-5);
}

TEST(InputImages, AJpegComesCloseToItsPicture) {
  TemporaryDirectory directory;
  write_images(directory, {{"JPEG", 60, 80, 3}, {"PNG", 60, 80, 3}});
  InputOptions options = images_in(directory, 2, 32);
  options.range = PixelRange::kZeroToOne;
  const Images jpeg = read_images(options);
  const std::vector<uint8_t> pixels = picture(60, 80, 3, 0);
  double worst = 0;
  // Rows 8, 16 and columns 2, 4, .. of 32 read rows 15, 30 and columns 5, 10, .. exactly.
  for (size_t row : {8, 16})
    for (size_t column = 0; column < 32; column += 2)
      for (size_t c = 0; c < 3; ++c)
        worst = std::max(worst, std::abs(jpeg.images[0][(row * 32 + column) * 3 + c] -
                                         pixels[(row * 15 / 8 * 80 + column * 5 / 2) * 3 + c] / 255.0));
  EXPECT_LT(worst, 0.06);
}

TEST(InputImages, GrayAndColourConvertIntoEachOther) {
  TemporaryDirectory directory;
  write_images(directory, {{"PNG", 8, 8, 1}});
  InputOptions options = images_in(directory, 1, 8, 3);
  const std::vector<float> colour = read_images(options).images[0];
  options.channels = 1;
  const std::vector<float> gray = read_images(options).images[0];
  for (size_t i = 0; i < 64; ++i)
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(colour[i * 3 + c], gray[i]);
}

TEST(InputImages, TrainingCropsAndFlipsButKeepsEachPixel) {
  TemporaryDirectory directory;
  write_images(directory, {{"PNG", 20, 20, 3}});
  InputOptions options = images_in(directory, 1, 16);
  options.training = options.repeat = true;
  options.range = PixelRange::kZeroToOne;
  options.augmentation = {.crop_pad = 4, .flip = true, .brightness = 0, .contrast_lower = 1, .contrast_upper = 1};
  const std::vector<uint8_t> pixels = picture(20, 20, 3, 0);
  std::set<int> seen;
  for (const std::vector<float>& image : read_images(options, 2, {}, 400).images) {
    int found = -1;
    for (int place = 0; place < 50 && found < 0; ++place) {
      const int top = place / 10, left = place / 2 % 5;
      bool same = true;
      for (int y = 0; y < 16 && same; ++y)
        for (int x = 0; x < 48 && same; ++x) {
          const int column = place % 2 ? 15 - x / 3 : x / 3;
          same = std::abs(image[static_cast<size_t>(y * 48 + x)] -
                          pixels[static_cast<size_t>(((top + y) * 20 + left + column) * 3 + x % 3)] / 255.0) < 1e-5;
        }
      if (same) found = place;
    }
    ASSERT_GE(found, 0) << "no crop of the image";
    seen.insert(found);
  }
  EXPECT_EQ(seen.size(), 50u) << "25 places, mirrored or not";
}

TEST(InputImages, TrainingChangesBrightnessAndContrastWithinTheirBounds) {
  TemporaryDirectory directory;
  write_images(directory, {{"RAW", 2, 1, 1, 1, std::string("\x33\x99", 2)}});  // 0.2 and 0.6
  InputOptions options = images_in(directory, 1, 2, 1);
  options.width = 1;
  options.training = options.repeat = true;
  options.range = PixelRange::kZeroToOne;
  options.augmentation.crop_pad = 0;
  double darkest = 1, brightest = 0, least = 9, most = 0;
  for (const std::vector<float>& image : read_images(options, 2, {}, 500).images) {
    const double mean = (image[0] + image[1]) / 2.0 - 0.4, contrast = (image[1] - image[0]) / 0.4;
    darkest = std::min(darkest, mean), brightest = std::max(brightest, mean);
    least = std::min(least, contrast), most = std::max(most, contrast);
  }
  EXPECT_NEAR(darkest, -63 / 255.0, 0.01);
  EXPECT_NEAR(brightest, 63 / 255.0, 0.01);
  EXPECT_GT(darkest, -63 / 255.0 - 1e-5);
  EXPECT_LT(brightest, 63 / 255.0 + 1e-5);
  EXPECT_NEAR(least, 0.2, 0.02);
  EXPECT_NEAR(most, 1.8, 0.02);
  EXPECT_GT(least, 0.2 - 1e-5);
  EXPECT_LT(most, 1.8 + 1e-5);
}

TEST(InputImages, AnAugmentedJpegRunResumesBitExactlyAfterEveryBatch) {
  TemporaryDirectory directory;
  std::vector<Stored> images;
  for (int i = 0; i < 13; ++i) images.push_back({"JPEG", 40 + i, 60 - i, 3, i % 5 + 1});
  write_images(directory, images);
  InputOptions options = images_in(directory, 4, 24);
  options.training = options.repeat = true;
  options.seed = 42;
  const Images whole = read_images(options, 1, {}, 20);
  for (int threads : {1, 2, 4}) {
    EXPECT_EQ(read_images(options, threads, {}, 20).images, whole.images) << threads;
    for (size_t at = 0; at < 18; ++at) {
      const Images rest = read_images(options, threads, whole.states[at], 2);
      EXPECT_EQ(rest.images[0], whole.images[at + 1]) << threads << " threads after batch " << at;
      EXPECT_EQ(rest.images[1], whole.images[at + 2]) << threads << " threads after batch " << at;
    }
  }
}

TEST(InputImages, TransposePutsTheBatchLast) {
  TemporaryDirectory directory;
  write_images(directory, {{"PNG", 6, 6, 3}, {"PNG", 6, 6, 3}, {"PNG", 6, 6, 3}});
  InputOptions options = images_in(directory, 3, 6);
  const std::vector<float> rows = read_images(options).images[0];
  options.transpose = true;
  EXPECT_EQ(Dataset::images(options)->specs()[0].batch_type(3).str(), "f32[6,6,3,3]");
  const std::vector<float> columns = read_images(options).images[0];
  for (size_t e = 0; e < 108; ++e)
    for (size_t b = 0; b < 3; ++b) ASSERT_EQ(columns[e * 3 + b], rows[b * 108 + e]);
}

TEST(InputImages, ADecodeAtASmallerScaleGivesTheAveragesOfBlocks) {
  TemporaryDirectory directory;
  write_images(directory, {{"JPEG", 301, 403, 3}});
  InputOptions options = images_in(directory, 1, 64);
  options.range = PixelRange::kZeroToOne;
  options.scale_decode = true;
  const std::vector<float> out = read_images(options).images[0];
  // 301 x 403 at 1/4 is 76 x 101; a pixel there stands for 4 x 4 whose middle is 1.5 pixels further on.
  double worst = 0;
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x)
      for (int c = 0; c < 3; ++c) {
        const double py = y * 76 / 64.0 * 4 + 1.5, px = x * 101 / 64.0 * 4 + 1.5;
        const double expected = (128 + 100 * std::sin(0.05 * px * (c + 1)) * std::cos(0.07 * py)) / 255;
        worst = std::max(worst, std::abs(out[static_cast<size_t>((y * 64 + x) * 3 + c)] - expected));
      }
  EXPECT_LT(worst, 0.06);
}

TEST(InputImages, ACropOfASmallerScaleIsThatOfTheWholeImage) {
  TemporaryDirectory directory;
  write_images(directory, {{"JPEG", 301, 403, 3}});
  InputOptions options = images_in(directory, 1, 64);
  options.scale_decode = options.training = options.repeat = true;
  options.augmentation = {.crop_pad = 8, .flip = false, .brightness = 0, .contrast_lower = 1, .contrast_upper = 1};
  InputOptions whole = images_in(directory, 1, 72);
  whole.scale_decode = true;
  const std::vector<float> grid = read_images(whole).images[0];
  for (const std::vector<float>& crop : read_images(options, 2, {}, 30).images) {
    double best = 9;
    for (size_t top = 0; top <= 8; ++top)
      for (size_t left = 0; left <= 8; ++left) {
        double sum = 0;
        for (size_t y = 0; y < 64; ++y)
          for (size_t x = 0; x < 192; ++x) sum += std::abs(crop[y * 192 + x] - grid[((top + y) * 72 + left) * 3 + x]);
        best = std::min(best, sum / (64 * 192));
      }
    EXPECT_LT(best, 0.01) << "training decodes with another DCT, but the same place";
  }
}

// Errors

std::string images_error(const std::vector<Stored>& images, bool skip = false) {
  TemporaryDirectory directory;
  write_images(directory, images);
  InputOptions options = images_in(directory, 1, 8);
  options.skip_corrupt = skip;
  const std::string message = read_images(options).status.message();
  const std::string place = directory / "train-00000-of-00001" + ": record at offset 0: ";
  if (message.empty()) return message;
  EXPECT_EQ(message.substr(0, place.size()), place);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message.substr(std::min(place.size(), message.size()));
}

TEST(InputImages, ALabelOutsideTheClassesIsAnErrorEvenWhenDamageIsSkipped) {
  for (bool skip : {false, true})
    for (int64_t label : {int64_t{0}, int64_t{6}, int64_t{-1}, int64_t{1} << 40})
      EXPECT_EQ(
          images_error({{"PNG", 8, 8, 3, label}}, skip),
          "image/class/label: expected 1 to 5, the number of classes (--num_classes), found " + std::to_string(label));
}

TEST(InputImages, WhatIsNoImageIsAnErrorThatNamesTheRecord) {
  EXPECT_NE(images_error({{"JPEG", 8, 8, 3, 1, "this is no picture"}}), "");
  EXPECT_NE(images_error({{"JPEG", 8, 8, 3, 1, "\xff\xd8\xff"}}), "");
  EXPECT_EQ(images_error({{"RAW", 8, 8, 3, 1, "short"}}), "RAW image: expected 8 x 8 x 3 bytes, found 5");
  EXPECT_EQ(images_error({{"JPEG", 8, 8, 3, 1, "this is no picture"}}, true), "");
}

// 53 bytes whose sides are the largest that a PNG can name: no arithmetic on them overflows.
TEST(InputImages, SidesThatNoImageHasAreAnErrorOrCounted) {
  std::string png("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0", 29);
  const uint32_t crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17));
  for (int shift = 24; shift >= 0; shift -= 8) png += static_cast<char>(crc >> shift);
  png += std::string("\0\0\0\x08IDAT12345678abcd", 20);
  const Stored huge{"PNG", 8, 8, 3, 1, png};
  EXPECT_EQ(images_error({huge}), "PNG: expected at most 1000000 pixels a side, found 2147483647x2147483647");
  EXPECT_EQ(images_error({huge}, true), "");
}

TEST(InputImages, ATruncatedJpegIsAnErrorOrCounted) {
  const std::vector<uint8_t> pixels = picture(40, 40, 3, 0);
  const std::string jpeg = encode_jpeg(pixels.data(), 40, 40, 3).take();
  const Stored cut{"JPEG", 40, 40, 3, 1, jpeg.substr(0, jpeg.size() / 2)};
  EXPECT_NE(images_error({cut}), "");
  TemporaryDirectory directory;
  write_images(directory, {{"JPEG", 40, 40, 3, 1}, cut, {"JPEG", 40, 40, 3, 2}});
  InputOptions options = images_in(directory, 3, 8);
  options.skip_corrupt = true;
  EXPECT_EQ(read_images(options).labels, (std::vector<int32_t>{0, 1}));
}

TEST(InputImages, BadSizesAreRefused) {
  TemporaryDirectory directory;
  write_images(directory, {{"PNG", 8, 8, 3}});
  InputOptions options = images_in(directory, 1, 8);
  options.channels = 2;
  EXPECT_EQ(Dataset::images(options).status().message(), "image channels: expected 1 or 3, found 2");
  options.channels = 3;
  options.height = 0;
  EXPECT_EQ(Dataset::images(options).status().message(), "image size: expected 1 to 16384 pixels a side, found 0 x 8");
  options.height = 8;
  options.augmentation.contrast_lower = 3;
  EXPECT_NE(Dataset::images(options).status().message(), "");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();  // gave pixels of NaN
  options.augmentation = {.brightness = kInfinity};
  EXPECT_EQ(Dataset::images(options).status().message(),
            "brightness: expected a finite number of at least 0, found inf");
  options.augmentation = {.contrast_upper = kInfinity};
  EXPECT_EQ(Dataset::images(options).status().message(),
            "contrast: expected 0 <= lower <= upper, both finite, found 0.2 and inf");
}

TEST(InputImages, FeaturesMayHaveOtherNames) {
  TemporaryDirectory ours, others;
  const std::vector<Stored> images = {{"JPEG", 20, 30, 3, 1}, {"PNG", 16, 16, 3, 5}, {"RAW", 8, 9, 3, 2}};
  InputOptions names;
  names.image_feature = "png", names.format_feature = "kind", names.label_feature = "class";
  names.label_offset = 0;
  write_images(ours, images);
  write_images(others, images, names);
  InputOptions options = images_in(others, 2, 12);
  options.image_feature = "png", options.format_feature = "kind", options.label_feature = "class";
  options.label_offset = 0;
  const Images expected = read_images(images_in(ours, 2, 12)), found = read_images(options);
  EXPECT_EQ(found.images, expected.images);
  EXPECT_EQ(found.labels, (std::vector<int32_t>{0, 4, 1}));
  options.label_offset = 3;
  EXPECT_EQ(read_images(options).status.message(), shard_path(others, "train", 0, 1) +
                                                       ": record at offset 0: class: expected 3 to 7 for 5 classes "
                                                       "(--num_classes, --label_offset), found 0");
}

// What read_image and rescale make of the same bytes, which tests of maps hold to others' numbers.
std::vector<float> read_by_maps(const std::string& bytes, const ReadImageOptions& o) {
  const ElementMap maps[] = {read_image(o), rescale(1 / 127.5, -1)};
  Element element = {{"data", text_array(bytes)}};
  for (const ElementMap& map : maps) element = map.op()->apply(std::move(element), Sample());
  return element.at("image").to<float>();
}

TEST(InputImages, OptionsReadAsTheMapsOfTheSameNamesDo) {
  // Gray and alpha of 16 bits, by 4001, less and less opaque.
  const auto png = [] {
    std::string rows;
    for (int y = 0; y < 4; ++y) {
      rows += '\0';
      for (int x = 0; x < 4; ++x)
        for (const int value : {4001 * (4 * y + x), 65535 - 4001 * (4 * y + x)})
          rows += {static_cast<char>(value >> 8), static_cast<char>(value)};
    }
    std::string packed(compressBound(rows.size()), '\0');
    uLongf size = packed.size();
    EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                       rows.size()),
              Z_OK);
    const auto chunk = [](std::string name, const std::string& data) {
      std::string out, body = std::move(name) + data;
      const auto put = [&](uint32_t n) {
        for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift);
      };
      put(static_cast<uint32_t>(data.size()));
      out += body;
      put(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
      return out;
    };
    return std::string("\x89PNG\r\n\x1a\n", 8) + chunk("IHDR", std::string("\0\0\0\4\0\0\0\4\x10\4\0\0\0", 13)) +
           chunk("IDAT", packed.substr(0, size)) + chunk("IEND", "");
  }();
  TemporaryDirectory directory;
  write_images(directory, {{"PNG", 4, 4, 2, 1, png}});
  std::set<std::vector<float>> seen;
  for (const ResizeKind resize : {ResizeKind::kLegacy, ResizeKind::kHalfPixel, ResizeKind::kAntialias})
    for (const Alpha alpha : {Alpha::kDrop, Alpha::kBlend, Alpha::kKeep})
      for (const bool deep : {false, true}) {
        InputOptions options = images_in(directory, 1, 3, alpha == Alpha::kKeep ? 4 : 3);
        options.resize = resize, options.alpha = alpha, options.background = {10, 200, 30}, options.deep_pixels = deep;
        const Images found = read_images(options);
        ASSERT_TRUE(found.status.ok()) << found.status.message();
        const std::vector<float> expected = read_by_maps(png, {.height = 3,
                                                               .width = 3,
                                                               .resize = resize,
                                                               .channels = options.channels,
                                                               .alpha = alpha,
                                                               .background = options.background,
                                                               .deep_pixels = deep});
        ASSERT_EQ(found.images[0].size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found.images[0][i], expected[i], 1e-5);
        seen.insert(expected);
      }
  EXPECT_EQ(seen.size(), 18u) << "each option does something";
}

// ---- decoded images that are kept ----
std::vector<Stored> a_few_images() {
  return {{"JPEG", 60, 80, 3, 1},
          {"PNG", 33, 20, 3, 2},
          {"RAW", 9, 8, 3, 3},
          {"JPEG", 40, 90, 3, 4},
          {"JPEG", 120, 100, 3, 5}};
}

InputOptions caching(const TemporaryDirectory& directory, const std::string& file = {}) {
  InputOptions options = images_in(directory, 2, 24);
  options.cache = {.on = true, .file = file};
  return options;
}

TEST(ImageCache, BatchesAreThoseOfImagesThatAreDecodedAnew) {
  TemporaryDirectory directory;
  write_images(directory, a_few_images());
  for (const bool training : {false, true})
    for (const bool scale_decode : {false, true})
      for (const std::string& file : {std::string(), directory / "cache"}) {
        InputOptions options = caching(directory, file);
        options.training = options.repeat = training;
        options.scale_decode = scale_decode;
        options.resize = scale_decode ? ResizeKind::kAntialias : ResizeKind::kLegacy;
        const size_t limit = training ? 12 : 3;  // five epochs
        const Images kept = read_images(options, 2, {}, limit);
        EXPECT_TRUE(kept.status.ok()) << kept.status.message();
        options.cache = {};
        const Images plain = read_images(options, 2, {}, limit);
        EXPECT_EQ(kept.labels, plain.labels);
        EXPECT_TRUE(kept.images == plain.images) << training << scale_decode << file;
        std::remove((directory / "cache").c_str());
      }
}

TEST(ImageCache, WhatIsKeptIsBoundedAndTheRestIsDecodedAnew) {
  TemporaryDirectory directory;
  write_images(directory, a_few_images());
  InputOptions options = caching(directory);
  options.training = options.repeat = true;
  const Images plain = [&] {
    InputOptions without = options;
    without.cache = {};
    return read_images(without, 1, {}, 9);
  }();
  options.cache.max_bytes = 60 * 80 * 3 + 33 * 20 * 3;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(read_images(options, 2, {}, 9).images == plain.images);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("images are kept, there is no room for more; the others are decoded anew each time\n"),
            std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(ImageCache, AFileAppearsWhenAllImagesAreInItAndServesLaterRuns) {
  TemporaryDirectory directory;
  write_images(directory, a_few_images());
  const std::string file = directory / "cache";
  const size_t before = directory.entries();
  InputOptions part = caching(directory, file);
  part.batch_size = 1;
  (void)read_images(part, 1, {}, 1);  // and three ahead
  EXPECT_EQ(directory.entries(), before) << "a part of an epoch leaves nothing";
  const Images first = read_images(caching(directory, file));
  ASSERT_TRUE(directory.has("cache"));
  EXPECT_EQ(directory.entries(), before + 1);
  const std::string bytes = directory.read("cache");
  // Pixels of all but the RAW one, which needs no decoding; an index of 40 bytes each, and 48.
  EXPECT_EQ(bytes.size(), (60u * 80 + 33 * 20 + 40 * 90 + 120 * 100) * 3 + 4 * 40 + 48);
  EXPECT_TRUE(read_images(caching(directory, file)).images == first.images);
  EXPECT_TRUE(directory.read("cache") == bytes);
}

TEST(ImageCache, AFileOfOtherDataOrOptionsIsRefused) {
  TemporaryDirectory directory, other;
  write_images(directory, a_few_images());
  write_images(other, {{"JPEG", 50, 50, 3, 1}, {"JPEG", 50, 50, 3, 2}});
  const std::string file = directory / "cache";
  (void)read_images(caching(directory, file));
  const auto error = [](const InputOptions& options) { return Dataset::images(options).status().message(); };
  EXPECT_EQ(error(caching(other, file)),
            "cache " + file + ": holds the images of other data; remove it, or name another file");
  InputOptions grey = caching(directory, file);
  grey.channels = 1;
  EXPECT_EQ(error(grey),
            "cache " + file + ": holds images that were decoded with other options; remove it, or name another file");
  EXPECT_EQ(error(caching(directory, directory.write("text", "no cache"))),
            "cache " + (directory / "text") + ": is no cache of images; remove it, or name another file");
  EXPECT_NE(error(caching(directory, directory / "none/cache")).find("none/cache: No such file or directory"),
            std::string::npos);
}

TEST(ImageCache, ADamagedFileIsNamedOrItsImagesAreDecodedAnew) {
  TemporaryDirectory directory;
  write_images(directory, a_few_images());
  const std::string file = directory / "cache";
  const Images first = read_images(caching(directory, file));
  const std::string good = directory.read("cache");
  for (size_t at = 0; at < good.size(); at += at < good.size() - 300 ? 4999 : 1) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    directory.write("cache", bad);
    const Result<Dataset> data = Dataset::images(caching(directory, file));
    if (!data.ok()) {
      EXPECT_NE(data.status().message().find("cache " + file + ": "), std::string::npos) << data.status().message();
      EXPECT_GE(at, good.size() - 4 * 40 - 48) << "only in the index and the end";
      continue;
    }
    EXPECT_TRUE(read_images(caching(directory, file)).images == first.images) << at;
  }
  for (size_t size = 0; size < good.size(); size += 4999) {
    directory.write("cache", good.substr(0, size));
    EXPECT_NE(Dataset::images(caching(directory, file)).status().message().find("remove it"), std::string::npos);
  }
}

}  // namespace
}  // namespace tenon
