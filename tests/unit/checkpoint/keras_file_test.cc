// Keras's files: fixtures/weights are of Keras and h5py (make_weights.py).
#include "checkpoint/keras/keras_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <random>
#include <sstream>

#include "checkpoint/archive/zip_file.h"
#include "checkpoint/tensor_file.h"
#include "tenon/part.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

const std::string kWeights = std::string(TENON_GOLDEN) + "/../fixtures/weights/";

std::string bytes_in(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

class KerasFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Part::find({"files/hdf5", "HDF5", "tenon-hdf5", "libhdf5-dev"}).ok()) GTEST_SKIP() << "no hdf5.so";
  }
  std::string said_of(const std::string& path) const {
    const std::string message = TensorFile::open(path).status().message(), start = "'" + path + "': ";
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
  TemporaryDirectory directory_;
};

template <class T>
std::vector<T> values(const TensorFile& file, const std::string& name) {
  std::vector<T> out(static_cast<size_t>(file.tensors().find(name)->second.shape.elements()));
  EXPECT_EQ(file.read(name, std::as_writable_bytes(std::span(out))).message(), "");
  return out;
}

TEST_F(KerasFiles, TensorsHaveTheNamesOfVariables) {
  const TensorFile file = TensorFile::open(kWeights + "image.weights.h5").take();
  std::vector<std::string> names;
  for (const auto& [name, type] : file.tensors()) names.push_back(name + " " + type.str());
  EXPECT_EQ(names, (std::vector<std::string>{
                       "batch_normalization/0 f32[3]", "batch_normalization/1 f32[3]", "batch_normalization/2 f32[3]",
                       "depthwise_conv2d/bias f32[3]", "depthwise_conv2d/kernel f32[2,2,3,1]", "first/bias f32[3]",
                       "first/kernel f32[3,3,2,3]", "head/bias f32[3]", "head/kernel f32[8,3]", "wide/bias f32[2]",
                       "wide/depthwise_kernel f32[2,2,3,1]", "wide/pointwise_kernel f32[1,1,3,2]"}));
  EXPECT_TRUE(TensorFile::open(kWeights + "image.keras")->tensors().contains("batch_normalization/moving_mean"));
}

TEST_F(KerasFiles, WhatOptimizersAndMetricsOfCompiledPartsKeepIsPassedOver) {
  const TensorFile file = TensorFile::open(kWeights + "compiled.weights.h5").take();
  std::vector<std::string> names;
  for (const auto& entry : file.tensors()) names.push_back(entry.first);
  EXPECT_EQ(names, (std::vector<std::string>{"metrics/0", "metrics/1", "part/inside/bias", "part/inside/kernel"}));
}

TEST_F(KerasFiles, CompressedOnesAndOtherByteOrdersAreRead) {
  const TensorFile file = TensorFile::open(kWeights + "packed.weights.h5").take();
  const std::vector<float> kernel = values<float>(file, "dense/kernel");
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(kernel[i], static_cast<float>(i));
  EXPECT_EQ(values<float>(file, "dense/bias"), (std::vector<float>{0, .25f, .5f, .75f, 1, 1.25f, 1.5f, 1.75f}));
  EXPECT_EQ(values<double>(file, "normalization/variance"), (std::vector<double>{0.5, 1.5, 2.5}));
  EXPECT_EQ(values<int64_t>(file, "normalization/count"), std::vector<int64_t>{7});
  EXPECT_EQ(file.tensors().find("normalization/mean")->second.dtype, DType::kF16);
  EXPECT_EQ(file.tensors().find("p_re_lu/alpha")->second.dtype, DType::kBool);
}

TEST_F(KerasFiles, WhatLeadsOutOrIsUnknownIsRefusedInALine) {
  const auto bad = [&](const char* name) { return said_of(kWeights + "bad/" + name + ".h5"); };
  EXPECT_EQ(bad("soft_link"), "'layers/dense/vars/0' is a soft link, which is not followed");
  EXPECT_EQ(bad("other_file"), "'layers/dense/vars/0' is a link to another file, which is not followed");
  EXPECT_EQ(bad("outside"), "dataset 'layers/dense/vars/0' lies in other files, which are not read");
  EXPECT_EQ(bad("virtual"), "dataset 'layers/dense/vars/0' lies in other files, which are not read");
  EXPECT_EQ(
      bad("filter"),
      "dataset 'layers/dense/vars/0' needs filter 32000, which is not known: deflate, shuffle and fletcher32 are");
  EXPECT_EQ(bad("bomb"), "dataset 'layers/dense/vars/0' would have 4398046511104 bytes, of which 0 are stored");
  EXPECT_EQ(bad("cycle"), "group 'layers/dense/again' is there twice");
  EXPECT_EQ(bad("other_names"), "holds no weights of Keras: no layer_names, and no .../vars/0");
  EXPECT_EQ(bad("hole"), "'layers/dense' lacks weight 0 of 2");
  EXPECT_EQ(bad("no_dataset"), "layer 'dense' has no dataset 'dense/kernel:0'");
  const TensorFile nan = TensorFile::open(kWeights + "bad/nan.h5").take();
  std::vector<std::byte> out(24);
  EXPECT_EQ(nan.read("dense/kernel", out).message(),
            "'" + kWeights + "bad/nan.h5': variable 'dense/kernel' holds nan or infinity, expected finite numbers");
}

TEST_F(KerasFiles, OtherFilesAreNoHdf5) {
  const std::string text = directory_.write("a.h5", "not one of them"), none = directory_ / "none.h5";
  EXPECT_NE(said_of(text), "");
  EXPECT_EQ(said_of(none), "cannot open '" + none + "': No such file or directory");
  EXPECT_EQ(said_of(directory_.write("a.keras", "no zip")),
            "is no zip archive, or is cut off: it has no directory at its end");
}

// The library may not survive it; this process does.
TEST_F(KerasFiles, DamagedFilesAreErrorsOrRead) {
  std::mt19937 random(3);
  for (const char* name : {"image_keras2.h5", "packed.weights.h5", "image.keras"}) {
    const std::string whole = bytes_in(kWeights + name);
    for (int i = 0; i < 24; ++i) {
      std::string bytes = whole;
      if (i % 6 == 0) bytes.resize(random() % bytes.size());
      for (int flips = 0; flips < 12 && !bytes.empty(); ++flips)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      const std::string path = directory_.write(name, bytes);
      const Result<TensorFile> file = TensorFile::open(path);
      if (!file.ok()) {
        EXPECT_LT(file.status().message().size(), 800u);
        continue;
      }
      for (const auto& [tensor, type] : file->tensors()) {
        std::vector<std::byte> out(static_cast<size_t>(type.bytes()));
        (void)file->read(tensor, out);
      }
    }
  }
}

// ---- zip, spelled out by hand ----

std::string number(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

struct Member {
  std::string name, stored;
  uint32_t bytes, crc;
  uint16_t method = 0, flags = 0;
};

std::string zip_of(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& m : members) {
    const std::string common = number(m.flags, 2) + number(m.method, 2) + number(0, 4) + number(m.crc, 4) +
                               number(m.stored.size(), 4) + number(m.bytes, 4) + number(m.name.size(), 2) +
                               number(0, 2);
    directory += "PK\1\2" + number(20, 2) + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) +
                 number(0, 4) + number(out.size(), 4) + m.name;
    out += "PK\3\4" + number(20, 2) + common + m.name + m.stored;
  }
  return out + directory + "PK\5\6" + number(0, 4) + number(members.size(), 2) + number(members.size(), 2) +
         number(directory.size(), 4) + number(out.size(), 4) + number(0, 2);
}

uint32_t crc_of(const std::string& text) {
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

TEST(ZipFiles, StoredAndDeflatedMembersAreRead) {
  TemporaryDirectory directory;
  // "aaaaaaaaaa" deflated with fixed codes, RFC 1951: 'a', then a match of 9 at distance 1.
  const std::string packed("KL\x84\x01\x00", 5);
  const ZipFile zip = ZipFile::open(directory.write("a.zip", zip_of({{"x", "hello", 5, crc_of("hello")},
                                                                     {"y", packed, 10, crc_of("aaaaaaaaaa"), 8}})))
                          .take();
  EXPECT_EQ(zip.read("x", 5).take(), "hello");
  EXPECT_EQ(zip.read("y", 10).take(), "aaaaaaaaaa");
  EXPECT_EQ(zip.read("y", 9).status().message(),
            "'" + directory.path() + "/a.zip': member 'y' has 10 bytes, expected at most 9");
}

TEST(ZipFiles, BadOnesAreErrorsOfOneLine) {
  TemporaryDirectory directory;
  const std::string path = directory / "a.zip", start = "'" + path + "': ";
  const auto said = [&](const std::string& bytes) {
    directory.write("a.zip", bytes);
    Result<ZipFile> zip = ZipFile::open(path);
    Status status = zip.status();
    if (zip.ok()) status = zip->read(zip->members().begin()->first, 1 << 20).status();
    return status.message().substr(std::min(start.size(), status.message().size()));
  };
  const uint32_t crc = crc_of("hello");
  EXPECT_EQ(said(zip_of({{"x", "hello", 5, crc + 1}})), "member 'x' is damaged: its checksum is wrong");
  EXPECT_EQ(said(zip_of({{"x", "hello", 6, crc}})), "member 'x' would have 6 bytes, of which 5 are stored");
  EXPECT_EQ(said(zip_of({{"x", "hello", 1u << 30, crc, 8}})),
            "member 'x' would have 1073741824 bytes, of which 5 are stored");
  EXPECT_EQ(said(zip_of({{"x", "hello", 5, crc, 12}})), "member 'x' is compressed by method 12, expected 0 or 8");
  EXPECT_EQ(said(zip_of({{"x", "hello", 5, crc, 0, 1}})), "member 'x' is encrypted");
  EXPECT_EQ(said(zip_of({{"x", "hello", 5, crc}, {"x", "hello", 5, crc}})), "has two members 'x'");
  EXPECT_EQ(said(zip_of({{"x", "hello", 9, crc, 8}})), "member 'x' is damaged");
  const std::string whole = zip_of({{"x", "hello", 5, crc}});
  for (size_t cut = 0; cut < whole.size(); ++cut) EXPECT_NE(said(whole.substr(0, cut)), "") << cut;
}

// ---- torch.save ----

TEST(TorchFiles, TensorsOfDictionariesAreRead) {
  const TensorFile file = TensorFile::open(kWeights + "state.pt").take();
  std::vector<std::string> names;
  for (const auto& [name, type] : file.tensors()) names.push_back(name + " " + type.str());
  EXPECT_EQ(names, (std::vector<std::string>{"brain bf16[2]", "count i64[]", "fc.bias f64[3]", "fc.weight f32[3,4]",
                                             "flags bool[2]", "half f16[2]", "model.w f32[2,1]", "rows f32[2,4]"}));
  EXPECT_EQ(values<float>(file, "fc.weight"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(values<float>(file, "rows"), (std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11}));  // of the same memory
  EXPECT_EQ(values<double>(file, "fc.bias"), (std::vector<double>{0.5, -1, 2}));
  EXPECT_EQ(values<int64_t>(file, "count"), std::vector<int64_t>{7});
}

TEST(TorchFiles, WhatWouldHaveToBeRunIsRefused) {
  const auto bad = [](const std::string& name) {
    const std::string path = kWeights + "bad/" + name, message = TensorFile::open(path).status().message();
    return message.substr(std::min(message.size(), path.size() + 4));
  };
  EXPECT_EQ(bad("columns.pt"), "tensor 'columns' does not lie row by row: save tensors that are contiguous()");
  EXPECT_NE(bad("module.pt").find("which is not run") == std::string::npos ? bad("module.pt").find("not run") : 0,
            std::string::npos);
  EXPECT_EQ(bad("tensor.pt"), "it holds no dictionary of tensors: save a state_dict");
  TemporaryDirectory directory;
  // os.system("true"), as a pickle that is run would call it.
  const std::string evil =
      "\x80\x02"
      "cos\nsystem\nX\4" +
      std::string(3, '\0') + "true\x85R.";
  const std::string path =
      directory.write("a.pt", zip_of({{"a/data.pkl", evil, static_cast<uint32_t>(evil.size()), crc_of(evil)}}));
  EXPECT_EQ(TensorFile::open(path).status().message(),
            "'" + path + "': its pickle calls 'os system', which is not run; save a state_dict, or use safetensors");
}

TEST(TorchFiles, DamagedOnesAreErrorsOrRead) {
  TemporaryDirectory directory;
  const std::string whole = bytes_in(kWeights + "state.pt");
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    std::string bytes = whole;
    for (int flips = 0; flips < 4; ++flips) bytes[random() % bytes.size()] = static_cast<char>(random());
    const Result<TensorFile> file = TensorFile::open(directory.write("a.pt", bytes));
    if (!file.ok()) {
      EXPECT_LT(file.status().message().size(), 800u);
      continue;
    }
    for (const auto& [tensor, type] : file->tensors()) {
      std::vector<std::byte> out(static_cast<size_t>(type.bytes()));
      (void)file->read(tensor, out);
    }
  }
}

// ---- rules ----

std::map<std::string, Type, std::less<>> torch() {
  return {{"conv1.weight", {DType::kF32, {8, 3, 5, 7}}},
          {"layer2.1.bn.bias", {DType::kF32, {4}}},
          {"n", {DType::kI64, {}}}};
}

TEST(WeightRules, RulesThatMatchTheWholeNameCountInOrder) {
  const WeightRules rules = WeightRules::parse(
                                "# a comment\n\nconv1 -> never\nconv1\\.weight -> c/kernel OIHW->HWIO\n"
                                "layer(\\d)\\.(\\d)\\.bn\\.(.*) -> block.$1.$2/$3\n"
                                "block\\.(\\d)\\.(.*) -> b$1_$2\n.*\\.bias -> other\n",
                                "r")
                                .take();
  const auto taken = rules.taken(torch()).take();
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken.at("c/kernel").type.str(), "f32[5,7,3,8]");
  EXPECT_EQ(taken.at("c/kernel").axes, (std::vector<int>{2, 3, 1, 0}));
  EXPECT_EQ(taken.at("b2_1/bias").from, "layer2.1.bn.bias");
  EXPECT_EQ(taken.at("n").from, "n");
  EXPECT_FALSE(WeightRules::parse("n -> drop", "r")->taken(torch())->contains("n"));
}

TEST(WeightRules, ErrorsNameTheLine) {
  const auto said = [](const char* text) { return WeightRules::parse(text, "r").status().message(); };
  const std::string form =
      "expected REGEX -> NAME [OIHW->HWIO | linear | depthwise | perm 2,3,1,0] [shape 768,12,64], REGEX -> NAME,NAME "
      "split, "
      "or REGEX -> drop, found ";
  EXPECT_EQ(said("\na"), "'r': line 2: " + form + "'a'");
  EXPECT_EQ(said("a -> b transposed"), "'r': line 1: " + form + "'transposed' behind the name");
  EXPECT_EQ(said("a -> b perm 0,0"), "'r': line 1: " + form + "'perm 0,0' behind the name");
  EXPECT_EQ(said("a -> b OI->OO"), "'r': line 1: " + form + "'OI->OO' behind the name");
  EXPECT_EQ(said("a -> drop linear"), "'r': line 1: " + form + "'linear' behind the name");
  EXPECT_NE(said("( -> b").find("line 1: '(' is no regular expression"), std::string::npos);
  EXPECT_EQ(WeightRules::parse("conv1.* -> a linear", "r")->taken(torch()).status().message(),
            "'r': line 1 turns 2 axes, tensor 'conv1.weight' is f32[8,3,5,7]");
  EXPECT_EQ(WeightRules::parse(".* -> a", "r")->taken(torch()).status().message(),
            "'r': tensors 'conv1.weight' and 'layer2.1.bn.bias' would both be 'a'");
}

}  // namespace
}  // namespace tenon
