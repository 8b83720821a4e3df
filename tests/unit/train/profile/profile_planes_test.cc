#include "train/profile/profile_planes.h"

#include "unit/data/temporary_directory.h"
#include "unit/train/profile/profile_testing.h"

namespace tenon {
namespace {

constexpr uint64_t kMs = 1'000'000'000;  // picoseconds

UnitInfo unit(const std::string& kind, bool emulated) {
  UnitInfo u;
  u.name = "TPU v3";
  u.kind = kind;
  u.emulated = emulated;
  return u;
}

void emit(ProfileRecorder& r, const char* name, uint32_t unit, uint64_t start, uint64_t duration, uint64_t flops = 0,
          uint32_t lane = 0) {
  r.emit({name, 0, unit, lane, start, duration, flops, 2 * flops});
}

ProfileSource source(std::vector<UnitInfo> units, int64_t steps) {
  ProfileSource s;
  s.device = "tpu-emulator:v3-8";
  const bool emulated = !units.empty() && units[0].emulated;
  const bool own_clock = !units.empty() && units[0].kind == "gpu";
  s.facts.kind = emulated ? "TPU" : own_clock ? "GPU" : "CPU";
  s.facts.trace_clock = emulated    ? DeviceFacts::Clock::kPredicted
                        : own_clock ? DeviceFacts::Clock::kOwn
                                    : DeviceFacts::Clock::kMonotonic;
  s.units = std::move(units);
  s.ops["dense/dot"] = {"dot", "dense", "dot", "f32[8,2]{1,0}"};
  s.ops["dense/add"] = {"add", "dense", "fusion", "f32[8,2]{1,0}"};
  s.ops["w/update"] = {"sgd_update", "w/update", "update", "f32[2]{0}"};
  s.host = "here";
  s.first_step = 11;
  s.steps = steps;
  s.begin_unix_ns = 5000;
  s.begin_ps = 100 * kMs;
  s.end_ps = 200 * kMs;
  return s;
}

xplane_reader::Space written(const ProfileRecorder& recorder, const ProfileSource& source) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(write_xplane(make_profile(recorder, source), directory / "a.pb").ok());
  return xplane_reader::read(bytes_of(directory / "a.pb"));
}

// Two cores, two steps of 4 ms each, whose kernels work 3 ms; the simulated clock begins at 7 ms.
ProfileRecorder two_cores() {
  ProfileRecorder r;
  for (uint64_t step = 0; step < 2; ++step)
    for (uint32_t core = 0; core < 2; ++core) {
      const uint64_t at = (7 + 4 * step) * kMs;
      emit(r, "dense/dot", core, at, kMs, 1000);
      emit(r, "dense/add", core, at + kMs, kMs, 10);
      emit(r, "w/update", core, at + 2 * kMs, kMs, 20);
    }
  r.waited(0, 100 * kMs, 190 * kMs);  // the real host: much slower than what is predicted
  r.called(100 * kMs, 195 * kMs);
  r.done(2);
  return r;
}

TEST(ProfilePlanes, HaveThePredictedTimesOfEachCoreAndNoOthers) {
  ProfileSource s = source({unit("accelerator", true), unit("accelerator", true)}, 2);
  s.forecast = PredictedStep{};
  s.forecast->step_ms = s.forecast->infeed_ms = 4;
  s.forecast->device_ms = 3;
  s.forecast->flops = 1000;
  s.forecast->peak_flops = 1e12;
  s.forecast->peak_bytes = 450e9;
  const xplane_reader::Space space = written(two_cores(), s);
  ASSERT_EQ(space.planes.size(), 4u);
  ASSERT_EQ(space.warnings.size(), 1u);
  EXPECT_EQ(space.warnings[0], "all times are predicted for tpu-emulator:v3-8, none is measured");
  for (const auto& [name, plane] : space.planes) {
    EXPECT_EQ(plane.stats.at("times"), "predicted") << name;
    for (const auto& [line_name, line] : plane.lines)
      for (const xplane_reader::Event& e : line.events) EXPECT_LE(e.offset_ps + e.duration_ps, 8 * kMs) << line_name;
  }
  for (const char* name : {"/device:TPU:0", "/device:TPU:1"}) {
    const xplane_reader::Plane& plane = space.planes.at(name);
    const auto& steps = plane.lines.at("Steps").events;
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1].name, "12");
    EXPECT_EQ(steps[1].offset_ps, 4 * kMs);
    EXPECT_EQ(steps[1].duration_ps, 4 * kMs);
    EXPECT_EQ(steps[1].stats.at("step_num"), "12");
    const auto& ops = plane.lines.at("XLA Ops").events;
    ASSERT_EQ(ops.size(), 8u) << "three kernels and a wait for the infeed in each step";
    EXPECT_EQ(ops[0].name, "dense/dot");
    EXPECT_EQ(ops[0].stats, (xplane_reader::Stats{{"bytes_accessed", "2000"},
                                                  {"flops", "1000"},
                                                  {"group_id", "11"},
                                                  {"hlo_category", "dot"},
                                                  {"hlo_op", "dense/dot"},
                                                  {"program_id", "1"},
                                                  {"shape_with_layout", "f32[8,2]{1,0}"},
                                                  {"symbol_id", "3"},
                                                  {"tf_op", "dense:dot"}}));
    EXPECT_EQ(ops[3].stats.at("hlo_category"), "infeed");
    EXPECT_EQ(ops[3].offset_ps, 3 * kMs);
    EXPECT_EQ(ops[3].duration_ps, 1 * kMs);
    EXPECT_EQ(plane.lines.at("XLA Modules").events.size(), 2u);
    const auto& frameworks = plane.lines.at("Framework Ops").events;
    ASSERT_EQ(frameworks.size(), 4u);
    EXPECT_EQ(frameworks[0].display_name, "dense");
    EXPECT_EQ(frameworks[0].duration_ps, 2 * kMs);
    EXPECT_EQ(plane.stats.at("peak_teraflops_per_second"), "1.000000");
    EXPECT_EQ(plane.stats.at("peak_hbm_bw_gigabytes_per_second"), "450.000000");
    EXPECT_EQ(plane.stats.at("tc_infeed_time_ms"), "1.000000");
    EXPECT_EQ(plane.stats.at("infeed_percent_average"), "25.000000");
  }
}

TEST(ProfilePlanes, SayInChromesTraceToo) {
  const TemporaryDirectory directory;
  const ProfileSource s = source({unit("accelerator", true), unit("accelerator", true)}, 2);
  ASSERT_TRUE(write_chrome_trace(make_profile(two_cores(), s), directory / "a.gz").ok());
  int processes = 0;
  const nlohmann::json json = json_of_gzip(directory / "a.gz");
  for (const nlohmann::json& e : json.at("traceEvents")) {
    if (e.at("name") != "process_name") continue;
    ++processes;
    EXPECT_TRUE(e.at("args").at("name").get<std::string>().ends_with(" (predicted)")) << e;
  }
  EXPECT_EQ(processes, 4);
}

TEST(ProfilePlanes, PutTheOpsOfACpuAndTheWaitsForBatchesOnTheHost) {
  ProfileRecorder r;
  r.done(10);
  for (uint64_t i = 0; i < 2; ++i) {
    const uint64_t at = (110 + 20 * i) * kMs;
    r.waited(i, at, at + 5 * kMs);
    emit(r, "copy", 0, at + 6 * kMs, kMs);
    emit(r, "dense/dot", 0, at + 8 * kMs, 2 * kMs, 30);
    emit(r, "dense/dot", 0, at + 8 * kMs, 3 * kMs, 0, 1);
    emit(r, "copy", 0, at + 11 * kMs, kMs);
  }
  r.called(109 * kMs, 145 * kMs);
  r.done(12);
  const xplane_reader::Space space = written(r, source({unit("cpu", false)}, 2));
  ASSERT_EQ(space.planes.size(), 2u);
  EXPECT_TRUE(space.warnings.empty());
  const xplane_reader::Plane& host = space.planes.at("/host:CPU");
  EXPECT_EQ(host.stats.at("times"), "measured");
  EXPECT_EQ(host.stats.at("infeed_percent_average"), std::to_string(100.0 * 5 / 12));
  const auto& steps = host.lines.at("Steps").events;
  ASSERT_EQ(steps.size(), 2u) << "'copy' comes twice in each";
  EXPECT_EQ(steps[1].name, "12");
  EXPECT_EQ(steps[1].offset_ps, 30 * kMs) << "with the wait";
  EXPECT_EQ(steps[1].duration_ps, 12 * kMs);
  EXPECT_EQ(host.lines.at("XLA Ops").events.size(), 6u);
  const auto& thread = host.lines.at("XLA Ops, thread 1").events;
  ASSERT_EQ(thread.size(), 2u);
  EXPECT_EQ(thread[0].stats.at("flops"), "0") << "the first thread's event has them";
  EXPECT_EQ(thread[0].stats.at("hlo_category"), "dot");
  const auto& waits = host.lines.at("Infeed").events;
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[1].stats.at("step_num"), "12");
  EXPECT_EQ(waits[1].duration_ps, 5 * kMs);
  const auto& calls = host.lines.at("Calls of the device").events;
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].stats.at("steps"), "2");
  EXPECT_EQ(calls[0].offset_ps, 9 * kMs);
}

TEST(ProfilePlanes, BeginADeviceWithItsOwnClockAtZero) {
  ProfileRecorder r;
  emit(r, "dense/dot", 0, 77'000 * kMs, kMs);
  const xplane_reader::Space space = written(r, source({unit("gpu", false)}, 1));
  const auto& ops = space.planes.at("/device:GPU:0").lines.at("XLA Ops").events;
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].offset_ps, 0u);
}

TEST(ProfilePlanes, CategoriesAndShapesComeFromTheGraph) {
  Graph graph;
  const ValueId in = graph.add_input({DType::kBF16, Shape{4, 3, 2}}, Role::kFeed, "x");
  Node node;
  node.op = "conv_grad_filter";
  node.operands = {in};
  node.name = "c";
  node.origin = "block/conv";
  graph.add_node(node, {{DType::kF32, Shape{4, 3}}});
  const auto ops = profile_ops(graph);
  ASSERT_EQ(ops.size(), 1u);
  const ProfileOp& op = ops.begin()->second;
  EXPECT_EQ(op.op, "conv_grad_filter");
  EXPECT_EQ(op.category, "convolution");
  EXPECT_EQ(op.shape, "f32[4,3]{1,0}");
}

TEST(ProfilePlanes, SurviveStepsThatDoNotAddUp) {
  ProfileRecorder r;
  for (uint64_t i = 0; i < 5; ++i) emit(r, "unknown", 9 * (i % 2 == 1), 110 * kMs, ~uint64_t{0} >> 1);
  EXPECT_EQ(written(r, source({unit("accelerator", false)}, 4)).planes.size(), 3u);
  EXPECT_EQ(written({}, source({}, 0)).planes.size(), 2u);
}

}  // namespace
}  // namespace tenon
