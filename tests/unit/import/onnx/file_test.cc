// ONNX files that are read, and those that are refused.
#include "import/onnx/file/onnx_model_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "import/onnx/file/copy.h"
#include "tenon/onnx.h"
#include "unit/import/onnx/made_file.h"

namespace tenon {
namespace {

Result<onnx::OnnxFile> parsed(const MadeFile& made) { return onnx::parse_file(made.bytes(), "m.onnx"); }

// y = x + w
MadeFile sum_file() {
  MadeFile made;
  made.input("x", {-1, 2});
  made.floats("w", {2}, {3, 5});
  made.node("Add", {"x", "w"}, {"y"}, "sum");
  made.output("y", {-1, 2});
  return made;
}

void expect_refused(const MadeFile& made, const std::string& message) {
  const Result<onnx::OnnxFile> file = parsed(made);
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find(message), std::string::npos) << file.status().message();
  EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
}

TEST(OnnxFile, HasWhatTheMessagesSay) {
  const Result<onnx::OnnxFile> file = parsed(sum_file());
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->opsets.at(""), 18);
  ASSERT_EQ(file->graph.nodes.size(), 1u);
  EXPECT_EQ(file->graph.nodes[0].str(), "Add 'sum'");
  ASSERT_EQ(file->graph.inputs.size(), 1u);
  EXPECT_EQ(file->graph.inputs[0].dims[0].size, -1);
  EXPECT_EQ(file->graph.inputs[0].dims[0].name, "batch");
  EXPECT_EQ(onnx::to_array(file->graph.initializers[0]).take().to<float>(), (std::vector<float>{3, 5}));
}

TEST(OnnxFile, CutAnywhereIsAnErrorOrAGraph) {
  const std::string bytes = sum_file().bytes();
  for (size_t n = 0; n < bytes.size(); ++n) {
    const Result<onnx::OnnxFile> file = onnx::parse_file(bytes.substr(0, n), "m.onnx");
    if (file.ok()) continue;
    EXPECT_NE(file.status().message().find("m.onnx"), std::string::npos);
  }
}

TEST(OnnxFile, NodesInAnyOrderAreSorted) {
  MadeFile made;
  made.input("x", {2});
  made.node("Neg", {"b"}, {"y"}, "third");
  made.node("Neg", {"a"}, {"b"}, "second");
  made.node("Neg", {"x"}, {"a"}, "first");
  made.output("y", {2});
  const Result<onnx::OnnxFile> file = parsed(made);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->graph.nodes[0].name, "first");
  EXPECT_EQ(file->graph.nodes[2].name, "third");
}

TEST(OnnxFile, NodesThatWaitForOneAnotherAreNamed) {
  MadeFile made;
  made.input("x", {2});
  made.node("Add", {"x", "b"}, {"a"}, "one");
  made.node("Neg", {"a"}, {"b"}, "two");
  made.output("b", {2});
  expect_refused(made, "wait for one another");
  expect_refused(made, "Neg 'two'");
}

TEST(OnnxFile, AValueHasOneOrigin) {
  MadeFile twice = sum_file();
  twice.node("Neg", {"x"}, {"y"}, "again");
  expect_refused(twice, "value 'y' of Neg 'again' is there twice");
  MadeFile input = sum_file();
  input.node("Neg", {"x"}, {"w"}, "again");
  expect_refused(input, "value 'w' of Neg 'again' is there twice");
  MadeFile initializers = sum_file();
  initializers.floats("w", {1}, {1});
  expect_refused(initializers, "initializer 'w' is there twice");
  MadeFile none = sum_file();
  none.node("Neg", {"nothing"}, {"z"}, "lost");
  expect_refused(none, "Neg 'lost' uses 'nothing', which nothing gives");
  MadeFile output = sum_file();
  output.output("z", {1});
  expect_refused(output, "output 'z' is given by nothing");
}

TEST(OnnxFile, SizesAreHeldAgainstTheBytes) {
  MadeFile short_of = sum_file();
  short_of.floats("v", {3}, {1, 2});
  expect_refused(short_of, "tensor 'v' is f32[3] and has 8 bytes, expected 12");
  MadeFile huge = sum_file();
  huge.floats("v", {1 << 30, 1 << 30, 1 << 30}, {1});
  expect_refused(huge, "which no memory holds");
  MadeFile negative = sum_file();
  negative.floats("v", {-1}, {});
  expect_refused(negative, "has a dimension of -1");
  MadeFile unknown = sum_file();
  unknown.floats("v", {1}, {1}).set_data_type(99);
  expect_refused(unknown, "element type 99");
  MadeFile strings = sum_file();
  strings.floats("v", {2}, {}).set_data_type(8);
  expect_refused(strings, "tensor 'v' is string[2] with raw data, expected strings");
  strings.graph().mutable_initializer(1)->clear_raw_data();
  expect_refused(strings, "has 0 strings");
  MadeFile undefined = sum_file();
  undefined.floats("v", {1}, {1}).set_data_type(0);
  expect_refused(undefined, "tensor 'v' says no element type (data_type is 0), expected one of ONNX's");
}

// Those who take names as C strings would see others, or none.
TEST(OnnxFile, NamesHaveNoNul) {
  const std::string nul("a\0b", 3);
  const std::string refused = "the name 'a\\x00b' of ", why = " has a NUL at its byte 1, expected text without one";
  MadeFile weight = sum_file();
  weight.floats(nul, {1}, {1});
  expect_refused(weight, refused + "a tensor" + why);
  MadeFile node = sum_file();
  node.node("Neg", {"x"}, {"z"}, nul);
  expect_refused(node, refused + "a node" + why);
  MadeFile op = sum_file();
  op.node(nul, {"x"}, {"z"});
  expect_refused(op, refused + "an op" + why);
  MadeFile domain = sum_file();
  domain.node("Neg", {"x"}, {"z"}).set_domain(nul);
  expect_refused(domain, refused + "a domain" + why);
  MadeFile operand = sum_file();
  operand.node("Neg", {nul}, {"z"});
  expect_refused(operand, refused + "a value" + why);
  MadeFile result = sum_file();
  result.node("Neg", {"x"}, {nul});
  expect_refused(result, refused + "a value" + why);
  MadeFile input = sum_file();
  input.input(nul, {1});
  expect_refused(input, refused + "an input or output" + why);
  MadeFile output = sum_file();
  output.output(nul, {1});
  expect_refused(output, refused + "an input or output" + why);
  MadeFile dimension = sum_file();
  dimension.input("rows", {1});
  auto* const inputs = dimension.model.mutable_graph()->mutable_input();
  inputs->rbegin()->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(nul);
  expect_refused(dimension, refused + "a dimension" + why);
  MadeFile function = sum_file();
  function.model.add_functions()->set_name(nul);
  expect_refused(function, refused + "a function" + why);
}

TEST(OnnxFile, OfADomainThatIsImportedTwiceTheNewestCounts) {
  MadeFile made = sum_file();
  made.model.add_opset_import()->set_domain("ai.onnx");
  made.model.mutable_opset_import(1)->set_version(21);
  EXPECT_EQ(parsed(made).take().opsets.at(""), 21);
}

// Numbers of types that Tenon lacks, as ONNX lays them out.
TEST(OnnxFile, NarrowNumbersBecomeWider) {
  MadeFile made;
  const auto tensor = [&](const char* name, int type, std::vector<int64_t> dims, std::string bytes) {
    onnx::TensorProto& t = made.floats(name, dims, {});
    t.set_data_type(type);
    t.set_raw_data(bytes);
  };
  tensor("i8", 3, {2}, "\x7f\x80");
  tensor("u16", 4, {1}, "\xff\xff");
  tensor("u32", 12, {1}, "\xff\xff\xff\xff");
  tensor("i4", 22, {3}, std::string("\x8f\x07"));  // -1, -8, 7
  tensor("f8", 17, {2}, "\x38\x7e");               // 1, 448
  tensor("fp4", 23, {2}, std::string(1, '\x97'));  // 6, -0.5
  made.model.mutable_graph();
  const Result<onnx::OnnxFile> file = parsed(made);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto numbers = [&](size_t i) { return onnx::to_array(file->graph.initializers[i]).take().to<double>(); };
  EXPECT_EQ(numbers(0), (std::vector<double>{127, -128}));
  EXPECT_EQ(numbers(1), (std::vector<double>{65535}));
  EXPECT_EQ(numbers(2), (std::vector<double>{4294967295.0}));
  EXPECT_EQ(numbers(3), (std::vector<double>{-1, -8, 7}));
  EXPECT_EQ(numbers(4), (std::vector<double>{1, 448}));
  EXPECT_EQ(numbers(5), (std::vector<double>{6, -0.5}));
}

class ExternalData : public testing::Test {
 protected:
  Result<onnx::OnnxFile> open(const std::string& location, const char* offset = "4", const char* length = "8") {
    MadeFile made = sum_file();
    onnx::TensorProto& w = *made.graph().mutable_initializer(0);
    w.clear_raw_data();
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      auto& one = *w.add_external_data();
      one.set_key(key);
      one.set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    return onnx::open_file(made.write(directory_.path()));
  }
  void write(const std::string& name, const std::vector<float>& values) {
    std::ofstream(directory_.path() + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
  }
  void expect_refused_at(const std::string& location, const std::string& message) {
    const Result<onnx::OnnxFile> file = open(location);
    ASSERT_FALSE(file.ok()) << location;
    EXPECT_NE(file.status().message().find(message), std::string::npos) << file.status().message();
  }
  TemporaryDirectory directory_;
};

TEST_F(ExternalData, IsReadWhereItLies) {
  write("w.bin", {1, 2, 4, 8});
  const Result<onnx::OnnxFile> file = open("w.bin");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(onnx::to_array(file->graph.initializers[0]).take().to<float>(), (std::vector<float>{2, 4}));
}

TEST_F(ExternalData, LiesInTheModelsDirectory) {
  std::filesystem::create_directory(directory_.path() + "/below");
  write("below/w.bin", {1, 2, 4});
  EXPECT_TRUE(open("below/w.bin").ok());
  EXPECT_TRUE(open("./below/w.bin").ok());
  std::filesystem::create_symlink("below/w.bin", directory_.path() + "/link.bin");
  std::filesystem::create_symlink("below", directory_.path() + "/elsewhere");
  expect_refused_at("/etc/hostname", "absolute path");
  expect_refused_at("../w.bin", "outside of the model's directory");
  expect_refused_at("below/../../w.bin", "outside of the model's directory");
  expect_refused_at("link.bin", "is a link");
  expect_refused_at("elsewhere/w.bin", "cannot be opened");
  expect_refused_at("none.bin", "cannot be opened");
  expect_refused_at("",
                    "tensor 'w' external data has no location, expected the name of a file in the model's directory");
}

TEST_F(ExternalData, SizesAreThoseOfTheFile) {
  write("w.bin", {1, 2});
  EXPECT_FALSE(open("w.bin").ok());  // 8 bytes at 4 of 8
  EXPECT_TRUE(open("w.bin", "0").ok());
  EXPECT_FALSE(open("w.bin", "0", "4").ok());
  EXPECT_FALSE(open("w.bin", "-1").ok());
  EXPECT_FALSE(open("w.bin", "18446744073709551615").ok());
  EXPECT_FALSE(open("w.bin", "4x").ok());
}

std::vector<float> first_weight(const std::string& path) {
  return onnx::to_array(onnx::open_file(path).take().graph.initializers[0]).take().to<float>();
}

TEST_F(ExternalData, GoesWithACopyInsideOrBesideIt) {
  std::filesystem::create_directory(directory_.path() + "/below");
  const std::string elsewhere = directory_.path() + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  write("below/w.bin", {1, 2, 4, 8});
  const std::string path = open("below/w.bin").take().path;
  ASSERT_TRUE(copy_onnx(path, elsewhere + "/inside.onnx").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(elsewhere), {}), 1);
  ASSERT_TRUE(onnx::copy_file_with_data(path, elsewhere + "/beside.onnx", 100).ok());
  EXPECT_TRUE(std::filesystem::exists(elsewhere + "/beside.onnx.data"));
  EXPECT_TRUE(is_same_onnx(path, elsewhere + "/inside.onnx").take());
  EXPECT_TRUE(is_same_onnx(elsewhere + "/beside.onnx", elsewhere + "/inside.onnx").take());
  write("below/w.bin", {1, 2, 5, 8});
  EXPECT_FALSE(is_same_onnx(path, elsewhere + "/inside.onnx").take());
  std::filesystem::remove_all(directory_.path() + "/below");
  EXPECT_EQ(first_weight(elsewhere + "/inside.onnx"), (std::vector<float>{2, 4}));
  EXPECT_EQ(first_weight(elsewhere + "/beside.onnx"), (std::vector<float>{2, 4}));
  EXPECT_FALSE(copy_onnx(path, elsewhere + "/none.onnx").ok());
  EXPECT_FALSE(std::filesystem::exists(elsewhere + "/none.onnx"));
}

TEST(OnnxFile, ALongChainIsReadInOrder) {
  MadeFile made;
  made.input("v0", {1});
  constexpr int kNodes = 100000;
  for (int i = kNodes; i > 0; --i) made.node("Neg", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  made.output("v" + std::to_string(kNodes), {1});
  const Result<onnx::OnnxFile> file = parsed(made);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->graph.nodes.size(), static_cast<size_t>(kNodes));
  EXPECT_EQ(file->graph.nodes[0].inputs[0], "v0");
}

TEST(OnnxFile, EmptyThingsWithoutEndAreRefusedBeforeTheyAreMade) {
  // 20 million nodes of two bytes each, in a graph.
  const size_t size = size_t{40} << 20;
  std::string bytes = "\x3a";
  for (size_t rest = size;; rest >>= 7) {
    bytes += static_cast<char>(rest >= 0x80 ? (rest & 0x7f) | 0x80 : rest);
    if (rest < 0x80) break;
  }
  const size_t begin = bytes.size();
  bytes.resize(begin + size, '\0');
  for (size_t i = begin; i < bytes.size(); i += 2) bytes[i] = '\x0a';
  const Result<onnx::OnnxFile> file = onnx::parse_file(std::move(bytes), "m.onnx");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("more than 16777216"), std::string::npos) << file.status().message();
}

}  // namespace
}  // namespace tenon
