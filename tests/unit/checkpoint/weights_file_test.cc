// Files of weights by their contents, what is not read of them, and what is written: fixtures/weights are of safetensors, PyTorch
// and Keras (make_weight_forms.py, make_weights.py).
#include "tenon/weights_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/tensor_bundle.h"
#include "checkpoint/tensor_file.h"
#include "tenon/part.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string, std::less<>>;

const std::string kFiles = std::string(TENON_GOLDEN) + "/../fixtures/weights/";

class WeightsFiles : public ::testing::Test {
 protected:
  std::string copied(const std::string& from, const std::string& to) const {
    fs::copy_file(kFiles + from, directory_ / to, fs::copy_options::overwrite_existing);
    return directory_ / to;
  }
  static bool has_hdf5() { return Part::find({"files/hdf5", "HDF5", "tenon-hdf5", "libhdf5-dev"}).ok(); }
  static std::string said(const std::string& path) { return WeightsFile::open(path).status().message(); }
  static std::vector<std::string> names(const WeightsFile& file) {
    std::vector<std::string> out;
    for (const auto& entry : file.tensors()) out.push_back(entry.first);
    return out;
  }
  TemporaryDirectory directory_;
};

TEST_F(WeightsFiles, TensorsOfOtherTypesAreListedAndNotRead) {
  const WeightsFile file = WeightsFile::open(kFiles + "unread.safetensors").take();
  EXPECT_EQ(names(file), std::vector<std::string>{"a"});
  EXPECT_EQ(file.unread(), (Texts{{"f8", "F8_E4M3[4]"}, {"i16", "I16[2]"}}));
  EXPECT_EQ(WeightsFile::open(kFiles + "unread.pt")->unread(), (Texts{{"short", "ShortStorage[2]"}}));
}

TEST_F(WeightsFiles, NothingIsWrittenWithoutThemUnlessARuleDropsThem) {
  const std::string path = kFiles + "unread.safetensors", to = directory_ / "o.safetensors";
  EXPECT_EQ(WeightsFile::open(path)->write_to(to).message(),
            "'" + path +
                "': 2 tensors are of a type that Tenon does not read, the first 'f8' F8_E4M3[4]; "
                "a rule REGEX -> drop leaves it out");
  EXPECT_FALSE(fs::exists(to));
  const std::string rules = directory_.write("rules", "f8|i16 -> drop\n");
  EXPECT_EQ(WeightsFile::open(path, rules)->write_to(to).message(), "");
  EXPECT_EQ(WeightsFile::open(to)->read("a")->to<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST_F(WeightsFiles, AModelInSeveralFilesIsReadThroughItsIndex) {
  const WeightsFile file = WeightsFile::open(kFiles + "model.safetensors.index.json").take();
  EXPECT_EQ(names(file), (std::vector<std::string>{"embed.weight", "head.bias", "head.weight"}));
  EXPECT_EQ(file.read("embed.weight")->to<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(file.read("head.bias")->to<float>(), (std::vector<float>{0.5, -1}));
}

TEST_F(WeightsFiles, AnIndexIsHeldAgainstItsFiles) {
  const std::string first = "model-00001-of-00002.safetensors";
  copied(first, first);
  const auto why = [&](const std::string& map) {
    const std::string path = directory_.write("m.safetensors.index.json", map), message = said(path);
    const std::string start = "'" + path + "': ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  };
  EXPECT_EQ(why("{}"), "has no weight_map; is it an index of safetensors files?");
  EXPECT_EQ(why("{"), "is no valid JSON at its byte 2: it ends in the middle");
  EXPECT_EQ(why(""), "is no valid JSON at its byte 1: it is empty");
  EXPECT_EQ(why("{]"), "is no valid JSON at its byte 2");
  EXPECT_EQ(why(R"({"weight_map": {"a": 1}})"), "weight_map: 'a' is no name of a file");
  for (const char* name : {"../b.safetensors", "/etc/b.safetensors", "b.bin"})
    EXPECT_EQ(why(R"({"weight_map": {"a": ")" + std::string(name) + "\"}}"),
              "weight_map: 'a' is in '" + std::string(name) + "', expected the name of a .safetensors file beside it");
  EXPECT_EQ(why(R"({"weight_map": {"a": "b.safetensors"}})").find("cannot open '" + directory_ / "b.safetensors'"), 0u);
  EXPECT_EQ(why(R"({"weight_map": {"a": ")" + first + "\"}}"),
            "'" + first + "' has a tensor 'embed.weight', which weight_map does not name");
  EXPECT_EQ(why(R"({"weight_map": {"embed.weight": ")" + first + R"(", "a": ")" + first + "\"}}"),
            "weight_map: '" + first + "' has no tensor 'a'");
  EXPECT_EQ(why(std::string(100, '[')), "is nested too deep");
}

TEST_F(WeightsFiles, WhereTheNameSaysNoFormatTheFirstBytesDo) {
  EXPECT_TRUE(WeightsFile::open(copied("state.pt", "pytorch_model.bin"))->tensors().contains("fc.weight"));
  EXPECT_TRUE(WeightsFile::open(copied("state.pt", "x.ckpt"))->tensors().contains("fc.weight"));
  EXPECT_TRUE(WeightsFile::open(copied("unread.safetensors", "x.dat"))->tensors().contains("a"));
  const std::string other = directory_.write("x.txt", "weights");
  EXPECT_EQ(said(other), "'" + other +
                             "': is of no format that is read: safetensors, HDF5 as Keras has it, torch.save, "
                             "or a checkpoint, which is named by its PREFIX");
  EXPECT_EQ(said(directory_ / "none").find("cannot open '" + directory_ / "none.index'"), 0u);
  if (!has_hdf5()) GTEST_SKIP() << "no hdf5.so";
  EXPECT_TRUE(WeightsFile::open(copied("image.weights.h5", "x.hdf"))->tensors().contains("head/kernel"));
  EXPECT_TRUE(WeightsFile::open(copied("image.keras", "x.zip"))->tensors().contains("head/kernel"));
}

// As a training by Adam leaves it, with a normalization, whose count is a weight.
TEST_F(WeightsFiles, WeightsOfACheckpointAreWrittenAlone) {
  BundleWriter writer = BundleWriter::create(directory_ / "model.ckpt-1").take();
  const std::vector<float> two{1, 2};
  const auto add = [&](const char* name, const Shape& shape) {
    const auto bytes = std::as_bytes(std::span(two)).first(static_cast<size_t>(shape.elements()) * sizeof(float));
    EXPECT_EQ(writer.add(name, {DType::kF32, shape}, bytes).message(), "");
  };
  for (const char* name : {"dense/kernel", "dense/kernel/Adam", "dense/kernel/Adam_1", "normalization/mean"})
    add(name, {2});
  for (const char* name : {"normalization/count", "beta1_power"}) add(name, {});
  for (const char* name : {"global_step", "tenon/writer"}) EXPECT_EQ(writer.add_scalar(name, 1).message(), "");
  EXPECT_EQ(writer.commit().message(), "");
  const WeightsFile file = WeightsFile::open(directory_ / "model.ckpt-1").take();
  const std::string alone = directory_ / "alone.safetensors", all = directory_ / "all.safetensors";
  EXPECT_EQ(file.write_to(alone).message(), "");
  EXPECT_EQ(names(*WeightsFile::open(alone)),
            (std::vector<std::string>{"dense/kernel", "normalization/count", "normalization/mean"}));
  EXPECT_EQ(file.write_to(all, true).message(), "");
  EXPECT_EQ(WeightsFile::open(all)->tensors().size(), 8u);
}

TEST_F(WeightsFiles, LayersThatKerasWouldNotFindAreAnError) {
  if (!has_hdf5()) GTEST_SKIP() << "no hdf5.so";
  const std::string named = directory_ / "a.safetensors", to = directory_ / "b.weights.h5";
  const WeightsFile keras = WeightsFile::open(kFiles + "image.weights.h5").take();
  EXPECT_EQ(keras.write_to(to).message(), "");  // where Keras has them
  EXPECT_EQ(keras.write_to(named).message(), "");
  EXPECT_EQ(WeightsFile::open(named)->write_to(directory_ / "c.weights.h5").message(),
            "'" + directory_ / "c.weights.h5" +
                "': Keras would not find layer 'first', which it looks for by class and number, as 'layers/conv2d_3': "
                "convert from the model's directory, or from a file of Keras's own");
  EXPECT_EQ(TensorFile::open(to)->places().find("first")->second.path, "layers/conv2d");
}

TEST_F(WeightsFiles, ATensorIsSplitAndGetsOtherAxes) {
  const std::string rules =
      directory_.write("rules",
                       "fc\\.weight -> q/kernel,k/kernel,v/kernel split\n"
                       "(.)/kernel -> $1/kernel linear shape 2,2\nfc\\.bias -> q/bias,k/bias,v/bias split\n"
                       "rows -> rows shape 8\n");
  const WeightsFile file = WeightsFile::open(kFiles + "state.pt", rules).take();
  EXPECT_EQ(file.tensors().find("k/kernel")->second.str(), "f32[2,2]");
  EXPECT_EQ(file.read("k/kernel")->to<float>(), (std::vector<float>{4, 5, 6, 7}));  // of 0 to 11 by rows of four
  EXPECT_EQ(file.read("v/bias")->to<double>(), std::vector<double>{2});             // of 0.5, -1, 2
  EXPECT_EQ(file.tensors().find("rows")->second.str(), "f32[8]");
  const auto why = [&](const std::string& text) {
    return WeightsFile::open(kFiles + "state.pt", directory_.write("bad", text)).status().message();
  };
  const std::string at = "'" + directory_ / "bad" + "': line 1";
  EXPECT_EQ(why("fc.weight -> a,b split"),
            at + " splits the first axis of tensor 'fc.weight' into 2 parts, and it is f32[3,4]");
  EXPECT_EQ(why("fc.weight -> a shape 3,5"), at + " gives tensor 'fc.weight' the shape [3,5], and it is f32[3,4]");
  EXPECT_EQ(why("a -> b split"), at + ": expected 2 to 64 names with commas between them before split");
}

}  // namespace
}  // namespace tenon
