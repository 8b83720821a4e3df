#include "tenon/profiler.h"

#include <numeric>

#include "unit/train/estimator_testing.h"
#include "unit/train/profile/profile_testing.h"

namespace tenon {
namespace {

RunConfig traced() {
  RunConfig config = cpu("");
  config.trace = true;
  config.log_step_count_steps = 100;
  return config;
}

std::vector<std::string> step_names(const xplane_reader::Plane& plane) {
  std::vector<std::string> out;
  for (const xplane_reader::Event& e : plane.lines.at("Steps").events) out.push_back(e.name);
  return out;
}

TEST(ProfilerHook, TracesTheStepsThatItIsToldTo) {
  const TemporaryDirectory directory;
  Estimator estimator(small_model, traced());
  ProfilerHook profiler({.directory = directory.path(), .first_step = 4, .last_step = 6});
  EXPECT_FALSE(profiler.status().ok());
  ASSERT_TRUE(estimator.train({.input = examples(64, training_input(8)), .steps = 10, .hooks = {&profiler}}).ok());
  ASSERT_TRUE(profiler.status().ok()) << profiler.status().message();
  EXPECT_EQ(profiler.written().steps, 3);
  EXPECT_FALSE(profiler.written().predicted);
  EXPECT_EQ(profiler.written().xplane, only_file(directory / "plugins/profile", ".xplane.pb"));
  EXPECT_EQ(profiler.written().chrome_trace, only_file(directory / "plugins/profile", ".trace.json.gz"));
  const xplane_reader::Space space = xplane_reader::read(bytes_of(profiler.written().xplane));
  const xplane_reader::Plane& host = space.planes.at("/host:CPU");
  EXPECT_EQ(step_names(host), (std::vector<std::string>{"4", "5", "6"}));
  EXPECT_EQ(host.lines.at("Infeed").events.size(), 3u);
  std::map<std::string, int> times;  // of each op
  for (const xplane_reader::Event& e : host.lines.at("XLA Ops").events) ++times[e.name];
  EXPECT_GT(times.size(), 5u);
  for (const auto& [name, n] : times) EXPECT_EQ(n % 3, 0) << name;
}

TEST(ProfilerHook, HasTheSameEventsInBothFiles) {
  const TemporaryDirectory directory;
  Estimator estimator(small_model, traced());
  ProfilerHook profiler({.directory = directory.path(), .first_step = 1, .last_step = 2});
  ASSERT_TRUE(estimator.train({.input = examples(64, training_input(8)), .steps = 2, .hooks = {&profiler}}).ok());
  ASSERT_TRUE(profiler.status().ok()) << profiler.status().message();
  size_t in_xplane = 0, in_chrome = 0;
  const xplane_reader::Space space = xplane_reader::read(bytes_of(profiler.written().xplane));
  for (const auto& [name, plane] : space.planes)
    for (const auto& [line_name, line] : plane.lines) in_xplane += line.events.size();
  const nlohmann::json json = json_of_gzip(profiler.written().chrome_trace);
  for (const nlohmann::json& e : json.at("traceEvents")) in_chrome += e.at("ph") == "X";
  EXPECT_EQ(in_xplane, in_chrome);
}

TEST(ProfilerHook, EndsWithTrainingAndCountsOverCalls) {
  const TemporaryDirectory directory;
  Estimator estimator(small_model, traced());
  ProfilerHook profiler({.directory = directory.path(), .first_step = 4, .last_step = 60});
  const Dataset data = examples(64, training_input(8));
  ASSERT_TRUE(estimator.train({.input = data, .steps = 3, .hooks = {&profiler}}).ok());
  EXPECT_MESSAGE(profiler.status(), "training ended after 3 steps, before step 4 where the profile begins");
  ASSERT_TRUE(estimator.train({.input = data, .steps = 2, .hooks = {&profiler}}).ok());
  ASSERT_TRUE(profiler.status().ok()) << profiler.status().message();
  EXPECT_EQ(profiler.written().steps, 2);
  const std::string first = profiler.written().xplane;
  ASSERT_TRUE(estimator.train({.input = data, .steps = 2, .hooks = {&profiler}}).ok());
  EXPECT_EQ(only_file(directory.path(), ".xplane.pb"), first);
}

TEST(ProfilerHook, GivesTwoProfilesOfOneSecondDirectoriesOfTheirOwn) {
  const TemporaryDirectory directory;
  Estimator estimator(small_model, traced());
  const Dataset data = examples(64, training_input(8));
  std::set<std::string> paths;
  for (int i = 0; i < 3; ++i) {
    ProfilerHook profiler({.directory = directory.path(), .first_step = 1, .last_step = 1});
    ASSERT_TRUE(estimator.train({.input = data, .steps = 1, .hooks = {&profiler}}).ok());
    paths.insert(profiler.written().xplane);
  }
  EXPECT_EQ(paths.size(), 3u);
}

TEST(ProfilerHook, LeavesTheWeightsAsTheyAreWithoutIt) {
  const TemporaryDirectory directory;
  std::vector<std::string> hashes;
  for (const bool profiled : {false, true}) {
    Estimator estimator(small_model, traced());
    ProfilerHook profiler({.directory = directory.path(), .first_step = 2, .last_step = 5});
    TrainOptions options{.input = examples(64, training_input(8)), .steps = 9};
    if (profiled) options.hooks = {&profiler};
    ASSERT_TRUE(estimator.train(options).ok());
    hashes.push_back(estimator.variables_hash().take());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(ProfilerHook, RefusesBeforeTheFirstStep) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("file", "");
  const struct {
    ProfileOptions options;
    bool trace;
    const char* message;
  } cases[] = {
      {{.directory = directory.path(), .first_step = 1, .last_step = 2}, false, "RunConfig.trace is false"},
      {{.directory = directory.path(), .first_step = 3, .last_step = 2}, true, "the steps are 3 to 2"},
      {{.directory = directory.path(), .first_step = 0, .last_step = 2}, true, "the steps are 0 to 2"},
      {{.directory = "", .first_step = 1, .last_step = 2}, true, "no directory"},
      {{.directory = file, .first_step = 1, .last_step = 2}, true, "file"},
  };
  for (const auto& c : cases) {
    RunConfig config = traced();
    config.trace = c.trace;
    Estimator estimator(small_model, config);
    ProfilerHook profiler(c.options);
    const Result<TrainResult> result =
        estimator.train({.input = examples(64, training_input(8)), .steps = 5, .hooks = {&profiler}});
    ASSERT_FALSE(result.ok()) << c.message;
    EXPECT_MESSAGE(result.status(), c.message);
    EXPECT_EQ(estimator.global_step().take(), 0);
  }
}

TEST(ProfilerHook, WritesWhatWasDoneWhenTrainingIsInterrupted) {
  const TemporaryDirectory directory;
  RunConfig config = traced();
  config.interrupted = [n = 0]() mutable { return ++n > 3; };
  Estimator estimator(small_model, config);
  const Dataset data = examples(64, training_input(8));
  ProfilerHook profiler({.directory = directory.path(), .first_step = 2, .last_step = 1000});
  EXPECT_FALSE(estimator.train({.input = data, .steps = 500, .hooks = {&profiler}}).ok());
  EXPECT_TRUE(profiler.status().ok()) << profiler.status().message();
  EXPECT_GT(profiler.written().steps, 0);
}

}  // namespace
}  // namespace tenon
