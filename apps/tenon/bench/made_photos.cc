#include "bench/made_photos.h"

#include <algorithm>
#include <cmath>
#include <cstdio>  // before jpeglib.h
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <jpeglib.h>

#include "tenon/example.h"
#include "tenon/input.h"
#include "tenon/tfrecord.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

// Adds random values on a grid of cells, and in between what lies between them.
void add_octave(std::vector<float>& values, int cell, float amplitude, SampleRandom random) {
  const int columns = kPhotoWidth / cell + 2, rows = kPhotoHeight / cell + 2;
  std::vector<float> grid(static_cast<size_t>(columns * rows * 3)), row(static_cast<size_t>(columns * 3));
  for (float& g : grid) g = random.uniform(-amplitude, amplitude);
  for (size_t i = 0; i < grid.size(); i += 3)  // colour changes less than brightness
    for (size_t c = 1; c < 3; ++c) grid[i + c] = 0.8f * grid[i] + 0.2f * grid[i + c];
  for (int y = 0; y < kPhotoHeight; ++y) {
    const float down = static_cast<float>(y % cell) / static_cast<float>(cell);
    const float* above = &grid[static_cast<size_t>(y / cell * columns * 3)];
    for (size_t i = 0; i < row.size(); ++i) row[i] = above[i] + (above[i + row.size()] - above[i]) * down;
    float* out = &values[static_cast<size_t>(y * kPhotoWidth * 3)];
    for (int x = 0; x < kPhotoWidth; ++x, out += 3) {
      const float across = static_cast<float>(x % cell) / static_cast<float>(cell);
      const float* left = &row[static_cast<size_t>(x / cell * 3)];
      for (int c = 0; c < 3; ++c) out[c] += left[c] + (left[c + 3] - left[c]) * across;
    }
  }
}

std::string shard_name(const std::string& directory, int64_t shard, int64_t shards) {
  char name[64];
  std::snprintf(name, sizeof name, "/train-%05ld-of-%05ld", static_cast<long>(shard), static_cast<long>(shards));
  return directory + name;
}

void write_shard(const std::string& path, int64_t first, int64_t step, int64_t count) {
  RecordWriter writer = RecordWriter::create(path).take();
  ExampleBuilder builder;
  for (int64_t i = first; i < count; i += step) {
    builder.add_bytes("image/encoded", photo_jpeg(made_photo(static_cast<uint64_t>(i))));
    builder.add_bytes("image/format", "JPEG");
    builder.add_int64("image/class/label", i % 5 + 1);
    check(writer.write(builder.finish()));
  }
  check(writer.close());
}

std::vector<std::string> shards_in(const std::string& directory) {
  std::vector<std::string> files;
  if (!std::filesystem::is_directory(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().filename().string().starts_with("train-")) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<uint8_t> made_photo(uint64_t seed) {
  std::vector<float> values(kPhotoWidth * kPhotoHeight * 3, 110.0f);
  for (int octave = 0; octave < 7; ++octave)
    add_octave(values, 128 >> octave, 70.0f * std::pow(0.84f, static_cast<float>(octave)),
               SampleRandom(seed, 0, static_cast<uint64_t>(octave)));
  std::vector<uint8_t> pixels(values.size());
  for (size_t i = 0; i < values.size(); ++i) pixels[i] = static_cast<uint8_t>(std::clamp(values[i], 0.0f, 255.0f));
  return pixels;
}

std::string photo_jpeg(std::vector<uint8_t> pixels) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = kPhotoWidth, jpeg.image_height = kPhotoHeight;
  jpeg.input_components = 3, jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = &pixels[size_t{jpeg.next_scanline} * kPhotoWidth * 3];
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string out(reinterpret_cast<char*>(memory), bytes);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return out;
}

void write_photos(const std::string& directory, int64_t count) {
  if (!shards_in(directory).empty()) return;
  std::filesystem::create_directories(directory);
  const int64_t shards = std::min<int64_t>(count, 16);
  std::vector<std::thread> threads;
  std::vector<Status> made(static_cast<size_t>(process_threads()));
  for (size_t t = 0; t < made.size(); ++t)
    threads.emplace_back([&, t] {
      try {
        for (auto shard = static_cast<int64_t>(t); shard < shards; shard += static_cast<int64_t>(made.size()))
          write_shard(shard_name(directory, shard, shards), shard, shards, count);
      } catch (const Error& e) {
        made[t] = e.status();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : made) check(status);
}

std::vector<std::string> photos_in(const std::string& directory) {
  std::vector<std::string> out;
  for (const std::string& file : shards_in(directory)) {
    RecordReader reader = RecordReader::open(file).take();
    std::string_view record;
    Example example;
    while (reader.next(&record).take()) {
      check(example.parse(record));
      out.emplace_back(example.bytes("image/encoded").take());
    }
  }
  return out;
}

void decode_photo(const std::string& bytes, std::vector<uint8_t>& pixels) {
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

}  // namespace tenon::runner
