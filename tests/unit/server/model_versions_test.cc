// How versions come and go, which one a request gets, and what people are told.
#include "server/models/model_versions.h"

#include <future>

#include "server/models/files_fingerprint.h"
#include "server/models/served_models.h"
#include "server/rest/metadata.h"
#include "unit/server/fake_model.h"

namespace tenon::server {
namespace {

class ModelVersionsTest : public ::testing::Test {
 protected:
  void make(ModelConfig config = {}) {
    config.name = "half";
    config.base_path = directory.path();
    versions = std::make_unique<ModelVersions>(config, load_half_plus, BatchOptions{}, &metrics,
                                               [this](const std::string& line) { log.push_back(line); });
  }
  int64_t chosen(const VersionChoice& choice = {}) const {
    const auto found = versions->find(choice);
    return found.ok() ? (*found)->number : -1;
  }
  // "2 AVAILABLE, 1 END"
  std::string states() const {
    std::string out;
    for (const VersionStatus& s : versions->states())
      out += (out.empty() ? "" : ", ") + std::to_string(s.number) + " " + state_name(s.state);
    return out;
  }

  TestDirectory directory;
  Metrics metrics;
  std::vector<std::string> log;
  std::unique_ptr<ModelVersions> versions;
};

TEST_F(ModelVersionsTest, TheNewestIsServedAndANewerOneTakesItsPlace) {
  directory.write("1/plus", "1");
  directory.write("notes/plus", "7");
  directory.write("3.tmp/plus", "7");
  make();
  versions->poll();
  EXPECT_EQ(chosen(), 1);
  EXPECT_EQ(states(), "1 AVAILABLE");
  directory.write("10/plus", "10");
  directory.write("9/plus", "9");
  versions->poll();
  EXPECT_EQ(chosen(), 10);
  EXPECT_EQ(states(), "10 AVAILABLE, 1 END");
  std::filesystem::remove_all(directory.path() + "/10");
  versions->poll();
  EXPECT_EQ(chosen(), 9);
}

TEST_F(ModelVersionsTest, AFileIsAVersionOfItsTime) {
  const std::string file = directory.path() + "/half/plus";
  const auto put = [&](const char* text, int64_t milliseconds) {
    directory.write("half/plus", text);
    std::filesystem::last_write_time(
        file, std::chrono::file_clock::from_sys(std::chrono::sys_time(std::chrono::milliseconds(milliseconds))));
  };
  ModelConfig config{"half", file};
  versions = std::make_unique<ModelVersions>(
      config, [&](const std::string& path) { return load_half_plus(std::filesystem::path(path).parent_path()); },
      BatchOptions{}, &metrics, [this](const std::string& line) { log.push_back(line); });
  versions->poll();
  EXPECT_EQ(states(), "");
  put("1", 1764194400123);
  versions->poll();
  EXPECT_EQ(states(), "1764194400123 AVAILABLE");
  put("2", 1764194400124);
  versions->poll();
  EXPECT_EQ(states(), "1764194400124 AVAILABLE, 1764194400123 END");
  put("3", 1700000000000);  // an older one in its place
  versions->poll();
  EXPECT_EQ(chosen(), 1700000000000);
}

TEST_F(ModelVersionsTest, AnOldVersionIsDroppedAfterItsLastRequest) {
  directory.write("1/plus", "1");
  make();
  versions->poll();
  auto held = versions->find({}).take();
  directory.write("2/plus", "2");
  versions->poll();
  EXPECT_EQ(states(), "2 AVAILABLE, 1 UNLOADING");
  // It still answers.
  std::promise<Result<Arrays>> promise;
  held->batcher.submit({&held->batcher.model().signatures()[0],
                        {{"x", Array(std::vector<float>{4})}},
                        1,
                        Clock::time_point::max(),
                        [&](Result<Arrays> r) { promise.set_value(std::move(r)); }});
  EXPECT_EQ(promise.get_future().get()->at("y").to<float>()[0], 3);
  held.reset();
  versions->poll();
  EXPECT_EQ(states(), "2 AVAILABLE, 1 END");
}

TEST_F(ModelVersionsTest, ADamagedVersionIsOneLineAndTheOldOneGoesOn) {
  directory.write("1/plus", "1");
  make();
  versions->poll();
  directory.write("2/plus", "no number");
  for (int i = 0; i < 5; ++i) versions->poll();
  EXPECT_EQ(chosen(), 1);
  EXPECT_EQ(states(), "2 END, 1 AVAILABLE");
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[1], "half 2 cannot be loaded: '" + directory.path() + "/2' is damaged");
  EXPECT_NE(status_answer(*versions, 2)
                ->find("\"state\":\"END\",\"status\":{\"error_code\":\"INVALID_ARGUMENT\",\"error_message\":\"'"),
            std::string::npos);
  directory.write("2/plus", "2");  // the copy is whole now
  versions->poll();
  EXPECT_EQ(chosen(), 1);  // it changed since the last look
  versions->poll();
  EXPECT_EQ(chosen(), 2);
}

TEST_F(ModelVersionsTest, AtTheStartTheNewestThatCanBeLoadedIsServed) {
  directory.write("1/plus", "1");
  directory.write("2/plus", "2");
  directory.write("3/other", "");
  make();
  versions->poll();
  EXPECT_EQ(chosen(), 2);
}

TEST_F(ModelVersionsTest, WithoutAVersionItWaitsAndSaysSoOnce) {
  make();
  for (int i = 0; i < 3; ++i) versions->poll();
  EXPECT_EQ(versions->find({}).status().message(), "Servable not found for request: Latest(half)");
  EXPECT_EQ(log.size(), 1u);
  directory.write("1/plus", "1");
  versions->poll();
  EXPECT_EQ(chosen(), 1);
  std::filesystem::remove_all(directory.path() + "/1");
  versions->poll();
  EXPECT_EQ(chosen(), 1) << "an empty directory ends what is served";
}

TEST_F(ModelVersionsTest, SeveralVersionsAnswerByNumberAndLabel) {
  for (const char* const n : {"1", "2", "3"}) directory.write(std::string(n) + "/plus", n);
  make({.newest = 2, .labels = {{"stable", 2}, {"old", 1}}});
  versions->poll();
  EXPECT_EQ(chosen(), 3);
  EXPECT_EQ(chosen({.number = 2}), 2);
  EXPECT_EQ(chosen({.label = "stable"}), 2);
  EXPECT_EQ(versions->find({.number = 1}).status().message(), "Servable not found for request: Specific(half, 1)");
  EXPECT_EQ(versions->find({.label = "old"}).status().message(),
            "Servable not found for request: Specific(half, 1); the label 'old' names version 1, which is not served; "
            "served: 3, 2");
  EXPECT_EQ(log.back(), "half: the label 'old' names version 1, which is not served; served: 3, 2");
  EXPECT_EQ(versions->find({.label = "new"}).status().message(), "Unrecognized servable version label: new");
  make({.newest = 0});
  versions->poll();
  EXPECT_EQ(states(), "3 AVAILABLE, 2 AVAILABLE, 1 AVAILABLE");
}

TEST_F(ModelVersionsTest, ACanaryGetsItsShare) {
  directory.write("1/plus", "1");
  directory.write("2/plus", "2");
  make({.newest = 2, .canary = 0.1});
  versions->poll();
  int newest = 0;
  for (int i = 0; i < 1000; ++i) newest += chosen() == 2;
  EXPECT_NEAR(newest, 100, 2);
  EXPECT_EQ(chosen({.number = 1}), 1);
}

// Requests go on in several threads while versions change: each answer is that of one version.
TEST_F(ModelVersionsTest, NoRequestFailsWhileVersionsChange) {
  directory.write("1/plus", "1");
  make();
  versions->poll();
  std::atomic<bool> ending = false;
  std::atomic<int> wrong = 0, answers = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!ending) {
        const auto version = versions->find({}).take();
        std::promise<Result<Arrays>> promise;
        version->batcher.submit({&version->batcher.model().signatures()[0],
                                 {{"x", Array(std::vector<float>{4, 6})}},
                                 2,
                                 Clock::time_point::max(),
                                 [&](Result<Arrays> r) { promise.set_value(std::move(r)); }});
        const Result<Arrays> result = promise.get_future().get();
        const float plus = static_cast<float>(version->number);
        wrong += !result.ok() || result->at("y").to<float>() != std::vector<float>{2 + plus, 3 + plus};
        ++answers;
      }
    });
  for (int n = 2; n < 60; ++n) {
    directory.write(std::to_string(n) + "/plus", n % 10 == 0 ? "damaged" : std::to_string(n));
    versions->poll();
    for (const int before = answers; answers < before + 3;) std::this_thread::yield();
  }
  ending = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(chosen(), 59);
}

// The load of one model is held back: the others' new versions are served meanwhile.
TEST(ServedModels, AModelThatLoadsForLongHoldsUpNoOther) {
  TestDirectory slow, quick;
  slow.write("1/plus", "1");
  quick.write("1/plus", "1");
  Metrics metrics;
  Gate gate;
  const ModelLoader loader = [&](const std::string& path) {
    if (path == slow.path() + "/2") gate.pass();
    return load_half_plus(path);
  };
  const auto models = ServedModels::open({{"slow", slow.path()}, {"quick", quick.path()}}, loader, {}, &metrics,
                                         [](const std::string&) {})
                          .take();
  models->watch(std::chrono::milliseconds(1));
  gate.close();
  slow.write("2.part/plus", "2");
  std::filesystem::rename(slow.path() + "/2.part", slow.path() + "/2");
  gate.wait_for_call();
  for (int64_t n = 2; n < 5; ++n) {
    const std::string name = "/" + std::to_string(n);
    quick.write(std::to_string(n) + ".part/plus", std::to_string(n));
    std::filesystem::rename(quick.path() + name + ".part", quick.path() + name);
    while ((*models->find("quick", {}))->number != n) std::this_thread::yield();
  }
  EXPECT_EQ((*models->find("slow", {}))->number, 1);  // and the old one goes on
  gate.open();
  while ((*models->find("slow", {}))->number != 2) std::this_thread::yield();
}

TEST(ServedModels, OneWithoutVersionsLeavesTheOthersAlone) {
  TestDirectory good, empty;
  good.write("1/plus", "1");
  Metrics metrics;
  const auto models = ServedModels::open({{"good", good.path()}, {"empty", empty.path()}}, load_half_plus, {}, &metrics,
                                         [](const std::string&) {})
                          .take();
  EXPECT_TRUE(models->find("good")->find({}).ok());
  EXPECT_FALSE(models->find("empty")->find({}).ok());
  EXPECT_EQ(models->find("other"), nullptr);
  EXPECT_FALSE(models->ready());
  EXPECT_EQ(models_answer(*models),
            "{\"models\":[{\"name\":\"good\",\"ready\":true,\"model_version_status\":[{\"version\":\"1\",\"state\":"
            "\"AVAILABLE\",\"status\":{"
            "\"error_code\":\"OK\",\"error_message\":\"\"}}]},{\"name\":\"empty\",\"ready\":false,\"model_version_"
            "status\":[]}]}\n");
  EXPECT_FALSE(ServedModels::open({{"a", good.path()}, {"a", good.path()}}, load_half_plus, {}, &metrics,
                                  [](const std::string&) {})
                   .ok());
}

TEST(Metadata, HasTheFormOfTensorFlow) {
  const LoadedVersion version(7, std::make_unique<HalfPlus>(), {}, std::make_shared<VersionMetrics>("half", 7));
  const std::string text = metadata_answer("half", version);
  EXPECT_EQ(text.find("{\"model_spec\":{\"name\":\"half\",\"signature_name\":\"\",\"version\":\"7\"},\"metadata\":{"
                      "\"signature_def\":{\"signature_def\":{"
                      "\"serving_default\":{\"inputs\":{\"x\":{\"dtype\":\"DT_FLOAT\",\"tensor_shape\":{\"dim\":[{"
                      "\"size\":\"-1\",\"name\":\"\"}],"
                      "\"unknown_rank\":false},\"name\":\"x:0\"}}"),
            0u)
      << text;
  EXPECT_NE(
      text.find("\"image_bytes\":{\"dtype\":\"DT_STRING\",\"tensor_shape\":{\"dim\":[{\"size\":\"-1\",\"name\":\"\"}]"),
      std::string::npos);
  EXPECT_NE(text.find("\"method_name\":\"tensorflow/serving/classify\""), std::string::npos);
}

}  // namespace
}  // namespace tenon::server
