#include "train/profile/profile_space.h"

#include "unit/data/temporary_directory.h"
#include "unit/train/profile/profile_testing.h"

namespace tenon {
namespace {

// Two planes; the names hold what JSON has to escape and a byte that is no UTF-8.
ProfileSpace small_space() {
  ProfileSpace space{
      .begin_unix_ns = 1'700'000'000'123'456'789, .host = "here", .planes = {}, .warnings = {"a \"b\"\n"}};
  ProfilePlane plane{.name = "/device:TPU:0", .title = "/device:TPU:0 (predicted)"};
  const size_t dot = plane.kind("dense/dot\t\"1\"\\"), add = plane.kind("add\xff");
  EXPECT_EQ(plane.kind("dense/dot\t\"1\"\\"), dot);
  plane.kinds[dot].display_name = "dot";
  plane.kinds[dot].stats = {{"flops", uint64_t{1} << 63}, {"hlo_category", std::string("dot")}};
  plane.kinds[add].stats = {{"flops", uint64_t{7}}};
  plane.stats = {{"peak_teraflops_per_second", 45.5}, {"cores", int64_t{-2}}};
  plane.lines = {{"XLA Ops", {{dot, 0, 1'000'001, {}}, {add, 1'000'001, 5, {{"flops", uint64_t{8}}}}}}, {"Steps", {}}};
  space.planes = {plane, {.name = "/host:CPU", .title = "/host:CPU"}};
  return space;
}

TEST(ProfileXplane, IsReadBackByFieldNumbers) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.xplane.pb";
  ProfileSpace given = small_space();
  given.planes[0].kinds[1].name = "add";
  ASSERT_TRUE(write_xplane(given, path).ok());
  const xplane_reader::Space space = xplane_reader::read(bytes_of(path));
  EXPECT_EQ(space.hosts, std::vector<std::string>{"here"});
  EXPECT_EQ(space.warnings, std::vector<std::string>{"a \"b\"\n"});
  ASSERT_EQ(space.planes.size(), 2u);
  const xplane_reader::Plane& plane = space.planes.at("/device:TPU:0");
  EXPECT_EQ(plane.stats.at("peak_teraflops_per_second"), "45.500000");
  EXPECT_EQ(plane.stats.at("cores"), "-2");
  const xplane_reader::Line& ops = plane.lines.at("XLA Ops");
  EXPECT_EQ(ops.timestamp_ns, 1'700'000'000'123'456'789u);
  ASSERT_EQ(ops.events.size(), 2u);
  EXPECT_EQ(ops.events[0].name, "dense/dot\t\"1\"\\");
  EXPECT_EQ(ops.events[0].display_name, "dot");
  EXPECT_EQ(ops.events[0].duration_ps, 1'000'001u);
  EXPECT_EQ(ops.events[0].stats, (xplane_reader::Stats{{"flops", "9223372036854775808"}, {"hlo_category", "dot"}}));
  EXPECT_EQ(ops.events[1].offset_ps, 1'000'001u);
  EXPECT_EQ(ops.events[1].stats.at("flops"), "8") << "an event's own stat comes before its metadata's";
  EXPECT_TRUE(plane.lines.at("Steps").events.empty());
}

TEST(ProfileChromeTrace, IsJsonWithProcessesThreadsAndMicroseconds) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.trace.json.gz";
  ASSERT_TRUE(write_chrome_trace(small_space(), path).ok());
  const nlohmann::json json = json_of_gzip(path);
  std::map<std::string, std::string> names;
  std::vector<nlohmann::json> events;
  for (const nlohmann::json& e : json.at("traceEvents")) {
    if (e.at("ph") == "X") events.push_back(e);
    if (e.at("name") == "process_name" || e.at("name") == "thread_name")
      names[e.at("pid").dump() + "/" + e.at("tid").dump()] = e.at("args").at("name");
  }
  const std::map<std::string, std::string> expected{
      {"1/0", "/device:TPU:0 (predicted)"}, {"1/1", "XLA Ops"}, {"1/2", "Steps"}, {"2/0", "/host:CPU"}};
  EXPECT_EQ(names, expected);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("name"), "dot");
  EXPECT_EQ(events[0].at("dur"), 1.000001);
  EXPECT_EQ(events[0].at("args").at("flops"), uint64_t{1} << 63);
  EXPECT_EQ(events[1].at("name"), "add\ufffd");
  EXPECT_EQ(events[1].at("ts"), 1.000001);
  EXPECT_EQ(events[1].at("dur"), 0.000005);
  EXPECT_EQ(events[1].at("args").at("flops"), 8);
  EXPECT_EQ(json.at("metadata").at("warnings"), "a \"b\"\n");
}

TEST(ProfileChromeTrace, HoldsMoreThanItGathers) {
  const TemporaryDirectory directory;
  ProfileSpace space = small_space();
  for (uint64_t i = 1; i < 5000; ++i) space.planes[0].lines[1].events.push_back({i % 2, i, 1, {}});
  const std::string path = directory.path() + "/a.trace.json.gz";
  ASSERT_TRUE(write_chrome_trace(space, path).ok());
  int events = 0;
  const nlohmann::json json = json_of_gzip(path);
  for (const nlohmann::json& e : json.at("traceEvents")) events += e.at("ph") == "X";
  EXPECT_EQ(events, 2 + 4999);
}

TEST(ProfileSpace, SaysWhichFileCannotBeWritten) {
  for (const auto write : {write_xplane, write_chrome_trace}) {
    const Status status = write({}, "/proc/none/a.pb");
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find("/proc/none"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace tenon
