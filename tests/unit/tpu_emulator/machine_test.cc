#include "plugins/tpu-emulator/machine/machine.h"

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
  EXPECT_EQ(v2.hbm_peak_bytes_per_s * 2, 700e9);
  EXPECT_EQ(v3.hbm_peak_bytes_per_s * 2, 900e9);
  EXPECT_EQ(tpu::load_machine("v4-8").hbm_peak_bytes_per_s * 2, 1200e9);
  EXPECT_EQ(tpu::load_machine("v5e-8").hbm_peak_bytes_per_s, 819e9);
  EXPECT_NEAR(v3.peak_flops() * 2, 123e12, 1e12);
  EXPECT_NEAR(tpu::load_machine("v4-8").peak_flops() * 2, 275e12, 1e12);
  EXPECT_NEAR(tpu::load_machine("v5e-8").peak_flops(), 197e12, 1e12);
}

TEST_F(TpuMachine, OnlyWhatWasMeasuredIsValidated) {
  std::vector<std::string> validated;
  for (const std::string& name : tpu::machine_names())
    if (tpu::load_machine(name).validated) validated.push_back(name);
  EXPECT_EQ(validated, (std::vector<std::string>{"v2-8", "v3-8", "v3-32"}));
}

TEST_F(TpuMachine, AnotherMachineCannotSayThatThisOneIsValidated) {
  write("mine", R"({"like": "v3-8"})");
  EXPECT_FALSE(tpu::load_machine("mine").validated);
  write("mine", R"({"like": "v3-8", "validated": null})");
  EXPECT_FALSE(tpu::load_machine("mine").validated);
  write("mine", R"({"like": "v3-8", "validated": true})");
  EXPECT_TRUE(tpu::load_machine("mine").validated);
}

// `tenon preflight` says: modelled: a v4-8, .., as fast as with SOFTWARE; never held against measurements
TEST_F(TpuMachine, SoftwareIsNamed) {
  for (const std::string& name : tpu::machine_names())
    EXPECT_EQ(tpu::load_machine(name).software.substr(0, 22), "TensorFlow 1.9 to 1.12") << name;
}

TEST_F(TpuMachine, EveryMachineThatComesWithItIsConsistent) {
  const std::vector<std::string> names = tpu::machine_names();
  for (const char* expected : {"v2-8", "v2-32", "v2-512", "v3-8", "v3-32", "v3-2048", "v4-8", "v5e-8", "v5litepod-8"})
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
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
  const std::string start = "unknown TPU 'v9-8'; known: v2-8, v2-32, v2-128, v2-256, v2-512, v3-8, ";
  EXPECT_EQ(text.substr(0, start.size()), start);
  refusal("../tpu/v2-8", TENON_UNAVAILABLE);
  refusal("", TENON_UNAVAILABLE);
}

TEST_F(TpuMachine, NamesAreSortedWithNumbersAsSuch) {
  for (const char* name : {"a", "a10", "a9", "a9b", "a-1", "10", "9"}) write(name, "{}");
  std::vector<std::string> names = tpu::machine_names();
  names.erase(std::remove_if(names.begin(), names.end(), [](const std::string& n) { return n[0] == 'v'; }),
              names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"9", "10", "a", "a-1", "a9", "a9b", "a10"}));
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
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": 0})"),
            "field 'core.clock_hz': expected a number from 1e+06 to 1e+11, found 0");
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": 1e300})"),
            "field 'core.clock_hz': expected a number from 1e+06 to 1e+11, found 1e+300");
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": "fast"})"),
            "field 'core.clock_hz': expected a number from 1e+06 to 1e+11, found \"fast\"");
  EXPECT_EQ(refusal_of(R"(, "core": {"hbm_bytes": 1})"),
            "field 'core.hbm_bytes': expected a whole number from 1048576 to 1125899906842624, found 1");
  EXPECT_EQ(refusal_of(R"(, "core": {"hbm_bytes": 18446744073709551615})"),
            "field 'core.hbm_bytes': expected a whole number from 1048576 to 1125899906842624, found "
            "18446744073709551615");
  EXPECT_EQ(refusal_of(R"(, "slice": {"cores": 1e30})"),
            "field 'slice.cores': expected a whole number from 1 to 65536, found 1e+30");
  EXPECT_EQ(refusal_of(R"(, "fitted": {"hbm_bytes_per_s": 1})"),
            "field 'fitted.hbm_bytes_per_s': expected a number from 1e+06 to 1e+15, found 1");
  EXPECT_EQ(refusal_of(R"(, "fitted": {"launch_s": 1e12})"),
            "field 'fitted.launch_s': expected a number from 0 to 10, found 1000000000000.0");
  EXPECT_EQ(refusal_of(R"(, "fitted": {"infeed_jitter": -1})"),
            "field 'fitted.infeed_jitter': expected a number from 0 to 10, found -1");
  EXPECT_EQ(refusal_of(R"(, "fitted": {"infeed_jitter": 1e200})"),
            "field 'fitted.infeed_jitter': expected a number from 0 to 10, found 1e+200");
  EXPECT_EQ(refusal_of(R"(, "fitted": {"matrix_efficiency": 1.1})"),
            "field 'fitted.matrix_efficiency': expected a number from 0.01 to 1, found 1.1");
  EXPECT_EQ(refusal_of(R"(, "validated": 1)"), "field 'validated': expected true or false, found 1");
}

// No constant takes what no machine has: a step's time stays within what 64 bits of nanoseconds hold.
TEST_F(TpuMachine, EveryConstantIsBounded) {
  for (const char* field : {"hbm_bytes_per_s",
                            "matrix_efficiency",
                            "overlap_loss",
                            "vector_ops_per_cycle",
                            "launch_s",
                            "update_extra_bytes",
                            "rmsprop_extra_bytes",
                            "collective_bytes_per_s",
                            "collective_launch_s",
                            "collective_fill_s",
                            "collective_piece_bytes",
                            "collective_slowdown_beyond_host",
                            "infeed_bytes_per_s",
                            "infeed_one_hot_bytes_per_s",
                            "infeed_one_hot_element_s",
                            "infeed_one_hot_serial_elements",
                            "infeed_example_s",
                            "infeed_step_s",
                            "infeed_jitter",
                            "infeed_jitter_most_s",
                            "outfeed_bytes_per_s",
                            "host_step_s"})
    for (const char* value : {"-1e-300", "1e17"}) {
      const std::string start = std::string("field 'fitted.") + field + "': expected a number from ";
      EXPECT_EQ(refusal_of(std::string(R"(, "fitted": {")") + field + "\": " + value + "}").substr(0, start.size()),
                start);
    }
}

TEST_F(TpuMachine, AFieldOfAnotherTypeIsRefused) {
  EXPECT_EQ(refusal_of(R"(, "slice": [])"), "field 'slice': expected an object, found []");
}

TEST_F(TpuMachine, UnknownAndMissingFieldsAreRefused) {
  EXPECT_EQ(refusal_of(R"(, "coers": 8)"), "unknown field 'coers'");
  EXPECT_EQ(refusal_of(R"(, "slice": {"coers": 8})"), "unknown field 'slice.coers'");
  EXPECT_EQ(refusal_of(R"(, "core": {"clock_hz": null})"), "misses field 'core.clock_hz'");
  write("empty", "{}");
  EXPECT_NE(refusal("empty").find("misses field 'generation'"), std::string::npos);
}

TEST_F(TpuMachine, AFileWithoutANameHasThatOfTheFile) {
  write("other", R"({"like": "v2-8"})");
  EXPECT_EQ(tpu::load_machine("other").name, "other");
  write("third", R"({"like": "other", "core": {"clock_hz": 0.8e9}})");
  EXPECT_EQ(tpu::load_machine("third").name, "third");
  write("other", R"({"like": "v2-8", "name": "v2-8"})");
  EXPECT_EQ(refusal("other"),
            (folder_ / "other.json").string() + ": field 'name': expected the file's name, 'other', found \"v2-8\"");
}

TEST_F(TpuMachine, AMalformedFileSaysWhereInOneLine) {
  const auto refused = [&](const std::string& text) {
    write("bad", text);
    const std::string file = (folder_ / "bad.json").string() + ": expected one JSON object, found ";
    const std::string found = refusal("bad");
    EXPECT_EQ(found.substr(0, file.size()), file);
    return found.substr(std::min(file.size(), found.size()));
  };
  EXPECT_EQ(refused("{\n  \"like\": \"v3-8\",\n  \"core\": {clock}\n}\n"), "an error in it at line 3, column 12");
  EXPECT_EQ(refused("?"), "an error in it at line 1, column 1");
  EXPECT_EQ(refused("{\"a\": \"\n\"}"), "an error in it at line 1, column 8");
  EXPECT_EQ(refused("[1]"), "one array");
  for (const char* text : {"", "{", "{\"a\": 1,}", "{} {}", "\xff", "{\n\n\n"})
    EXPECT_EQ(refused(text).substr(0, 21), "an error in it at lin") << text;
  write("bad", R"({"like": 1e999})");
  EXPECT_EQ(refusal("bad"),
            (folder_ / "bad.json").string() + ": expected numbers of at most 1.7e308, found a larger one");
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
