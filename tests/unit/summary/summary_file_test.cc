// Files of events: what is in them, and that they stay whole.
#include <sys/wait.h>

#include <regex>
#include <thread>

#include "data/image/image.h"
#include "tenon/summary.h"
#include "unit/data/temporary_directory.h"
#include "unit/summary/event_testing.h"
#include "unit/summary/small_disk.h"

namespace tenon {
namespace {

using namespace callback_testing;

TEST(SummaryFile, HasTensorFlowsName) {
  const TemporaryDirectory directory;
  const SummaryWriter two(directory / "a/b"), one(directory / "c", {.tf1 = true});
  const std::regex name("events\\.out\\.tfevents\\.[0-9]{10}\\..+\\.[0-9]+\\.[0-9]+(\\.v2)?");
  for (const std::string& path : {two.path(), one.path()})
    EXPECT_TRUE(std::regex_match(path.substr(path.rfind('/') + 1), name)) << path;
  EXPECT_TRUE(two.path().ends_with(".v2"));
  EXPECT_FALSE(one.path().ends_with(".v2"));
}

TEST(SummaryFile, ScalarsAreTensorsOrNumbersAsTensorFlow1HasThem) {
  const TemporaryDirectory directory;
  SummaryWriter(directory / "2").scalar("loss", 0.5, 7);
  SummaryWriter(directory / "1", {.tf1 = true}).scalar("loss", 0.5, 7);
  const SummaryValue two = values_of(only_file(directory / "2")).at(0),
                     one = values_of(only_file(directory / "1")).at(0);
  EXPECT_FALSE(two.simple);
  EXPECT_TRUE(one.simple);
  EXPECT_EQ(field_at(two.metadata, {1, 1}), "scalars");
  EXPECT_EQ(one.metadata, "");
  for (const char* name : {"1", "2"})
    EXPECT_EQ(scalars_of(only_file(directory / name)), (std::vector<Scalar>{{7, "loss", 0.5f}}));
}

TEST(SummaryFile, ImagesArePngsBehindTheirSizes) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  // 2 images of 1 x 3 with alpha, which is left out; what is beyond 0 to 1 is cut off.
  const std::vector<float> shades = {0, 0.5f, 1, 9, 2, -1, 0.1f, 9, 0, 0, 0, 9, 1, 1, 1, 9, 0, 0, 0, 9, 1, 1, 1, 9};
  writer.image("i", Array(shades, {2, 1, 3, 4}), 1);
  writer.image("first", Array(std::vector<uint8_t>{7, 9}, {2, 1, 1, 1}), 2, {.max_outputs = 1});
  const std::vector<SummaryValue> values = values_of(writer.path());
  ASSERT_EQ(values.size(), 2u);
  ASSERT_EQ(values[0].strings.size(), 4u);
  EXPECT_EQ(values[0].shape, std::vector<int64_t>{4});
  EXPECT_EQ(values[0].strings[0], "3");
  EXPECT_EQ(values[0].strings[1], "1");
  Image image;
  ASSERT_TRUE(decode_image(values[0].strings[2], {}, &image).ok());
  image.pixels.resize(image.bytes());
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{0, 127, 255, 255, 0, 25, 0, 0, 0}));
  ASSERT_EQ(values[1].strings.size(), 3u);
  ASSERT_TRUE(decode_image(values[1].strings[2], {.channels = 1}, &image).ok());
  EXPECT_EQ(image.pixels.at(0), 7);
}

TEST(SummaryFile, TextsAreStrings) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  writer.text("one", "# Title", 1);
  writer.text("several", std::vector<std::string>{"a", "b"}, 2);
  const std::vector<SummaryValue> values = values_of(writer.path());
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].strings, std::vector<std::string>{"# Title"});
  EXPECT_TRUE(values[0].shape.empty());
  EXPECT_EQ(values[1].strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(values[1].shape, std::vector<int64_t>{2});
}

TEST(SummaryFile, GraphsHaveOpsInputsAndShapes) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  writer.graph({{"x", "Placeholder", {}, {{DType::kF32, {8, 3}}}},
                {"dense/dot", "dot", {"x", "w:1"}, {{DType::kBF16, {8, 4}}}}});
  const std::string graph = field_at(events_of(writer.path()).at(1), {4});
  std::vector<std::string> nodes;
  for (const wire::Field& field : fields_of(graph))
    if (field.number() == 1) nodes.emplace_back(field.contents);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(field_at(nodes[0], {1}), "x");
  EXPECT_EQ(field_at(nodes[0], {2}), "Placeholder");
  std::vector<std::string> inputs, attributes;
  for (const wire::Field& field : fields_of(nodes[1])) {
    if (field.number() == 3) inputs.emplace_back(field.contents);
    if (field.number() == 5) attributes.emplace_back(field.contents);
  }
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "w:1"}));
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(field_at(attributes[0], {1}), "_output_shapes");
  std::vector<std::string> dims;
  const std::string shape = field_at(attributes[0], {2, 1, 7});
  for (const wire::Field& dim : fields_of(shape)) dims.push_back(field_at(dim.contents, {1}));
  EXPECT_EQ(dims, (std::vector<std::string>{"8", "4"}));
  EXPECT_EQ(field_at(attributes[1], {2, 6}), "14");  // DT_BFLOAT16
}

TEST(SummaryFile, HyperparametersHaveABeginningAndAnEnd) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  writer.hparams({{"bias", true}, {"optimizer", std::string("adam")}, {"units", int64_t{64}}});
  writer.hparams_end(false);
  const std::vector<SummaryValue> values = values_of(writer.path());
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].tag, "_hparams_/session_start_info");
  EXPECT_EQ(values[1].tag, "_hparams_/session_end_info");
  EXPECT_EQ(field_at(values[0].metadata, {1, 1}), "hparams");
  EXPECT_EQ(field_at(values[0].metadata, {1, 2, 3, 4}), "bias=true, optimizer=adam, units=64");
  EXPECT_EQ(field_at(values[1].metadata, {1, 2, 4, 1}), "2");  // STATUS_FAILURE
  std::map<std::string, std::string> found;
  const std::string start = field_at(values[0].metadata, {1, 2, 3});
  for (const wire::Field& field : fields_of(start))
    if (field.number() == 1) found[field_at(field.contents, {1})] = field_at(field.contents, {2});
  EXPECT_EQ(field_at(found["bias"], {4}), "1");
  EXPECT_EQ(field_at(found["optimizer"], {3}), "adam");
  double units = 0;
  std::memcpy(&units, field_at(found["units"], {2}).data(), sizeof units);
  EXPECT_EQ(units, 64);
}

TEST(SummaryFile, IsReadAsFarAsItIsWhole) {
  const TemporaryDirectory directory;
  const std::string a = directory / "a";
  std::string last;
  {
    SummaryWriter writer(a);
    writer.scalars({{"loss", 0.5}, {"rate", 2}}, 1);
    writer.text("device", "cpu", 1);
  }
  {
    SummaryWriter writer(a, {.tf1 = true});
    writer.scalar("loss", -1, 3);
    writer.scalar("loss", 7, 5);
    last = writer.path();
  }
  std::filesystem::resize_file(last, std::filesystem::file_size(last) - 1);  // as a kill leaves it
  const RecordedSummaries read = read_summaries(a).take();
  ASSERT_EQ(read.scalars.size(), 2u);
  const std::vector<ScalarPoint>& loss = read.scalars.at("loss");
  ASSERT_EQ(loss.size(), 2u);
  EXPECT_EQ(loss[0].step, 1);
  EXPECT_EQ(loss[0].value, 0.5);
  EXPECT_EQ(loss[1].step, 3);
  EXPECT_EQ(loss[1].value, -1);
  EXPECT_GT(loss[0].wall_time, 1.6e9);
  EXPECT_EQ(read.texts.at("device"), "cpu");
  EXPECT_TRUE(read_summaries(directory / "none").take().scalars.empty());
}

// As TensorBoard does, which purges what a session that begins has behind it.
TEST(SummaryFile, ATrainingThatBeganAnewTakesThePlaceOfLaterSteps) {
  const TemporaryDirectory directory;
  {
    SummaryWriter writer(directory.path(), {.tf1 = true});
    for (const int64_t step : {1, 101, 201}) writer.scalar("loss", 1, step);
  }
  SummaryWriter writer(directory.path(), {.tf1 = true});
  writer.restarted(100);
  writer.scalar("loss", 2, 150);
  std::vector<int64_t> steps;
  RecordedSummaries recorded = read_summaries(directory.path()).take();
  for (const ScalarPoint& point : recorded.scalars["loss"]) steps.push_back(point.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 150}));
}

TEST(SummaryFile, WritersOfAProcessShareAFileAndMayBeOfManyThreads) {
  const TemporaryDirectory directory;
  constexpr int kThreads = 4, kEach = 50;
  {
    SummaryWriter first(directory.path());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        SummaryWriter writer(directory.path() + "/.", {.tf1 = t % 2 == 0});
        EXPECT_EQ(writer.path(), first.path());
        EXPECT_EQ(writer.notice(), "");
        for (int i = 0; i < kEach; ++i) writer.scalar("t" + std::to_string(t), i, i);
      });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(scalars_of(only_file(directory.path())).size(), size_t{kThreads} * kEach);
  SummaryWriter another(directory.path());
  EXPECT_EQ(another.notice(), "");  // nobody writes the first one now
  EXPECT_EQ(directory.entries(), 2u);
}

TEST(SummaryFile, NoticesThatAnotherProcessWritesToTheDirectory) {
  const TemporaryDirectory directory;
  int ready[2], end[2];
  ASSERT_EQ(pipe(ready) + pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    SummaryWriter writer(directory.path());
    char byte = 0;
    (void)!write(ready[1], &byte, 1);
    (void)!read(end[0], &byte, 1);  // until the test is over
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  {
    const std::string others = std::filesystem::path(only_file(directory.path())).filename();
    SummaryWriter writer(directory.path());
    EXPECT_EQ(writer.notice(),
              directory.path() + ": another run writes " + others + " there now; TensorBoard shows both as one");
  }
  close(end[1]);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(SummaryWriter(directory.path()).notice(), "");
}

TEST(SummaryFile, KeepsWholeRecordsWhereTheDiskFillsAndGoesOnWhenThereIsRoom) {
  const TemporaryDirectory directory;
  SummaryWriter writer(directory.path());
  writer.scalar("loss", 1, 1);
  const auto whole = std::filesystem::file_size(writer.path());
  {
    const SmallDisk disk(whole + 20);
    try {
      writer.scalar("loss", 2, 2);
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()), "cannot write '" + writer.path() + "': File too large");
    }
    EXPECT_EQ(std::filesystem::file_size(writer.path()), whole);
  }
  writer.scalar("loss", 3, 3);
  EXPECT_EQ(scalars_of(writer.path()), (std::vector<Scalar>{{1, "loss", 1}, {3, "loss", 3}}));
}

TEST(SummaryFile, LeavesNoEmptyFileWhereNothingCanBeWritten) {
  const TemporaryDirectory directory;
  const SmallDisk disk(10);
  EXPECT_THROW(SummaryWriter(directory.path()), Error);
  EXPECT_EQ(directory.entries(), 0u);
}

}  // namespace
}  // namespace tenon
