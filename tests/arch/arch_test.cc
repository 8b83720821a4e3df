// The tree keeps the include rules, and the check would say so if it did not: each rule is broken
// once in a small tree of its own and must be reported by file and line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "rules.h"

namespace tenon::arch {
namespace {

namespace fs = std::filesystem;

// A tree in which every rule holds; a test adds one file that breaks one.
class Tree : public testing::Test {
 protected:
  Tree() : root_(fs::temp_directory_path() / ("tenon_arch_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    for (const char* name : {"CMakeLists.txt", "CMakePresets.json", "Makefile", "README.md", "LICENSE",
                             "CONTRIBUTING.md", "CHANGELOG.md", "share/README.md"})
      write(name, "");
    write("core/include/tenon/status.h", "#include <string>\n");
    write("core/include/tenon/estimator.h", "#include \"tenon/status.h\"\n");
    write("core/base/status.cc", "#include \"tenon/status.h\"\n");
    write("core/base/text.h", "");
    write("core/graph/graph.h", "#include \"base/text.h\"\n");
    write("core/op/op.h", "#include \"graph/graph.h\"\n");
    write("core/autodiff/grad.h", "#include \"op/op.h\"\n");
    write("core/backend/device.h", "#include \"base/text.h\"\n#include \"tenon/abi/types.h\"\n");
    write("core/compile/compile.h", "#include \"op/op.h\"\n#include \"backend/device.h\"\n");
    write("core/data/image/image.h", "#include <jpeglib.h>\n#include \"base/text.h\"\n");
    write("core/layer/dense.h", "#include \"op/op.h\"\n");
    write("core/optimizer/sgd.h", "#include \"op/op.h\"\n");
    write("core/train/estimator.cc", "#include \"data/image.h\"\n#include \"tenon/estimator.h\"\n");
    write("sdk/include/tenon/abi/types.h", "#include <stddef.h>\n#include <stdint.h>\n");
    write("sdk/include/tenon/abi/op.h", "#include \"tenon/abi/types.h\"\n");
    write("sdk/include/tenon/plugin/kernel.h", "#include <vector>\n#include \"tenon/abi/op.h\"\n");
    write("sdk/runtime/plan/planner.h", "#include \"tenon/plugin/kernel.h\"\n");
    write("sdk/conformance/reference.h", "#include \"tenon/plugin/kernel.h\"\n");
    write("plugins/cpu/kernels/dot.h", "");
    write("plugins/cpu/cpu.cc", "#include <dnnl.h>\n#include \"kernels/dot.h\"\n#include \"tenon/plugin/kernel.h\"\n");
    write("apps/models/fashion.h", "#include \"tenon/estimator.h\"\n");
    write("apps/tenon/main.cc", "#include \"models/fashion.h\"\n#include \"tenon/status.h\"\n");
    write("bench/step.cc", "#include \"tenon/status.h\"\n");
    write("tests/unit/op_test.cc", "#include \"op/op.h\"\n#include \"runtime/planner.h\"\n");
  }
  ~Tree() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  // The one violation of a tree with this file in it, or what else came out.
  std::string broken_by(const std::string& path, const std::string& text) {
    write(path, text);
    const std::vector<std::string> found = violations(root_);
    return found.size() == 1 ? found[0] : std::to_string(found.size()) + " violations";
  }

  fs::path root_;
};

TEST(Source, KeepsTheRules) {
  for (const std::string& violation : violations(TENON_SOURCE)) ADD_FAILURE() << violation;
}

TEST(Source, NeedsEachRule) { EXPECT_EQ(unused_rules(TENON_SOURCE), std::vector<std::string>{}); }

TEST(Source, IsReallyRead) {
  EXPECT_EQ(component_of("core/include/tenon/status.h"), "public");
  EXPECT_EQ(component_of("sdk/include/tenon/abi/op.h"), "sdk/abi");
  EXPECT_EQ(component_of("plugins/cpu/kernels/dot.cc"), "plugins/cpu");
  EXPECT_TRUE(fs::exists(fs::path(TENON_SOURCE) / "sdk/include/tenon/abi/op.h"));
}

TEST_F(Tree, IsCleanAsItStands) { EXPECT_EQ(violations(root_), std::vector<std::string>{}); }

struct Breach {
  const char* name;
  const char* path;
  const char* text;
  const char* report;  // how the one violation starts
};

class EachRule : public Tree, public testing::WithParamInterface<Breach> {};

TEST_P(EachRule, IsReportedWhenBroken) {
  const Breach& breach = GetParam();
  const std::string report = broken_by(breach.path, breach.text);
  EXPECT_EQ(report.substr(0, std::string(breach.report).size()), breach.report);
}

const Breach kBreaches[] = {
    {"AbiIncludesAStandardHeader", "sdk/include/tenon/abi/x.h", "#include <stdint.h>\n#include <stdio.h>\n",
     "sdk/include/tenon/abi/x.h:2: includes stdio.h"},
    {"AbiIncludesPlugin", "sdk/include/tenon/abi/x.h", "#include \"tenon/plugin/kernel.h\"\n",
     "sdk/include/tenon/abi/x.h:1: includes sdk/include/tenon/plugin/kernel.h"},
    {"PluginHeaderIncludesPublic", "sdk/include/tenon/plugin/x.h", "#include \"tenon/status.h\"\n",
     "sdk/include/tenon/plugin/x.h:1: includes core/include/tenon/status.h"},
    {"RuntimeIncludesCore", "sdk/runtime/x.cc", "#include \"base/text.h\"\n",
     "sdk/runtime/x.cc:1: includes core/base/text.h"},
    {"RuntimeIncludesConformance", "sdk/runtime/x.cc", "#include \"conformance/reference.h\"\n",
     "sdk/runtime/x.cc:1: includes sdk/conformance/reference.h"},
    {"ConformanceIncludesCore", "sdk/conformance/x.cc", "#include \"op/op.h\"\n",
     "sdk/conformance/x.cc:1: includes core/op/op.h"},
    {"BackendPluginIncludesPublic", "plugins/cpu/x.cc", "#include <tenon/status.h>\n",
     "plugins/cpu/x.cc:1: includes core/include/tenon/status.h"},
    {"BackendPluginIncludesCore", "plugins/cpu/x.cc", "#include \"../../core/base/text.h\"\n",
     "plugins/cpu/x.cc:1: includes core/base/text.h"},
    {"BackendPluginIncludesAnother", "plugins/tpu-emulator/x.cc", "#include \"cpu/kernels/dot.h\"\n",
     "plugins/tpu-emulator/x.cc:1: includes plugins/cpu/kernels/dot.h"},
    {"BackendPluginIncludesConformance", "plugins/cpu/x.cc", "#include \"conformance/reference.h\"\n",
     "plugins/cpu/x.cc:1: includes sdk/conformance/reference.h"},
    {"BaseIncludesGraph", "core/base/x.h", "#include \"graph/graph.h\"\n",
     "core/base/x.h:1: includes core/graph/graph.h"},
    {"GraphIncludesOp", "core/graph/x.cc", "\n\n  #  include \"op/op.h\"\n",
     "core/graph/x.cc:3: includes core/op/op.h"},
    {"OpIncludesAutodiff", "core/op/x.cc", "#include \"autodiff/grad.h\"\n",
     "core/op/x.cc:1: includes core/autodiff/grad.h"},
    {"OpIncludesTheAbi", "core/op/x.cc", "#include \"tenon/abi/op.h\"\n",
     "core/op/x.cc:1: includes sdk/include/tenon/abi/op.h"},
    {"AutodiffIncludesCompile", "core/autodiff/x.cc", "#include \"compile/compile.h\"\n",
     "core/autodiff/x.cc:1: includes core/compile/compile.h"},
    {"BackendIncludesGraph", "core/backend/x.cc", "#include \"graph/graph.h\"\n",
     "core/backend/x.cc:1: includes core/graph/graph.h"},
    {"CompileIncludesTheAbi", "core/compile/x.cc", "#include \"tenon/abi/types.h\"\n",
     "core/compile/x.cc:1: includes sdk/include/tenon/abi/types.h"},
    {"CompileIncludesLayer", "core/compile/x.cc", "#include \"layer/dense.h\"\n",
     "core/compile/x.cc:1: includes core/layer/dense.h"},
    {"DataIncludesGraph", "core/data/x.cc", "#include \"graph/graph.h\"\n",
     "core/data/x.cc:1: includes core/graph/graph.h"},
    {"LayerIncludesOptimizer", "core/layer/x.cc", "#include \"optimizer/sgd.h\"\n",
     "core/layer/x.cc:1: includes core/optimizer/sgd.h"},
    {"OptimizerIncludesBackend", "core/optimizer/x.cc", "#include \"backend/device.h\"\n",
     "core/optimizer/x.cc:1: includes core/backend/device.h"},
    {"TrainIncludesAPlugin", "core/train/x.cc", "#include \"plugins/cpu/kernels/dot.h\"\n",
     "core/train/x.cc:1: includes plugins/cpu/kernels/dot.h"},
    {"TrainIncludesTheAbi", "core/train/x.cc", "#include \"tenon/abi/types.h\"\n",
     "core/train/x.cc:1: includes sdk/include/tenon/abi/types.h"},
    {"BaseIncludesTrainsPublicHeader", "core/base/x.cc", "#include \"tenon/estimator.h\"\n",
     "core/base/x.cc:1: includes core/include/tenon/estimator.h, which core/train implements"},
    {"PublicIncludesPrivate", "core/include/tenon/x.h", "#include \"base/text.h\"\n",
     "core/include/tenon/x.h:1: includes core/base/text.h"},
    {"PublicIncludesTheAbi", "core/include/tenon/x.h", "#include \"tenon/abi/types.h\"\n",
     "core/include/tenon/x.h:1: includes sdk/include/tenon/abi/types.h"},
    {"PublicIncludesAHigherFoldersPublic", "core/include/tenon/status.h", "#include \"tenon/estimator.h\"\n",
     "core/include/tenon/status.h:1: includes core/include/tenon/estimator.h, which core/train implements"},
    {"AppIncludesCore", "apps/tenon/x.cc", "#include \"train/x.h\"\n#include \"graph/graph.h\"\n",
     "apps/tenon/x.cc:2: includes core/graph/graph.h"},
    {"AppIncludesSdk", "apps/tenon/x.cc", "#include \"tenon/abi/types.h\"\n",
     "apps/tenon/x.cc:1: includes sdk/include/tenon/abi/types.h"},
    {"BenchIncludesCore", "bench/x.cc", "#include \"base/text.h\"\n", "bench/x.cc:1: includes core/base/text.h"},
    {"CoreIncludesApps", "core/train/x.cc", "#include \"models/fashion.h\"\n",
     "core/train/x.cc:1: includes apps/models/fashion.h"},
    {"AFolderThatNoRuleNames", "core/misc/x.cc", "", "core/misc/x.cc: belongs to no component"},
    {"TwoHeadersOfOneName", "core/train/dense.h", "", "core/train/dense.h: core/layer/dense.h has this name already"},
    {"AProgramsHeaderOfAPublicName", "apps/tenon/status.h", "",
     "core/include/tenon/status.h: apps/tenon/status.h has this name already"},
    {"SomethingElseAtTheTop", "tools/x.txt", "", "tools: does not belong at the top level"},
};

INSTANTIATE_TEST_SUITE_P(Rules, EachRule, testing::ValuesIn(kBreaches),
                         [](const testing::TestParamInfo<Breach>& info) { return std::string(info.param.name); });

TEST_F(Tree, SaysWhichRulesNothingNeeds) {
  const std::string rule = "core/layer never includes core/base";
  const auto says = [&] {
    const std::vector<std::string> unused = unused_rules(root_);
    return std::count(unused.begin(), unused.end(), rule) > 0;
  };
  EXPECT_TRUE(says());
  write("core/layer/dense.cc", "#include \"base/text.h\"\n");
  EXPECT_FALSE(says());
}

TEST_F(Tree, MissesATopLevelFile) {
  fs::remove(root_ / "LICENSE");
  EXPECT_EQ(violations(root_), std::vector<std::string>{"LICENSE: missing at the top level"});
}

TEST_F(Tree, AllowsEightHundredLinesAndNotOneMore) {
  std::string lines(800, '\n');
  write("core/base/x.cc", lines);
  EXPECT_TRUE(violations(root_).empty());
  EXPECT_EQ(broken_by("core/base/x.cc", lines + "\n"), "core/base/x.cc: 801 lines: a file has at most 800");
}

TEST_F(Tree, AllowsTwentyFiveSourcesInAFolderAndNotOneMore) {
  for (int i = 0; i < 25; ++i) write("core/base/names/x" + std::to_string(i) + ".h", "");
  EXPECT_TRUE(violations(root_).empty());
  EXPECT_EQ(broken_by("core/base/names/x25.h", ""), "core/base/names: 26 sources: a folder has at most 25");
}

TEST_F(Tree, LetsBuildAndDotFilesBe) {
  write("build/x.cc", "#include \"tenon/status.h\"\n");
  write(".ci/run", "");
  EXPECT_TRUE(violations(root_).empty());
}

}  // namespace
}  // namespace tenon::arch
