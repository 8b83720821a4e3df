#include "tenon/part.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/process/installed.h"

namespace tenon {
namespace {

TEST(Parts, OneThatIsNotThereIsNamedWithWhatBringsIt) {
  const Status status = Part::open({"folder/none", "Nothing", "tenon-none", "libnone-dev"}).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string beside = (program.parent_path().parent_path() / "lib/tenon/folder/none.so").string();
  EXPECT_EQ(status.message(),
            "Nothing needs lib/tenon/folder/none.so, which the package tenon-none brings, and a build makes where "
            "libnone-dev "
            "is installed: " +
                beside + " is not there");
}

TEST(Parts, AreLookedForBesideTheProgramFirst) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(installed_directories().at(0), (program.parent_path().parent_path() / "lib/tenon").string());
  EXPECT_EQ(entries_of_path("/a::b"), (std::vector<std::string>{"/a", "", "b"}));
}

}  // namespace
}  // namespace tenon
