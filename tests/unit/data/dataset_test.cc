// What a data set refuses before anything is read, and what files may be called.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "unit/data/input_testing.h"

namespace tenon {
namespace {

std::string options_error(const InputOptions& options) {
  return Dataset::from_records(options, number_specs(), read_number).status().message();
}

TEST(Dataset, MissingFilesAreNamed) {
  TemporaryDirectory directory;
  InputOptions options = numbers_in(directory);
  EXPECT_EQ(options_error(options), "no files match " + directory.path() + "/train-*");
  options.data_dir = directory / "nowhere";
  EXPECT_EQ(options_error(options), directory / "nowhere" + ": No such file or directory");
  options.data_dir = directory.write("file", "");
  EXPECT_EQ(options_error(options), directory / "file" + ": not a directory");
  options.file_pattern = directory / "*.rec";
  EXPECT_EQ(options_error(options), "no files match " + directory.path() + "/*.rec");
  EXPECT_EQ(options_error({}), "no input files: set data_dir and split, or file_pattern");
}

TEST(Dataset, AMissingShardIsNoticed) {
  TemporaryDirectory directory;
  write_numbers(directory, {3, 3, 3});
  std::filesystem::remove(shard_path(directory, "train", 1, 3));
  EXPECT_EQ(options_error(numbers_in(directory)),
            directory.path() + "/train-*: expected 3 files as their names say, found 2");
  write_numbers(directory, {3});
  EXPECT_NE(options_error(numbers_in(directory)).find("mixes two sets of shards"), std::string::npos);
}

TEST(Dataset, FilesOfAnUnfinishedConversionAreNotRead) {
  TemporaryDirectory directory;
  write_numbers(directory, {3});
  directory.write(".train-00000-of-00001.tmp-12-0", "half");
  directory.write("train-00000-of-00001.tmp", "half");
  EXPECT_EQ(numbers(numbers_in(directory)).size(), 3);
}

TEST(Dataset, ABatchLargerThanTheDataIsAnError) {
  TemporaryDirectory directory;
  write_numbers(directory, {60, 40});
  InputOptions options = numbers_in(directory);
  options.batch_size = 512;
  EXPECT_EQ(numbers(options).batches(), 1) << "evaluation can take a partial batch";
  options.training = true;
  EXPECT_EQ(options_error(options),
            "batch size 512 is larger than the 100 examples in " + directory.path() + "/train-*");
  options.batch_size = 64;
  options.shard_count = 2;
  EXPECT_EQ(options_error(options),
            "batch size 64 is larger than the 60 examples in " + directory.path() + "/train-* (shard 0 of 2)");
}

TEST(Dataset, NoRecordsIsAnError) {
  TemporaryDirectory directory;
  write_numbers(directory, {0, 0});
  EXPECT_EQ(options_error(numbers_in(directory)), "no examples in " + directory.path() + "/train-*");
}

TEST(Dataset, BadOptionsAreRefused) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  const auto error = [&](auto change) {
    InputOptions options = numbers_in(directory);
    change(options);
    return options_error(options);
  };
  EXPECT_EQ(error([](InputOptions& o) { o.batch_size = 0; }), "batch size: expected at least 1, found 0");
  EXPECT_EQ(error([](InputOptions& o) { o.shard_index = 2, o.shard_count = 2; }),
            "input shard: expected 0 <= index < count, found index 2 of 2");
  EXPECT_NE(error([](InputOptions& o) { o.interleave = 0; }), "");
  EXPECT_NE(error([](InputOptions& o) { o.prefetch = -1; }), "");
}

TEST(Dataset, MemoryFeaturesMustAgree) {
  const std::vector<float> x(6);
  const std::vector<int32_t> y(4);
  const auto error = [](std::vector<MemoryFeature> features) {
    return Dataset::from_memory(std::move(features), {}).status().message();
  };
  EXPECT_EQ(error({memory_feature<float>("x", DType::kF32, {2}, x), memory_feature<int32_t>("y", DType::kI32, {}, y)}),
            "feature 'y' has 4 examples, 'x' has 3");
  EXPECT_EQ(error({memory_feature<float>("x", DType::kF32, {4}, x)}),
            "feature 'x': 24 bytes are no multiple of the 16 of f32[4]");
  EXPECT_EQ(error({}), "a dataset needs at least one feature");
  EXPECT_EQ(error({memory_feature<int32_t>("y", DType::kI32, {}, y), memory_feature<int32_t>("y", DType::kI32, {}, y)}),
            "feature 'y' is there twice");
  EXPECT_EQ(error({memory_feature<int32_t>("y", DType::kI32, {}, std::vector<int32_t>{})}), "no examples in memory");
}

TEST(Dataset, ReadsMemoryThatIsLent) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const MemoryFeature lent{{"x", {DType::kF32, {2}}}, {}, std::as_bytes(std::span(x))};
  InputOptions options;
  options.batch_size = 2;
  const Dataset data = Dataset::from_memory({lent}, options).take();
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.fingerprint(),
            Dataset::from_memory({memory_feature<float>("x", DType::kF32, {2}, x)}, options).take().fingerprint());
  EXPECT_EQ(data.data_fingerprint(),
            Dataset::from_memory({memory_feature<float>("x", DType::kF32, {2}, x)}, options).take().data_fingerprint());
}

TEST(Dataset, ArraysHaveAnExampleARow) {
  const Dataset data =
      Dataset::from_arrays({{"x", Array({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {3, 2})}, {"y", Array({7, 8, 9})}});
  EXPECT_EQ(data.size(), 3);
  ASSERT_EQ(data.specs().size(), 2u);
  EXPECT_EQ(data.specs()[0].type.str() + " " + data.specs()[1].type.str(), "f32[2] i32[]");
  Arrays moved{{"x", Array({1.0f, 2.0f}, {2, 1})}};
  const std::byte* const memory = moved.at("x").bytes().data();
  EXPECT_EQ(Dataset::from_arrays(moved).size(), 2);
  EXPECT_EQ(moved.at("x").bytes().data(), memory);  // a copy was taken
  EXPECT_EQ(Dataset::from_arrays(std::move(moved)).size(), 2);
  const auto error = [](const Arrays& arrays) -> std::string {
    try {
      Dataset::from_arrays(arrays);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error({{"x", Array({1.0f, 2.0f})}, {"y", Array({7, 8, 9})}}), "feature 'y' has 3 examples, 'x' has 2");
  EXPECT_EQ(error({{"x", Array(1.0f)}}), "from_arrays: feature 'x' is f32[], expected an example a row");
  EXPECT_NE(error({}), "");
}

TEST(InputPipeline, SlotsMustFitTheDataset) {
  const std::vector<int32_t> y(4);
  InputOptions options;
  options.batch_size = 2;
  const Dataset data = Dataset::from_memory({memory_feature<int32_t>("y", DType::kI32, {}, y)}, options).take();
  ThreadPool pool(1);
  const auto error = [&](std::vector<BatchSlot> slots) {
    return InputPipeline::create(data, pool, std::move(slots)).status().message();
  };
  EXPECT_EQ(error({}), "an input pipeline needs at least one slot");
  EXPECT_EQ(error({{}}), "an input slot has 0 pointers, the dataset has 1 features");
  EXPECT_EQ(error({{{nullptr}}}), "an input slot has a null pointer");
}

// What stands in a directory's name is no pattern, nor what stands in the name of a file that is there.
TEST(InputFiles, DirectoriesAndFilesMayHaveAnyName) {
  for (const std::string name : {"run[1]", "a*", "b?", "c\\"}) {
    TemporaryDirectory directory;
    std::filesystem::create_directory(directory / name);
    InputOptions options = numbers_in(directory);
    options.data_dir = directory / name;
    auto writer = RecordWriter::create(options.data_dir + "/train-00000-of-00001").take();
    check(writer.write("12345678"));
    check(writer.close());
    EXPECT_EQ(numbers(options).size(), 1) << name;
    options.data_dir.clear();
    options.file_pattern = directory / name + "/train-*";
    EXPECT_EQ(numbers(options).size(), 1) << name;
    std::filesystem::rename(directory / name + "/train-00000-of-00001", directory / name + "/" + name);
    options.file_pattern = directory / name + "/" + name;
    EXPECT_EQ(numbers(options).size(), 1) << name;
    options.file_pattern =
        directory.path() + "/[" + name[0] + "]*/*";  // directories as patterns, as the shell has them
    EXPECT_EQ(numbers(options).size(), 1) << name;
  }
}

TEST(InputFiles, PipesAndDevicesAreNamedAtOnce) {
  TemporaryDirectory directory;
  const std::string path = directory / "train-00000-of-00001";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Dataset::from_records(numbers_in(directory), number_specs(), read_number).status().message(),
            "cannot read '" + path + "': expected a regular file, found a device or pipe");
  InputOptions options = numbers_in(directory);
  options.file_pattern = "/dev/zero";
  EXPECT_EQ(Dataset::from_records(options, number_specs(), read_number).status().message(),
            "cannot read '/dev/zero': expected a regular file, found a device or pipe");
}

}  // namespace
}  // namespace tenon
