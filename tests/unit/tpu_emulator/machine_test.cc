#include "plugins/tpu-emulator/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tenon/plugin/entry.h"

namespace {

namespace fs = std::filesystem;

// A folder of machine files that is looked into first.
class TpuMachine : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tenon_machines_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    setenv("TENON_TPU_PATH", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TENON_TPU_PATH");
    fs::remove_all(folder_);
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / (name + ".json")) << text; }

  std::string refusal(const std::string& name, tenon_code code = TENON_INVALID) {
    try {
      tpu::load_machine(name);
    } catch (const tenon::plugin::Error& e) {
      EXPECT_EQ(e.code, code);
      return e.what();
    }
    return "was taken";
  }

  // What a file is refused with that differs from v2-8 by `difference`.
  std::string refusal_of(const std::string& difference) {
    write("mine", R"({"like": "v2-8", "name": "mine")" + difference + "}");
    const std::string text = refusal("mine");
    const std::string file = (folder_ / "mine.json").string() + ": ";
    EXPECT_EQ(text.substr(0, file.size()), file);
    return text.substr(std::min(file.size(), text.size()));
  }

  fs::path folder_;
};

TEST_F(TpuMachine, TheMachinesThatComeWithItAreThoseOfTheirDataSheets) {
  const tpu::Machine v2 = tpu::load_machine("v2-8"), v3 = tpu::load_machine("v3-8");
  EXPECT_EQ(v2.cores, 8);
  EXPECT_EQ(v2.hosts, 1);
  EXPECT_EQ(v2.reported_memory_bytes, 17179869184u);
  EXPECT_NEAR(static_cast<double>(v2.usable_bytes()) / (1u << 30), 7.48, 0.001);
  EXPECT_EQ(v3.usable_bytes(), (uint64_t{16} << 30) - (uint64_t{530} << 20));
  EXPECT_NEAR(v2.peak_flops() * 2, 46e12, 0.5e12);  // of a chip
  EXPECT_NEAR(v3.peak_flops() * 2, 123e12, 1e12);
  EXPECT_NEAR(tpu::load_machine("v4-8").peak_flops() * 2, 275e12, 1e12);
  EXPECT_NEAR(tpu::load_machine("v5e-8").peak_flops(), 197e12, 1e12);
  EXPECT_TRUE(v2.validated && v3.validated);
  EXPECT_FALSE(tpu::load_machine("v4-8").validated);
  EXPECT_FALSE(tpu::load_machine("v5litepod-8").validated);
}

TEST_F(TpuMachine, EveryMachineThatComesWithItIsConsistent) {
  const std::vector<std::string> names = tpu::machine_names();
  for (const char* expected : {"v2-8", "v2-32", "v2-512", "v3-8", "v3-32", "v3-2048", "v4-8", "v5e-8", "v5litepod-8"})
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), expected)) << expected;
  for (const std::string& name : names) {
    const tpu::Machine machine = tpu::load_machine(name);
    EXPECT_EQ(name, machine.generation == "v5e" && name[2] == 'l'
                        ? "v5litepod-8"
                        : machine.generation + "-" + std::to_string(machine.cores));
    EXPECT_EQ(machine.cores / machine.hosts, 8) << name;
  }
}

TEST_F(TpuMachine, AnUnknownNameListsTheKnownOnes) {
  const std::string text = refusal("v9-8", TENON_UNAVAILABLE);
  EXPECT_NE(text.find("unknown TPU 'v9-8'"), std::string::npos) << text;
  EXPECT_NE(text.find("v2-8, v3-1024"), std::string::npos) << text;
  refusal("../tpu/v2-8", TENON_UNAVAILABLE);
  refusal("", TENON_UNAVAILABLE);
}

TEST_F(TpuMachine, AUsersFileMayDifferInOneField) {
  write("mine", R"({"like": "v2-8", "name": "mine", "core": {"clock_hz": 0.8e9}})");
  const tpu::Machine mine = tpu::load_machine("mine"), v2 = tpu::load_machine("v2-8");
  EXPECT_EQ(mine.clock_hz, 0.8e9);
  EXPECT_EQ(mine.hbm_bytes, v2.hbm_bytes);
}

TEST_F(TpuMachine, AFileThatContradictsItselfIsRefusedByField) {
  EXPECT_EQ(refusal_of(R"(, "slice": {"cores": 9, "hosts": 2})"),
            "field 'slice.cores': expected a multiple of slice.hosts, 2, found 9");
  EXPECT_EQ(refusal_of(R"(, "slice": {"cores_per_chip": 3})"),
            "field 'slice.cores_per_chip': expected a divisor of the cores of a host, 8, found 3");
  EXPECT_EQ(refusal_of(R"(, "core": {"hbm_reserved_bytes": 8589934592})"),
            "field 'core.hbm_reserved_bytes': expected less than core.hbm_bytes, 8589934592, found 8589934592");
}

TEST_F(TpuMachine, AFieldOutOfRangeIsRefused) {
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": 0})"), "field 'core.clock_hz': expected a number above 0, found 0");
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": "fast"})"),
            "field 'core.clock_hz': expected a number above 0, found \"fast\"");
  EXPECT_EQ(refusal_of(R"(, "slice": {"cores": 1e30})"),
            "field 'slice.cores': expected a whole number from 1 to 65536, found 1e+30");
  EXPECT_EQ(refusal_of(R"(, "fitted": {"infeed_jitter": -1})"),
            "field 'fitted.infeed_jitter': expected a number, at least 0, found -1");
  EXPECT_EQ(refusal_of(R"(, "validated": 1)"), "field 'validated': expected true or false, found 1");
  EXPECT_EQ(refusal_of(R"(, "slice": [])"), "field 'slice': expected an object, found []");
}

TEST_F(TpuMachine, UnknownAndMissingFieldsAreRefused) {
  EXPECT_EQ(refusal_of(R"(, "coers": 8)"), "unknown field 'coers'");
  EXPECT_EQ(refusal_of(R"(, "slice": {"coers": 8})"), "unknown field 'slice.coers'");
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": null})"), "misses field 'core.clock_hz'");
  write("empty", "{}");
  EXPECT_NE(refusal("empty").find("misses field 'name'"), std::string::npos);
  write("other", R"({"like": "v2-8"})");
  EXPECT_NE(refusal("other").find("field 'name': expected the file's name, 'other', found \"v2-8\""),
            std::string::npos);
}

TEST_F(TpuMachine, FilesThatAreNoMachinesAreRefused) {
  write("text", "v2-8");
  EXPECT_NE(refusal("text").find("expected one JSON object"), std::string::npos);
  write("deep", std::string(100000, '['));
  EXPECT_NE(refusal("deep").find("nested deeper"), std::string::npos);
  write("large", std::string(2 << 20, ' '));
  EXPECT_NE(refusal("large").find("larger than 1 MiB"), std::string::npos);
  write("ring", R"({"like": "ring", "name": "ring"})");
  EXPECT_NE(refusal("ring").find("field 'like'"), std::string::npos);
}

}  // namespace
