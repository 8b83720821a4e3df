// Images per second of the input pipeline: JPEG records of 500x375, resized to 234, cropped to 224, flipped, brightness,
// contrast, batches of 64; beside libjpeg's plain decoding of the same files on one thread, in the same run.
//
//   input_bench [SECONDS per measurement, 3] [DIRECTORY of train-* records instead of made-up photos]
#include <cmath>
#include <cstdio>  // before jpeglib.h
#include <cstdlib>
#include <ctime>

#include <jpeglib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/example.h"
#include "tenon/input.h"
#include "tenon/tfrecord.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWidth = 500, kHeight = 375, kPhotos = 128;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Noise whose amplitude falls with its frequency, as in photos.
std::vector<uint8_t> photo(uint64_t seed) {
  std::vector<float> values(kWidth * kHeight * 3, 110.0f);
  for (int octave = 0; octave < 7; ++octave) {
    const int cell = 128 >> octave, columns = kWidth / cell + 2, rows = kHeight / cell + 2;
    tenon::SampleRandom random(seed, 0, static_cast<uint64_t>(octave));
    std::vector<float> grid(static_cast<size_t>(columns * rows * 3));
    const float amplitude = 70.0f * std::pow(0.84f, static_cast<float>(octave));
    for (float& g : grid) g = random.uniform(-amplitude, amplitude);
    for (int i = 0; i < columns * rows; ++i)  // colour changes less than brightness
      for (int c = 1; c < 3; ++c)
        grid[static_cast<size_t>(i * 3 + c)] =
            0.8f * grid[static_cast<size_t>(i * 3)] + 0.2f * grid[static_cast<size_t>(i * 3 + c)];
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x)
        for (int c = 0; c < 3; ++c) {
          const float fx = static_cast<float>(x % cell) / static_cast<float>(cell),
                      fy = static_cast<float>(y % cell) / static_cast<float>(cell);
          const float* g = &grid[static_cast<size_t>((y / cell * columns + x / cell) * 3 + c)];
          const float top = g[0] + (g[3] - g[0]) * fx,
                      bottom = g[columns * 3] + (g[columns * 3 + 3] - g[columns * 3]) * fx;
          values[static_cast<size_t>((y * kWidth + x) * 3 + c)] += top + (bottom - top) * fy;
        }
  }
  std::vector<uint8_t> pixels;
  for (float v : values) pixels.push_back(static_cast<uint8_t>(std::clamp(v, 0.0f, 255.0f)));
  return pixels;
}

std::string to_jpeg(std::vector<uint8_t> pixels) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = kWidth, jpeg.image_height = kHeight, jpeg.input_components = 3, jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = &pixels[size_t{jpeg.next_scanline} * kWidth * 3];
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string out(reinterpret_cast<char*>(memory), bytes);
  jpeg_destroy_compress(&jpeg);
  free(memory);
  return out;
}

void decode(const std::string& bytes, std::vector<uint8_t>& pixels) {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg_start_decompress(&jpeg);
  pixels.resize(size_t{jpeg.output_width} * jpeg.output_height * 3);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = &pixels[size_t{jpeg.output_scanline} * jpeg.output_width * 3];
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_destroy_decompress(&jpeg);
}

std::vector<std::string> write_photos(const std::string& directory) {
  auto writer = tenon::RecordWriter::create(directory + "/train-00000-of-00001").take();
  tenon::ExampleBuilder builder;
  std::vector<std::string> files;
  for (int i = 0; i < kPhotos; ++i) {
    files.push_back(to_jpeg(photo(static_cast<uint64_t>(i))));
    builder.add_bytes("image/encoded", files.back());
    builder.add_bytes("image/format", "JPEG");
    builder.add_int64("image/class/label", i % 5 + 1);
    tenon::check(writer.write(builder.finish()));
  }
  tenon::check(writer.close());
  return files;
}

// Images per second of the clock and, for busy machines, per second of one core's work.
struct Rate {
  double wall, core;
};

template <class Step>
Rate measure(double seconds, Step step) {
  int64_t images = 0;
  const auto begin = Clock::now();
  const std::clock_t work = std::clock();
  while (seconds_since(begin) < seconds) images += step();
  const double count = static_cast<double>(images);
  return {count / seconds_since(begin), count * CLOCKS_PER_SEC / static_cast<double>(std::clock() - work)};
}

Rate decode_rate(const std::vector<std::string>& files, double seconds) {
  std::vector<uint8_t> pixels;
  size_t next = 0;
  return measure(seconds, [&] {
    decode(files[next++ % files.size()], pixels);
    return 1;
  });
}

Rate pipeline_rate(const tenon::Dataset& data, int threads, double seconds) {
  auto pool = tenon::make_thread_pool(threads);
  std::vector<std::vector<std::vector<char>>> memory(4);
  std::vector<tenon::BatchSlot> slots(4);
  for (size_t i = 0; i < slots.size(); ++i)
    for (const tenon::FeatureSpec& spec : data.specs()) {
      memory[i].emplace_back(static_cast<size_t>(spec.batch_type(data.options().batch_size).bytes()));
      slots[i].features.push_back(memory[i].back().data());
    }
  auto pipeline = tenon::InputPipeline::create(data, *pool, slots).take();
  const auto take = [&] {
    const tenon::Batch batch = pipeline->next().take();
    pipeline->release(batch.slot);
    return batch.rows;
  };
  for (int i = 0; i < 6; ++i) take();  // every slot once
  return measure(seconds, take);
}

}  // namespace

int main(int argc, char** argv) try {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const std::string made = (std::filesystem::temp_directory_path() / "tenon-input-bench").string();
  std::filesystem::create_directories(made);
  const std::vector<std::string> files = write_photos(made);
  size_t bytes = 0;
  for (const std::string& file : files) bytes += file.size() / files.size();
  tenon::InputOptions options{.data_dir = argc > 2 ? argv[2] : made,
                              .split = "train",
                              .batch_size = 64,
                              .training = true,
                              .repeat = true,
                              .height = 224,
                              .width = 224,
                              .num_classes = 5};
  const tenon::Dataset data = tenon::Dataset::images(options).take();
  options.augmentation = tenon::Augmentation::none();
  options.training = false;
  const tenon::Dataset plain = tenon::Dataset::images(options).take();
  std::printf("%d x %d JPEG of %zu bytes; images per second\n", kWidth, kHeight, bytes);
  const auto print = [](const char* what, Rate rate) {
    std::printf("  %-24s %7.0f  (%5.0f per core)\n", what, rate.wall, rate.core);
  };
  for (int round = 0; round < 3; ++round) {
    print("libjpeg alone, 1 thread", decode_rate(files, seconds));
    print("training, 1 thread", pipeline_rate(data, 1, seconds));
    print("training, 2 threads", pipeline_rate(data, 2, seconds));
    print("evaluation, 2 threads", pipeline_rate(plain, 2, seconds));
  }
  if (!getenv("KEEP")) std::filesystem::remove_all(made);
  return 0;
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "input_bench: %s\n", error.what());
  return 1;
}
