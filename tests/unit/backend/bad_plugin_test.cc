// Backends that break the rules as they are loaded: this process survives, and one line says which file
// it was and why. One of each way to be bad: tests/fault/plugins/attack_libraries.cc.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <clocale>
#include <fstream>
#include <thread>
#include <vector>

#include "unit/backend/plugin_testing.h"

namespace tenon {
namespace {

struct Bad {
  const char* name;
  const char* cause;
};

std::ostream& operator<<(std::ostream& out, const Bad& bad) { return out << bad.name; }

const Bad kUnits[] = {
    {"units-absurd", "counts 4294967295 units, expected 1 to 65536"},
    {"units-grow", "filled 1001 units, expected 1"},
    {"units-depth", "feed_depth 0"},
    {"units-error", "broken on purpose"},
    {"units-none", "no card in any slot"},
    {"units-zero", "has no units here"},
};

class BadUnits : public PluginTest, public testing::WithParamInterface<Bad> {};

TEST_P(BadUnits, AreRefusedInOneLineThatNamesTheBackend) {
  add(GetParam().name);
  const std::string message = refusal(GetParam().name);
  EXPECT_TRUE(message.starts_with(std::string(GetParam().name) + ": ")) << message;
  EXPECT_TRUE(contains(message, GetParam().cause)) << message;
}
INSTANTIATE_TEST_SUITE_P(Units, BadUnits, testing::ValuesIn(kUnits));

// Whether a library of that name is mapped here.
bool maps_name(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (contains(line, ":" + name)) return true;
  return false;
}

class HangingPlugin : public PluginTest, public testing::WithParamInterface<const char*> {
 protected:
  HangingPlugin() { set_probe_limit(std::chrono::milliseconds(150)); }
  ~HangingPlugin() override { set_probe_limit(std::chrono::milliseconds(5000)); }
};

TEST_P(HangingPlugin, IsStoppedAtTheTimeLimit) {
  const std::string path = add(GetParam());
  EXPECT_TRUE(contains(refusal(GetParam()), path + ": did not answer within 0.15 s in ")) << refusal(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Hang, HangingPlugin,
                         testing::Values("constructor-hang", "init-hang", "constructor-deaf", "init-deaf",
                                         "second-hang", "open-hang"));

TEST_F(PluginTest, WhatIsNoRegularFileIsRefused) {
  std::filesystem::create_directory(directory_ / "folder.so");
  ASSERT_EQ(::mkfifo((directory_ / "pipe.so").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", directory_ / "zero.so");
  std::filesystem::create_symlink(directory_ / "nothing", directory_ / "dangling.so");
  std::filesystem::create_symlink("loop.so", directory_ / "loop.so");
  EXPECT_TRUE(contains(refusal("folder"), "is a directory, expected a regular file"));
  EXPECT_TRUE(contains(refusal("pipe"), "is a pipe, expected a regular file"));
  EXPECT_TRUE(contains(refusal("zero"), "is a device, expected a regular file"));
  EXPECT_TRUE(contains(refusal("dangling"), "cannot be resolved: No such file or directory"));
  EXPECT_TRUE(contains(refusal("loop"), "cannot be resolved: Too many levels of symbolic links"));
}

TEST_F(PluginTest, AnUnknownDeviceIsAnErrorThatSaysWhereWasLookedAndWhatIsNear) {
  add("specimen");
  EXPECT_TRUE(refusal("nope").starts_with("device 'nope': no nope.so in " + directory_.path() + ", "));
  EXPECT_TRUE(contains(refusal("specimn"), "did you mean 'specimen'?"));
  EXPECT_TRUE(contains(refusal("men"), "did you mean 'specimen'?"));  // as gpu is a part of opencl-gpu
  EXPECT_TRUE(contains(refusal("nope"), "there are: ")) << refusal("nope");
  add("cpu");
  EXPECT_FALSE(contains(refusal("gpu"), "mean 'cpu'")) << refusal("gpu");
  EXPECT_TRUE(contains(refusal("cpi"), "mean 'cpu'"));
}

TEST_F(PluginTest, ANameThatIsAPathIsNoName) {
  add("specimen");
  for (const char* name : {"../specimen", "/tmp/specimen", "a/b", "", ".", "..", "-x", "a\nb", ":0"})
    EXPECT_TRUE(contains(refusal(name), "expected a backend's name")) << refusal(name);
}

TEST_F(PluginTest, AGoodBackendIsListedWithItsUnits) {
  const std::string path = add("specimen");
  const Discovery found = discover_backends();
  const auto it =
      std::find_if(found.backends.begin(), found.backends.end(), [](auto& b) { return b.name == "specimen"; });
  ASSERT_NE(it, found.backends.end());
  EXPECT_EQ(it->path, path);
  EXPECT_EQ(it->version, "1.0");
  ASSERT_EQ(it->units.size(), 1u);
  EXPECT_EQ(it->units[0].kind, "cpu");
  EXPECT_TRUE(it->units[0].name.starts_with("Specimen?[1m")) << it->units[0].name;
}

TEST_F(PluginTest, EveryRefusalIsListedBesideWhatWorks) {
  add("specimen");
  add("init-segfault");
  add("units-none");
  add("units-absurd");
  directory_.write("text.so", "not a library\n");
  const Discovery found = discover_backends();
  std::string refusals;
  for (const Refusal& r : found.refusals) refusals += r.path + ": " + r.cause + "\n";
  EXPECT_TRUE(contains(refusals, directory_ / "init-segfault.so: crashed with SIGSEGV")) << refusals;
  EXPECT_TRUE(contains(refusals, directory_ / "units-absurd.so: ")) << refusals;
  EXPECT_TRUE(contains(refusals, directory_ / "text.so: is no ELF file\n")) << refusals;
  const auto none =
      std::find_if(found.backends.begin(), found.backends.end(), [](auto& b) { return b.name == "units-none"; });
  ASSERT_NE(none, found.backends.end());
  EXPECT_EQ(none->status.code(), Code::kUnavailable);
}

TEST_F(PluginTest, UnitsOfTheLargestCountAllowedAreListed) {
  add("units-many");
  const Discovery found = discover_backends();
  const auto it =
      std::find_if(found.backends.begin(), found.backends.end(), [](auto& b) { return b.name == "units-many"; });
  ASSERT_NE(it, found.backends.end());
  EXPECT_EQ(it->units.size(), 65536u);
}

TEST_F(PluginTest, AutoTakesAGpuBeforeACpuAndNeverAnEmulator) {
  add("units-emulated");
  add("specimen");
  add("units-gpu");
  add("init-abort");
  const auto device = open_device("auto");
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_EQ((*device)->name(), "units-gpu");
}

bool lists(const std::vector<BackendInfo>& backends, const char* name) {
  return std::any_of(backends.begin(), backends.end(),
                     [&](auto& b) { return b.name == name && b.status.ok() && !b.units.empty(); });
}

TEST_F(PluginTest, AutoSaysWhyItTookNoneOfThoseThatMayBeBetter) {
  add("specimen");
  add("open-silent");
  add("units-none");
  add("init-abort");
  const ResolvedDevice found = resolve_device("auto").take();
  std::string unexpected, expected;
  for (const Refusal& r : found.passed_over) (r.expected ? expected : unexpected) += r.path + ": " + r.cause + "\n";
  EXPECT_TRUE(contains(unexpected, directory_ / "open-silent.so: ended the process in device_open\n")) << unexpected;
  EXPECT_TRUE(contains(unexpected, directory_ / "init-abort.so: crashed with SIGABRT in ")) << unexpected;
  EXPECT_TRUE(contains(expected, directory_ / "units-none.so: ")) << expected;
  EXPECT_FALSE(contains(unexpected + expected, "specimen.so"));
}

TEST_F(HangingPlugin, WhatIsListedCanBeOpened) {
  add("specimen");
  add("open-hang");
  add("open-silent");
  const Discovery found = discover_backends();
  EXPECT_TRUE(lists(found.backends, "specimen"));
  EXPECT_FALSE(lists(found.backends, "open-hang"));
  EXPECT_FALSE(lists(found.backends, "open-silent"));
  std::string refusals;
  for (const Refusal& r : found.refusals) refusals += r.path + ": " + r.cause + "\n";
  EXPECT_TRUE(contains(refusals, "open-hang.so: did not answer within 0.15 s in device_open")) << refusals;
  EXPECT_TRUE(contains(refusals, "open-silent.so: ended the process in device_open")) << refusals;
}

TEST_F(PluginTest, AutoWithoutAnythingUsableSaysWhyEachWasRefused) {
  // Beside this program there may be backends that work: only what the message would hold is looked at.
  add("units-emulated");
  const auto device = open_device("auto");
  if (device.ok())
    EXPECT_NE((*device)->name(), "units-emulated");
  else
    EXPECT_TRUE(contains(device.status().message(), "device 'auto': no usable backend in " + directory_.path()));
}

TEST_F(PluginTest, FloatingPointModesAndSignalsStayAsTheyWere) {
  const mode_t umask_before = ::umask(022);
  const std::string locale_before = std::setlocale(LC_ALL, nullptr);
  struct sigaction before, after;
  sigset_t mask_before{}, mask_after{};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_before);
  ::sigaction(SIGUSR2, nullptr, &before);
  for (const char* name : {"constructor-modes", "init-modes", "constructor-handler", "init-handler", "constructor-mask",
                           "init-mask", "init-umask", "init-locale"}) {
    add(name);
    EXPECT_EQ(refusal(name), "");
    volatile double tiny = 2.3e-308;
    EXPECT_GT(tiny / 16, 0.0) << name;
    ::sigaction(SIGUSR2, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler) << name;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_after);
    EXPECT_EQ(::sigismember(&mask_before, SIGTERM), ::sigismember(&mask_after, SIGTERM)) << name;
    EXPECT_EQ(::umask(022), 022u) << name;
    EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale_before) << name;
  }
  ::umask(umask_before);
}

TEST_F(PluginTest, AFileThatChangedIsTriedAgain) {
  directory_.write("init-fixed.so", "not yet");
  EXPECT_TRUE(contains(refusal("init-fixed"), "is no ELF file"));
  add("init-fixed");
  EXPECT_EQ(refusal("init-fixed"), "");
}

TEST_F(PluginTest, ALinkCannotGiveABackendAnotherName) {
  add_to(home_.path(), "real-1.0");
  std::filesystem::create_symlink(home_ / "real-1.0.so", directory_ / "alias.so");
  EXPECT_TRUE(contains(refusal("alias"), "says that its name is 'real-1.0', the file's is 'alias'"));
}

// Each of the two waits for the other: one after another, neither would come to an end.
TEST_F(PluginTest, AllLibrariesAreTriedAtOnce) {
  add("init-calls");
  add("init-listens");
  ASSERT_EQ(::mkfifo((home_ / "mark.pipe").c_str(), 0600), 0);
  const Discovery found = discover_backends();
  for (const char* name : {"init-calls", "init-listens"})
    EXPECT_TRUE(std::any_of(found.backends.begin(), found.backends.end(), [&](auto& b) { return b.name == name; }))
        << name;
}

TEST_F(HangingPlugin, IsTriedOnceHoweverOftenItIsAskedFor) {
  add("first-hang");
  const std::string once = refusal("first-hang"), marks = home_.read("mark");
  EXPECT_FALSE(marks.empty());
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(refusal("first-hang"), once);
    (void)discover_backends();
  }
  EXPECT_EQ(home_.read("mark"), marks);
}

TEST_F(PluginTest, ListingLoadsNothingIntoThisProcess) {
  add("listed-first");
  const Discovery found = discover_backends();
  EXPECT_TRUE(
      std::any_of(found.backends.begin(), found.backends.end(), [](auto& b) { return b.name == "listed-first"; }));
  EXPECT_FALSE(maps_name("listed-first.so"));
  EXPECT_EQ(refusal("listed-first"), "");
  EXPECT_TRUE(maps_name("listed-first.so"));
}

TEST_F(PluginTest, AutoLoadsNoneButTheOneThatItTakes) {
  add("seen-by-auto");
  add("units-gpu");
  ASSERT_TRUE(open_device("auto").ok());
  EXPECT_TRUE(maps_name("units-gpu.so"));
  EXPECT_FALSE(maps_name("seen-by-auto.so"));
}

// The file exchanges or cuts itself as it is tried.
TEST_F(PluginTest, WhatWasTriedIsWhatIsLoaded) {
  for (const char* name : {"init-swaps", "init-shrinks", "second-swaps", "second-shrinks"}) {
    const std::string path = add(name);
    std::filesystem::copy_file(specimen("that-crashes"), path + ".next");
    EXPECT_EQ(refusal(name), "");
  }
}

TEST_F(PluginTest, ABackendFindsItsOwnPathAndWhatLiesBesideIt) {
  const std::string path = add("finder", "with-helper");
  EXPECT_TRUE(contains(refusal("finder"), "libspecimen_helper.so: cannot open shared object file"))
      << refusal("finder");
  std::filesystem::create_directory(directory_ / "inner");
  std::filesystem::copy_file(specimen("libspecimen_helper"), directory_ / "inner/libspecimen_helper.so");
  add("finder-2", "with-helper");
  EXPECT_EQ(refusal("finder-2"), "");
  EXPECT_TRUE(contains(home_.read("mark"), (directory_ / "finder-2.so") + "\n")) << home_.read("mark");
}

TEST_F(PluginTest, ALibraryThatOthersMayWriteIsNotLoadedWithABackend) {
  add("finder", "with-helper");
  std::filesystem::create_directory(directory_ / "inner");
  std::filesystem::copy_file(specimen("libspecimen_helper"), directory_ / "inner/libspecimen_helper.so");
  ::chmod((directory_ / "inner/libspecimen_helper.so").c_str(), 0666);
  EXPECT_TRUE(contains(refusal("finder"), "libspecimen_helper.so, which may be written by everybody"))
      << refusal("finder");
  EXPECT_FALSE(code_ran());
}

TEST_F(PluginTest, ManyThreadsOpenTheSameBackend) {
  add("opened-by-many");
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { opened += open_device("opened-by-many").ok(); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(opened, 4);
}

}  // namespace
}  // namespace tenon
