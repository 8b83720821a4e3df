#include "tenon/callbacks.h"
#include "unit/callback/callback_testing.h"
#include "unit/callback/event_testing.h"

namespace tenon {
namespace {

using namespace callback_testing;

// The tags are those that Keras writes.
TEST(TensorBoard, WritesEpochsBatchesAndEvaluations) {
  const TemporaryDirectory directory;
  TestRun run;
  TensorBoard board({.log_dir = directory / "runs", .update_freq = 2});
  board.on_train_begin(run);
  board.on_epoch_begin(run, 0);
  for (run.at = 1; run.at <= 3; ++run.at)
    board.on_train_batch_end(run, run.at - 1, {{"loss", static_cast<double>(run.at)}});
  board.on_test_end(run, {{"loss", 8}});
  Logs logs{{"loss", 2}, {"val_loss", 8}};
  board.on_epoch_end(run, 0, logs);
  board.on_train_end(run, logs);
  EXPECT_EQ(scalars_of(only_file(directory / "runs/train")),
            (std::vector<Scalar>{{2, "batch_loss", 2}, {0, "epoch_loss", 2}}));
  EXPECT_EQ(scalars_of(only_file(directory / "runs/validation")),
            (std::vector<Scalar>{{4, "evaluation_loss_vs_iterations", 8}, {0, "epoch_loss", 8}}));
}

// What a killed trainer left of its last event is no error.
TEST(EventFile, ReadsTheScalarsOfAllFilesAsFarAsTheyAreWhole) {
  const TemporaryDirectory directory;
  EventFile first(directory.path()), second(directory.path());
  first.add(1, {{"a", 0.5}, {"b", 2}});
  second.add(3, {{"a", -1}});
  second.add(5, {{"a", 7}});
  std::filesystem::resize_file(second.path(), std::filesystem::file_size(second.path()) - 1);
  EXPECT_EQ(read_scalars(directory.path()), (std::map<int64_t, Logs>{{1, {{"a", 0.5}, {"b", 2}}}, {3, {{"a", -1}}}}));
  EXPECT_TRUE(read_scalars(directory.path() + "/none").empty());
}

TEST(TensorBoard, RefusesWrongArguments) {
  EXPECT_EQ(error_of([] { TensorBoard({.log_dir = ""}); }), "TensorBoard: log_dir is '', expected a directory");
  EXPECT_EQ(error_of([] { TensorBoard({.update_freq = "batch"}); }),
            "TensorBoard: update_freq is 'batch', expected \"epoch\" or a number of batches, 1 or more");
}

}  // namespace
}  // namespace tenon
