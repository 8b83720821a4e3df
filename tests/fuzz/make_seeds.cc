// Writes small files of every format, as the library itself makes them, to FOLDER/TARGET/NAME: the seeds of the corpus.
//   fuzz_make_seeds tests/fuzz/corpus
#include <webp/encode.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/file/file.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/keras/hdf5_index.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_bundle.h"
#include "data/chain/cache/cache_file.h"
#include "data/image/image.h"
#include "tenon/example.h"
#include "tenon/tfrecord.h"
#include "unit/data/jpeg_writer.h"

using namespace tenon;

namespace {

std::filesystem::path root;

void seed(const std::string& target, const std::string& name, std::string_view bytes) {
  std::filesystem::create_directories(root / target);
  std::ofstream(root / target / name, std::ios::binary) << bytes;
}

void bundles() {
  BundleWriter writer = BundleWriter::create("p").take();
  const std::vector<float> values(6, 1);
  check(writer.add("dense/kernel", {DType::kF32, {2, 3}}, std::as_bytes(std::span(values))));
  check(writer.add_scalar("global_step", 7));
  check(writer.add_string("tenon/input", "text"));
  check(writer.commit());
  seed("bundle", "three_tensors", read_file(bundle_index_path("p")).take());
  seed("state", "two", format_checkpoint_state({"model.ckpt-2", {"model.ckpt-1", "model.ckpt-2"}}));
}

void safetensors() {
  const FillBytes ones = [](std::span<std::byte> piece) {
    return std::fill(piece.begin(), piece.end(), std::byte{1}), Status();
  };
  check(write_safetensors("s",
                          {{"dense/kernel", {DType::kF32, {2, 3}}, ones},
                           {"flags", {DType::kBool, {2}}, ones},
                           {"none", {DType::kBF16, {0}}, ones},
                           {"global_step", {DType::kI64, {}}, ones}},
                          {{"format", "tenon"}}));
  seed("safetensors", "four_tensors", read_file("s").take());
}

// As the child process says what is in a file: of Keras 3, and of Keras 2.
void keras() {
  const auto weight = [](const char* path, std::vector<int64_t> dims, int64_t offset) {
    int64_t bytes = 4;
    for (const int64_t dim : dims) bytes *= dim;
    return Hdf5Dataset{
        .path = path, .type = Hdf5Type::kF32, .text = {}, .dims = std::move(dims), .offset = offset, .bytes = bytes};
  };
  seed("keras", "keras_3",
       bytes_of({{weight("layers/dense/vars/0", {2, 3}, 0), weight("layers/dense/vars/1", {3}, 24),
                  weight("layers/lstm/cell/vars/0", {1, 4}, 8), weight("optimizer/vars/0", {}, 0)},
                 {{"layers/dense/vars", "name", {"head"}}}}));
  seed("keras", "keras_2",
       bytes_of({{weight("dense/dense/kernel:0", {2, 3}, 0), weight("dense/dense/bias:0", {3}, 24)},
                 {{"", "layer_names", {"input", "dense"}},
                  {"input", "weight_names", {}},
                  {"dense", "weight_names", {"dense/kernel:0", "dense/bias:0"}}}}));
}

// What an HDF5 library says (seam/hdf5_library.cc), a byte or two for each answer.
void hdf5() {
  const std::string opened("\0\0", 2), info("\1\0\0\0", 4), one_link("\1\0\3", 3);
  // A dataset f32[2,3], and what it has beside its place: deflated chunks; plain bytes of the file.
  const std::string dataset("\1\2\0\2\2\3\5\0\0\0\0\0", 12), chunks("\1\0\1\0\4\2\0\2\3\0\1", 11),
      contiguous("\0\0\0\1\x40\0\0\0\0\0\0\0\0", 13);
  seed("hdf5", "chunks", opened + info + one_link + dataset + chunks);
  seed("hdf5", "contiguous", opened + info + one_link + dataset + contiguous);
  // The root's attribute layer_names of two texts of eight bytes, then of two of any length.
  for (const char fixed : {'\1', '\0'})
    seed("hdf5", fixed ? "texts" : "free_texts",
         opened + std::string("\1\0\1\0\0\4", 6) + fixed + std::string("\1\2\2\0abc", 7) + one_link + dataset + chunks);
  std::string deep = opened + info;
  for (char i = 2; i < 90; ++i) deep += one_link + std::string("\0\0\0\0", 4) + i + std::string("\0\0\0", 3);
  seed("hdf5", "deep", deep);
}

void cache() {
  CacheWriter writer = CacheWriter::create("c").take();
  const Element element = {{"x", Array({1.f, 2.f})}, {"text", Array(Type{DType::kU8, {3}})}};
  for (const uint64_t index : {1, 0}) check(writer.add(index, -1, CacheWriter::record_of(element, "f:1")));
  check(writer.finish({1, 0}));
  seed("cache", "two_elements", read_file("c").take());
}

std::string example() {
  ExampleBuilder builder;
  builder.add_bytes("image/encoded", "1234");
  builder.add_int64s("a", std::vector<int64_t>{1, -1, 1 << 20});
  builder.add_floats("f", std::vector<float>{1, 2.5f});
  return std::string(builder.finish());
}

void records() {
  seed("example", "three_kinds", example());
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    const std::string name = "r" + std::to_string(static_cast<int>(compression));
    RecordWriter writer = RecordWriter::create(name, compression).take();
    for (const char* record : {"", "one", "a longer record than the others"}) check(writer.write(record));
    check(writer.close());
    for (const char options : {'\x10', '\x12', '\x11'})
      seed("tfrecord", name + "_" + std::to_string(options), options + read_file(name).take());
  }
}

void webps(const std::vector<uint8_t>& pixels) {
  uint8_t* out = nullptr;
  const auto add = [&](const char* name, size_t size) {
    seed("webp", name, "\1\2" + std::string(reinterpret_cast<char*>(out), size));
    WebPFree(out);
  };
  add("lossy", WebPEncodeRGB(pixels.data(), 16, 12, 48, 60, &out));
  add("lossy_alpha", WebPEncodeRGBA(pixels.data(), 12, 12, 48, 60, &out));
  add("lossless", WebPEncodeLosslessRGBA(pixels.data(), 12, 12, 48, &out));
}

void images() {
  std::vector<uint8_t> pixels(16 * 12 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7);
  for (const int channels : {1, 3}) {
    const std::string name = "c" + std::to_string(channels);
    seed("jpeg", name,
         std::string(2, static_cast<char>(channels)) + encode_jpeg(pixels.data(), 16, 12, channels, 60).take());
    seed("png", name, std::string(1, static_cast<char>(channels)) + encode_png(pixels.data(), 16, 12, channels).take());
  }
  seed("jpeg", "restarts", "\2\2" + write_jpeg(pixels, 16, 12, 3, JCS_RGB, [](jpeg_compress_struct& jpeg) {
                             jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
                             jpeg.restart_interval = 1;
                             jpeg.optimize_coding = TRUE;
                           }));
  webps(pixels);
}

void texts() {
  seed("csv", "rows", "a.jpg,rose\n\"b,\"\"c\"\"\",daisy\r\n\n");
  seed("idx", "labels", std::string_view("\0\0\x08\x01\0\0\0\x03\1\2\3", 11));
  seed("idx", "images",
       std::string_view("\0\0\x08\x03\0\0\0\x01\0\0\0\x02\0\0\0\x02"
                        "1234",
                        20));
  seed("tmx", "unit",
       "<?xml version=\"1.0\"?>\n<tmx version=\"1.4\"><body><tu><tuv xml:lang=\"en\"><seg>a &amp; "
       "<it>x</it>b</seg></tuv>"
       "<tuv xml:lang=\"de-AT\"><seg>c&#228;</seg></tuv></tu></body></tmx>\n");
  seed("mo", "two_messages",
       std::string_view("\xde\x12\x04\x95\0\0\0\0\2\0\0\0\x1c\0\0\0\x2c\0\0\0\0\0\0\0\x3c\0\0\0"
                        "\0\0\0\0\x3c\0\0\0\4\0\0\0\x3d\0\0\0"
                        "\x0d\0\0\0\x42\0\0\0\5\0\0\0\x50\0\0\0"
                        "\0File\0charset=UTF-8\0Datei",
                        86));
  std::string vocabulary;
  for (const char c : std::string_view("\\_u;0123456789<pad>EOS")) vocabulary += std::string("'") + c + "'\n";
  seed("vocabulary", "least", vocabulary + "'pa'\n" + '\0' + "pass <pad> \\u_ \xc3\xa4\n");
  seed("graph", "add", std::string_view("\0\1\2\3\4\1\1\1\2\1\3\2", 12));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
  root = argv[1];
  bundles();
  cache();
  safetensors();
  keras();
  hdf5();
  records();
  images();
  texts();
}
