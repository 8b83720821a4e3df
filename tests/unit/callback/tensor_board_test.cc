#include "callback/weight_image.h"
#include "tenon/callbacks.h"
#include "tenon/graph_node.h"
#include "unit/callback/callback_testing.h"
#include "unit/summary/event_testing.h"
#include "unit/summary/small_disk.h"

namespace tenon {
namespace {

using namespace callback_testing;

// Without how long it took, which is checked to be there.
std::vector<Scalar> timeless(const std::vector<Scalar>& scalars) {
  std::vector<Scalar> out;
  for (const Scalar& scalar : scalars)
    if (scalar.tag.ends_with("_seconds") || scalar.tag.ends_with("_per_second"))
      EXPECT_GT(scalar.value, 0) << scalar.tag;
    else
      out.push_back(scalar);
  return out;
}

std::vector<std::string> tags_of(const std::string& file, const std::string& plugin) {
  std::vector<std::string> out;
  for (const SummaryValue& value : values_of(file))
    if (field_at(value.metadata, {1, 1}) == plugin) out.push_back(value.tag);
  return out;
}

struct GraphRun : TestRun {
  std::vector<GraphNode> graph() const override { return {{"x", "Placeholder"}}; }
};

void train_epoch(TestRun& run, TensorBoard& board, int epoch) {
  board.on_epoch_begin(run, epoch);
  for (int i = 0; i < 3; ++i) {
    ++run.at;
    board.on_train_batch_end(run, i, {{"loss", static_cast<double>(run.at)}});
  }
  board.on_test_end(run, {{"loss", 8}});
  Logs logs{{"loss", 2}, {"val_loss", 8}};
  board.on_epoch_end(run, epoch, logs);
}

// The tags are those that Keras writes.
TEST(TensorBoard, WritesEpochsBatchesAndEvaluations) {
  const TemporaryDirectory directory;
  TestRun run;
  TensorBoard board({.log_dir = directory / "runs", .update_freq = 2});
  board.on_train_begin(run);
  train_epoch(run, board, 0);
  board.on_train_end(run, {});
  EXPECT_EQ(timeless(scalars_of(only_file(directory / "runs/train"))),
            (std::vector<Scalar>{{2, "batch_loss", 2}, {0, "epoch_learning_rate", 0.1f}, {0, "epoch_loss", 2}}));
  EXPECT_EQ(timeless(scalars_of(only_file(directory / "runs/validation"))),
            (std::vector<Scalar>{{3, "evaluation_loss_vs_iterations", 8}, {0, "epoch_loss", 8}}));
  EXPECT_EQ(tags_of(only_file(directory / "runs/train"), "text"), std::vector<std::string>{"device"});
}

TEST(TensorBoard, WritesStepsPerSecondWhereAskedFor) {
  const TemporaryDirectory directory;
  TestRun run;
  TensorBoard board({.log_dir = directory.path(), .write_steps_per_second = true, .update_freq = 1});
  board.on_train_begin(run);
  train_epoch(run, board, 0);
  board.on_train_end(run, {});
  std::set<std::string> tags;
  for (const Scalar& scalar : scalars_of(only_file(directory / "train"))) tags.insert(scalar.tag);
  EXPECT_TRUE(tags.contains("epoch_steps_per_second"));
  EXPECT_TRUE(tags.contains("batch_steps_per_second"));
  EXPECT_TRUE(tags.contains("epoch_seconds"));
}

TEST(TensorBoard, WritesWeightsAsHistogramsAndImages) {
  const TemporaryDirectory directory;
  TestRun run;
  run.values["w"] = Array({1.0f, 2.0f, 3.0f});
  TensorBoard board({.log_dir = directory.path(), .histogram_freq = 2, .write_images = true});
  board.on_train_begin(run);
  for (int epoch = 0; epoch < 3; ++epoch) train_epoch(run, board, epoch);
  board.on_train_end(run, {});
  const std::string file = only_file(directory / "train");
  EXPECT_EQ(tags_of(file, "histograms"), (std::vector<std::string>{"w/histogram", "w/histogram"}));
  EXPECT_EQ(tags_of(file, "images"), (std::vector<std::string>{"w/image", "w/image"}));
}

TEST(TensorBoard, WritesTheGraphOnceUnlessToldNotTo) {
  for (const bool wanted : {true, false}) {
    const TemporaryDirectory directory;
    GraphRun run;
    TensorBoard board({.log_dir = directory.path(), .write_graph = wanted});
    board.on_train_begin(run);
    for (int epoch = 0; epoch < 2; ++epoch) train_epoch(run, board, epoch);
    board.on_train_end(run, {});
    int graphs = 0;
    for (const std::string& event : events_of(only_file(directory / "train")))
      if (const std::string graph = field_at(event, {4}); !graph.empty()) {
        EXPECT_EQ(field_at(graph, {1, 2}), "Placeholder");
        ++graphs;
      }
    EXPECT_EQ(graphs, wanted ? 1 : 0);
  }
}

// Keras's _log_weight_as_image, in shades from the least number to the largest.
TEST(TensorBoard, ShowsWeightsAsKerasDoes) {
  const auto shape = [](const Shape& weight) {
    const std::optional<Array> image = weight_image(Array(Type{DType::kF32, weight}));
    return image ? image->shape().str() : "none";
  };
  EXPECT_EQ(shape({5}), "[1,5,1,1]");
  EXPECT_EQ(shape({5, 1, 1}), "[1,5,1,1]");
  EXPECT_EQ(shape({3, 5}), "[1,3,5,1]");
  EXPECT_EQ(shape({5, 3}), "[1,3,5,1]");
  EXPECT_EQ(shape({5, 4, 1, 32}), "[32,5,4,1]");
  EXPECT_EQ(shape({5, 4, 2, 3}), "[5,4,2,3]");
  EXPECT_EQ(shape({5, 4, 2, 32}), "none");
  EXPECT_EQ(shape({1, 1}), "none");
  EXPECT_EQ(weight_image(Array({-1.0f, 0.0f, 1.0f, 3.0f, 0.0f, -1.0f}, {3, 2}))->to<float>(),
            (std::vector<float>{0, 0.5f, 0.25f, 0.25f, 1, 0}));
}

TEST(TensorBoard, SaysOnceThatTheDiskIsFullAndAgainAfterItWasNot) {
  const TemporaryDirectory directory;
  TestRun run;
  TensorBoard board({.log_dir = directory.path()});
  board.on_train_begin(run);
  const std::string file = only_file(directory / "train");
  const auto full = [&] { return SmallDisk(std::filesystem::file_size(file)); };
  {
    const SmallDisk disk = full();
    train_epoch(run, board, 0);
    train_epoch(run, board, 1);
  }
  ASSERT_EQ(run.lines.size(), 1u);
  EXPECT_TRUE(run.lines[0].ends_with("': File too large; training goes on without what was to be written"));
  train_epoch(run, board, 2);
  {
    const SmallDisk disk = full();
    train_epoch(run, board, 3);
  }
  ASSERT_EQ(run.lines.size(), 2u);
  EXPECT_EQ(run.lines[1], "TensorBoard: cannot write '" + file +
                              "': File too large; training goes on without what was to be written");
  board.on_train_end(run, {});
  EXPECT_EQ(timeless(scalars_of(file)), (std::vector<Scalar>{{2, "epoch_learning_rate", 0.1f}, {2, "epoch_loss", 2}}));
}

TEST(TensorBoard, WritesWhatEvaluationAloneGives) {
  const TemporaryDirectory directory;
  TestRun run;
  TensorBoard board({.log_dir = directory.path()});
  board.on_test_begin(run);
  board.on_test_end(run, {{"loss", 8}});
  EXPECT_EQ(scalars_of(only_file(directory / "validation")),
            (std::vector<Scalar>{{0, "evaluation_loss_vs_iterations", 8}}));
}

TEST(TensorBoard, RefusesWrongArguments) {
  EXPECT_EQ(error_of([] { TensorBoard({.log_dir = ""}); }), "TensorBoard: log_dir is '', expected a directory");
  EXPECT_EQ(error_of([] { TensorBoard({.histogram_freq = -1}); }),
            "TensorBoard: histogram_freq is -1, expected 0 or more");
  EXPECT_EQ(error_of([] { TensorBoard({.update_freq = "batch"}); }),
            "TensorBoard: update_freq is 'batch', expected \"epoch\" or a number of batches, 1 or more");
  EXPECT_EQ(error_of([] { HParamsCallback("", {}); }), "HParamsCallback: log_dir is '', expected a directory");
}

TEST(TensorBoard, ADirectoryThatCannotBeIsAnErrorBeforeTheFirstStep) {
  const TemporaryDirectory directory;
  directory.write("file", "");
  TestRun run;
  TensorBoard board({.log_dir = directory / "file"});
  EXPECT_EQ(error_of([&] { board.on_train_begin(run); }),
            "TensorBoard: cannot make directory '" + directory.path() + "/file': File exists");
}

TEST(HParamsCallback, SaysHowTrainingEnded) {
  for (const bool fails : {false, true}) {
    const TemporaryDirectory directory;
    TestRun run;
    HParamsCallback hparams(directory.path(), {{"units", int64_t{3}}});
    hparams.on_train_begin(run);
    if (fails)
      hparams.on_train_error(run, Status(Code::kInvalid, "bad"));
    else
      hparams.on_train_end(run, {});
    const std::vector<SummaryValue> values = values_of(only_file(directory.path()));
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(field_at(values[1].metadata, {1, 2, 4, 1}), fails ? "2" : "1");
  }
}

}  // namespace
}  // namespace tenon
