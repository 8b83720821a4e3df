// What callbacks print, write and refuse.
#include "tenon/callbacks.h"

#include <fstream>
#include <limits>

#include "unit/callback/callback_testing.h"

namespace tenon {
namespace {

using namespace callback_testing;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The lines of tests/golden/printed.txt from "== HEAD.." to the next "==".
std::vector<std::string> printed(const std::string& head) {
  std::ifstream file(std::string(TENON_GOLDEN) + "/printed.txt");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== "))
      inside = line.starts_with("== " + head);
    else if (inside)
      out.push_back(line);
  }
  EXPECT_FALSE(out.empty()) << head;
  return out;
}

// What was said, a line each, without what fit() prints in between.
std::vector<std::string> said(const TestRun& run, const std::string& directory) {
  std::vector<std::string> out;
  for (std::string line : run.lines) {
    if (line.starts_with('\n')) out.push_back(""), line.erase(0, 1);
    if (const size_t at = line.find(directory); at != std::string::npos) line.replace(at, directory.size(), "DIR");
    out.push_back(line);
  }
  return out;
}

std::vector<std::string> without_fits_own(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const bool epoch = line.starts_with("Epoch ") && line.find(':') == std::string::npos;
    if (!epoch && !line.starts_with("1/1 - ")) out.push_back(line);
  }
  return out;
}

// printed.txt: halving the rate each epoch, 0.27128 then 0.26846, and then nothing that is better by 0.05.
TEST(Callbacks, SayWhatKerasPrints) {
  const TemporaryDirectory directory;
  TestRun run;
  run.set_learning_rate(0.1);
  LearningRateScheduler schedule([](int, double rate) { return rate / 2; }, {.verbose = 1});
  ModelCheckpoint checkpoint(directory / "m_{epoch:02d}-{val_loss:.2f}.keras", {.verbose = 1, .save_best_only = true});
  ReduceLROnPlateau plateau({.patience = 1, .verbose = 1, .min_delta = 0.05});
  EarlyStopping stop({.min_delta = 0.05, .patience = 1, .verbose = 1, .restore_best_weights = true});
  const std::vector<Callback*> all{&schedule, &checkpoint, &plateau, &stop};
  for (Callback* c : all) c->on_train_begin(run);
  const double losses[] = {0.2712777554988861, 0.2684582769870758};
  for (int epoch = 0; epoch < 2; ++epoch) {
    Logs logs{{"val_loss", losses[epoch]}};
    for (Callback* c : all) c->on_epoch_begin(run, epoch);
    for (Callback* c : all) c->on_epoch_end(run, epoch, logs);
  }
  for (Callback* c : all) c->on_train_end(run, {});
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(said(run, directory.path()), without_fits_own(printed("callback texts")));
}

TEST(Callbacks, ModelCheckpointSaysWhatItDoesNotSave) {
  const TemporaryDirectory directory;
  TestRun best, each;
  ModelCheckpoint first(directory / "m", {.verbose = 1, .save_best_only = true});
  run_epochs(best, first, "val_loss", {0.26846, 0.3});
  EXPECT_EQ(best.lines.back(), "\nEpoch 2: val_loss did not improve from 0.26846");
  EXPECT_EQ(first.last_saved(), directory / "m");
  EXPECT_EQ(first.best(), 0.26846);
  ModelCheckpoint second(directory / "new/m", {.verbose = 1, .save_weights_only = true});
  run_epochs(each, second, "val_loss", {1});
  EXPECT_EQ(each.lines[0], "\nEpoch 1: saving model to " + directory / "new/m");
  EXPECT_TRUE(each.saved.empty());
  EXPECT_EQ(each.saved_weights, std::vector<std::string>{directory / "new/m"});
  EXPECT_TRUE(directory.has("new"));
}

TEST(Callbacks, WhatIsMonitoredAndMissingIsSaidOnce) {
  TestRun run;
  EarlyStopping stop;
  run_epochs(run, stop, "loss", {3, 2, 1});
  EXPECT_EQ(run.lines, std::vector<std::string>{
                           "EarlyStopping: monitor is 'val_loss', which epoch 1 does not have; it has: loss"});
  EXPECT_FALSE(stop.stopped_epoch());
}

TEST(Callbacks, TheNameOfAMetricSaysWhatIsBetter) {
  for (const auto& [monitor, stopped] : {std::pair("val_accuracy", 3),
                                         {"val_auc", 3},
                                         {"f1_score", 3},
                                         {"loss", 1},
                                         {"val_mean_squared_error", 1},
                                         {"val_false_positives", 1}}) {
    TestRun run;
    EarlyStopping stop({.monitor = monitor});
    run_epochs(run, stop, monitor, {1, 2, 3, 2});
    EXPECT_EQ(stop.stopped_epoch(), stopped) << monitor;
  }
  EXPECT_EQ(error_of([] { EarlyStopping({.monitor = "val_luck"}); }),
            "EarlyStopping: mode is auto, and the name of monitor 'val_luck' does not say whether more or less is "
            "better; expected mode min or max");
}

TEST(Callbacks, AnObjectBeginsAnewWithTheNextCall) {
  TestRun first, second;
  EarlyStopping stop({.patience = 1});
  run_epochs(first, stop, "val_loss", {1, 2});
  EXPECT_EQ(stop.stopped_epoch(), 1);
  run_epochs(second, stop, "val_loss", {5, 4, 3});
  EXPECT_EQ(stop.stopped_epoch(), std::nullopt);
  EXPECT_EQ(stop.best(), 3);
  EXPECT_EQ(stop.best_epoch(), 2);
}

TEST(Callbacks, ALearningRateMayBeAFunctionOfTheEpochAlone) {
  TestRun run;
  LearningRateScheduler schedule([](int epoch) { return epoch < 1 ? 0.5 : 0.25; });
  Logs logs;
  schedule.on_epoch_begin(run, 0);
  EXPECT_EQ(run.learning_rate(), 0.5);
  schedule.on_epoch_begin(run, 1);
  schedule.on_epoch_end(run, 1, logs);
  EXPECT_EQ(logs, (Logs{{"learning_rate", 0.25}}));
  LearningRateScheduler bad([](int) { return kNaN; });
  EXPECT_EQ(error_of([&] { bad.on_epoch_begin(run, 7); }),
            "LearningRateScheduler: what schedule gave for epoch 7 is nan, expected 0 or more");
}

TEST(Callbacks, CSVLoggerWritesWhatKerasWrites) {
  const std::vector<std::string> lines = printed("CSVLogger file");
  const TemporaryDirectory directory;
  TestRun run;
  CSVLogger with(directory / "with.csv"), without(directory / "a/without.csv");
  with.on_train_begin(run);
  const std::vector<Logs> rows{{{"accuracy", 0},
                                {"learning_rate", 0.05000000074505806},
                                {"loss", 0.2771522104740143},
                                {"mae", 0.47629135847091675},
                                {"val_accuracy", 0},
                                {"val_loss", 0.2712777554988861},
                                {"val_mae", 0.4694288671016693}},
                               {{"accuracy", 0},
                                {"learning_rate", 0.02500000037252903},
                                {"loss", 0.2712777554988861},
                                {"mae", 0.4694288372993469},
                                {"val_accuracy", 0},
                                {"val_loss", 0.2684582769870758},
                                {"val_mae", 0.4660768508911133}}};
  for (int epoch = 0; epoch < 2; ++epoch) {
    Logs logs = rows[static_cast<size_t>(epoch)];
    with.on_epoch_end(run, epoch, logs);
  }
  EXPECT_EQ(directory.read("with.csv"), lines[0] + "\r\n" + lines[1] + "\r\n" + lines[2] + "\r\n");
  without.on_train_begin(run);
  Logs logs{{"accuracy", 0}, {"loss", 0.2712777554988861}, {"mae", 0.4694288372993469}};
  without.on_epoch_end(run, 0, logs);
  EXPECT_EQ(directory.read("a/without.csv"), lines[3] + "\r\n" + lines[4] + "\r\n");
}

TEST(Callbacks, CSVLoggerAppendsUnderTheHeaderThatIsThere) {
  const TemporaryDirectory directory;
  TestRun run;
  for (const bool append : {false, true}) {
    CSVLogger log(directory / "log.csv", {.separator = ";", .append = append});
    log.on_train_begin(run);
    Logs logs{{"loss", kNaN}, {"val_loss", 1e-5}};
    log.on_epoch_end(run, append, logs);
  }
  EXPECT_EQ(directory.read("log.csv"), "epoch;loss;val_loss\r\n0;nan;1e-05\r\n1;nan;1e-05\r\n");
}

TEST(Callbacks, BackupAndRestoreGoesOnAtTheEpochThatWasCutShort) {
  const TemporaryDirectory directory;
  TestRun killed, next;
  BackupAndRestore first(directory / "b");
  first.on_train_begin(killed);
  Logs logs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    first.on_epoch_begin(killed, epoch);
    first.on_epoch_end(killed, epoch, logs);
  }
  first.on_train_error(killed, Status(Code::kInterrupted, ""));
  EXPECT_TRUE(killed.loaded.empty());
  EXPECT_TRUE(directory.has("b/state-2.index") && directory.has("b/training_metadata.json"));
  EXPECT_FALSE(directory.has("b/state-1.index"));
  BackupAndRestore second(directory / "b");
  second.on_train_begin(next);
  EXPECT_EQ(next.loaded, std::vector<std::string>{directory / "b/state-2"});
  EXPECT_EQ(next.initial_epoch, 2);
  second.on_train_end(next, {});
  EXPECT_FALSE(directory.has("b"));
}

TEST(Callbacks, BackupAndRestoreGoesBackToTheBeginningOfAnEpochThatHadBegun) {
  const TemporaryDirectory directory;
  TestRun killed, next;
  BackupAndRestore first(directory.path(), {.save_freq = 3, .delete_checkpoint = false});
  first.on_train_begin(killed);
  for (int epoch = 0; epoch < 2; ++epoch) {
    first.on_epoch_begin(killed, epoch);
    for (int batch = 0; batch < 2; ++batch) first.on_train_batch_end(killed, batch, {});
  }
  EXPECT_EQ(directory.read("training_metadata.json"), "{\"epoch\": 1, \"batch\": 1, \"state\": 1}\n");
  first.on_train_end(killed, {});
  BackupAndRestore(directory.path()).on_train_begin(next);
  EXPECT_EQ(next.initial_epoch, 1);
  directory.write("training_metadata.json", "{}");
  EXPECT_EQ(error_of([&] { BackupAndRestore(directory.path()).on_train_begin(next); }),
            "BackupAndRestore: " + directory / "training_metadata.json" +
                " is damaged: expected epoch, batch and state, found '{}'; remove its directory to begin anew");
}

TEST(Callbacks, TerminateOnNaNStopsAtTheStepWhoseLossItIs) {
  TestRun run;
  run.last_losses = {1, static_cast<float>(kNaN), 2, 3};
  TerminateOnNaN().on_train_batch_end(run, 7, {{"loss", kNaN}});
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(run.lines, std::vector<std::string>{"Batch 5: Invalid loss, terminating training"});
  run.last_losses.clear();
  EXPECT_EQ(error_of([&] {
              TerminateOnNaN({.raise_error = true})
                  .on_train_batch_end(run, 3, {{"loss", std::numeric_limits<double>::infinity()}});
            }),
            "NaN or Inf loss encountered at batch 3 (loss=inf)");
}

TEST(Callbacks, SwapEMAWeightsEvaluatesWithTheAverages) {
  TestRun run;
  run.write("w/ExponentialMovingAverage", Array(7.0f));
  SwapEMAWeights swap;
  swap.on_train_begin(run);
  run.write("w", Array(3.0f));
  swap.on_test_begin(run);
  EXPECT_EQ(run.weight(), 7);
  swap.on_test_end(run, {});
  EXPECT_EQ(run.weight(), 3);
  EXPECT_EQ(run.read("w/ExponentialMovingAverage").item(), 7);
  SwapEMAWeights by_name({.swap_on_epoch = true, .averages = {{"w", "w/momentum"}}});
  Logs logs;
  by_name.on_epoch_end(run, 0, logs);
  EXPECT_EQ(run.weight(), 0);
  by_name.on_epoch_begin(run, 1);
  EXPECT_EQ(run.weight(), 3);
  TestRun none;
  EXPECT_NE(error_of([&] { SwapEMAWeights().on_test_begin(none); }).find("no weight has a moving average"),
            std::string::npos);
  EXPECT_NE(error_of([&] { SwapEMAWeights().on_epoch_end(none, 0, logs); }).find("no weight has a moving average"),
            std::string::npos);
  EXPECT_EQ(error_of([&] {
              SwapEMAWeights({.averages = {{"w", "v"}}}).on_test_begin(none);
            }),
            "averages has 'v', which is no variable of the model or its optimizer");
}

TEST(Callbacks, LambdaCallbackCallsWhatItWasGiven) {
  TestRun run;
  std::string order;
  LambdaCallback callback({.on_train_begin = [&](TrainingRun&) { order += "b"; },
                           .on_epoch_end = [&](TrainingRun&, int epoch, Logs& logs) { logs["e"] = epoch; },
                           .on_train_batch_end = [&](TrainingRun& r, int64_t, const Logs&) { r.stop(); }});
  Logs logs;
  callback.on_train_begin(run);
  callback.on_epoch_begin(run, 2);
  callback.on_train_batch_end(run, 0, logs);
  callback.on_epoch_end(run, 2, logs);
  EXPECT_EQ(order, "b");
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(logs, (Logs{{"e", 2}}));
}

TEST(Callbacks, WrongArgumentsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {error_of([] { EarlyStopping({.patience = -1}); }), "EarlyStopping: patience is -1, expected 0 or more"},
      {error_of([] { EarlyStopping({.min_delta = -0.5}); }), "EarlyStopping: min_delta is -0.5, expected 0 or more"},
      {error_of([] { EarlyStopping({.mode = "mean"}); }), "EarlyStopping: mode is 'mean', expected min, max or auto"},
      {error_of([] { EarlyStopping({.start_from_epoch = -2}); }),
       "EarlyStopping: start_from_epoch is -2, expected 0 or more"},
      {error_of([] { ReduceLROnPlateau({.factor = 1}); }), "ReduceLROnPlateau: factor is 1, expected less than 1"},
      {error_of([] { ReduceLROnPlateau({.patience = -3}); }), "ReduceLROnPlateau: patience is -3, expected 0 or more"},
      {error_of([] { ReduceLROnPlateau({.min_lr = kNaN}); }), "ReduceLROnPlateau: min_lr is nan, expected 0 or more"},
      {error_of([] { ModelCheckpoint(""); }), "ModelCheckpoint: filepath is '', expected a path"},
      {error_of([] { ModelCheckpoint("m", {.save_freq = -1}); }),
       "ModelCheckpoint: save_freq is -1, expected \"epoch\" or a number of batches, 1 or more"},
      {error_of([] { ModelCheckpoint("m", {.save_freq = "epochs"}); }),
       "ModelCheckpoint: save_freq is 'epochs', expected \"epoch\" or a number of batches, 1 or more"},
      {error_of([] { CSVLogger("f", {.separator = ""}); }), "CSVLogger: separator is '', expected one character"},
      {error_of([] { BackupAndRestore(""); }), "BackupAndRestore: backup_dir is '', expected a directory"}};
  for (const auto& [found, expected] : wrong) EXPECT_EQ(found, expected);
}

TEST(Callbacks, PathsNameWhatThereIs) {
  const TemporaryDirectory directory;
  const auto path_of = [&](const std::string& path) {
    TestRun run;
    ModelCheckpoint checkpoint(directory / path);
    run_epochs(run, checkpoint, "val_loss", {0.123456});
    return run.saved.at(0).substr(directory.path().size() + 1);
  };
  EXPECT_EQ(path_of("{epoch}_{val_loss}"), "1_0.123456");
  EXPECT_EQ(path_of("{epoch:04d}_{val_loss:.3e}_{{x}}"), "0001_1.235e-01_{x}");
  const std::string start = "ModelCheckpoint: filepath '" + directory.path() + "/";
  EXPECT_EQ(error_of([&] { path_of("{batch}"); }), start + "{batch}' names 'batch', there are: epoch, val_loss");
  EXPECT_EQ(error_of([&] { path_of("{epoch"); }), start + "{epoch' has a { without a }");
  EXPECT_EQ(error_of([&] { path_of("{epoch:%n}"); }),
            start + "{epoch:%n}' has the format '%n', expected one as 02d or .2f");
}

TEST(Callbacks, LambdaCallbackHasTheFunctionsOfEvaluationAndPrediction) {
  TestRun run;
  std::string order;
  const auto note = [&](const char* what) { return [&order, what](TrainingRun&, auto...) { order += what; }; };
  LambdaCallback callback({.on_test_begin = note("a"),
                           .on_test_end = note("d"),
                           .on_test_batch_begin = note("b"),
                           .on_test_batch_end = note("c"),
                           .on_predict_begin = note("e"),
                           .on_predict_end = note("h"),
                           .on_predict_batch_begin = note("f"),
                           .on_predict_batch_end = note("g")});
  Callback& c = callback;
  c.on_test_begin(run), c.on_test_batch_begin(run, 0), c.on_test_batch_end(run, 0, {}), c.on_test_end(run, {});
  c.on_predict_begin(run), c.on_predict_batch_begin(run, 0), c.on_predict_batch_end(run, 0), c.on_predict_end(run);
  EXPECT_EQ(order, "abcdefgh");
}

}  // namespace
}  // namespace tenon
