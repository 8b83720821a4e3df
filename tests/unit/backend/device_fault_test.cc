// Backends that fail or answer nonsense while they are used: a clean Status each time, and the device
// goes on where the failure was one call's.
#include <dirent.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "backend/device.h"
#include "unit/backend/plugin_testing.h"

namespace tenon {
namespace {

struct Fault {
  const char* spec;
  Code code;
  const char* text;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.spec; }

const Type kVector{DType::kF32, {16}};

GraphImage tiny_graph() {
  GraphImage graph;
  const uint32_t x = graph.input(kVector, GraphImage::Role::kState, false, "x");
  graph.result(x, GraphImage::Mode::kLast, 0, false);
  graph.finish();
  return graph;
}

// Every entry once.
Status use(const std::string& name) {
  TENON_ASSIGN(auto device, open_device(name));
  const GraphImage graph = tiny_graph();
  const uint32_t node = 0;
  TENON_TRY(device->supports(graph, {&node, 1}, {}).status());
  TENON_ASSIGN(Program program, device->compile(graph, {}));
  TENON_ASSIGN(Buffer buffer, device->allocate(kVector, true));
  TENON_ASSIGN(Queue queue, device->create_queue());
  float values[16] = {1, 2, 3}, back[16] = {};
  TENON_TRY(queue.write(buffer, values, sizeof values));
  Launch launch(program, 1, 1, 0, 4);
  launch.set_input(0, buffer);
  launch.set_result(0, buffer);
  TENON_TRY(queue.run(launch, 4).status());
  TENON_TRY(queue.read(buffer, back, sizeof back));
  (void)device->bytes_in_use();
  return std::memcmp(values, back, sizeof back) == 0 ? Status() : Status(Code::kInternal, "the contents changed");
}

class DeviceFault : public PluginTest, public testing::WithParamInterface<Fault> {};

TEST_P(DeviceFault, IsACleanErrorAndTheNextDeviceWorks) {
  add("faulty");
  const Status status = use(std::string("faulty:") + GetParam().spec);
  EXPECT_EQ(status.code(), GetParam().code) << status.message();
  EXPECT_NE(status.message().find(GetParam().text), std::string::npos) << status.message();
  EXPECT_TRUE(GetParam().code == Code::kOk || status.message().find("faulty") != std::string::npos) << status.message();
  EXPECT_EQ(use("faulty").message(), "");
}

const Fault kFaults[] = {
    {"none", Code::kOk, ""},
    {"enumerate-error", Code::kInternal, "broken on purpose"},
    {"enumerate-depth", Code::kAbi, "feed_depth 0, expected 1 to 4096"},
    {"enumerate-text", Code::kOk, ""},
    {"open-error", Code::kInternal, "broken on purpose"},
    {"open-null", Code::kAbi, "device_open gave no device"},
    {"supports-error", Code::kInternal, "broken on purpose"},
    {"supports-full", Code::kOutOfMemory, "full on purpose"},
    {"supports-answer", Code::kAbi, "supports answered 9, expected 0 to 2"},
    {"compile-error", Code::kInternal, "broken on purpose"},
    {"compile-full", Code::kOutOfMemory,
     "full on purpose; 4096 bytes are in use, 1024 are free, of them 512 in one piece"},
    {"compile-strange", Code::kInternal, "compile failed with code 77"},
    {"compile-null", Code::kAbi, "compile gave no program"},
    {"compile-info", Code::kOk, ""},
    {"alloc-error", Code::kInternal, "broken on purpose"},
    {"alloc-full", Code::kOutOfMemory,
     "full on purpose; asked for 64 bytes; 4096 bytes are in use, 1024 are free, of them 512 in one piece"},
    {"alloc-null", Code::kAbi, "buffer_alloc gave no buffer"},
    {"alloc-no-host", Code::kAbi, "HOST buffer without memory"},
    {"alloc-unaligned", Code::kAbi, "aligned to 64 bytes"},
    {"queue-error", Code::kInternal, "broken on purpose"},
    {"queue-null", Code::kAbi, "queue_create gave no queue"},
    {"copy-error", Code::kInternal, "broken on purpose"},
    {"copy-strange", Code::kInternal, "copy failed with code 77"},
    {"copy-ticket", Code::kAbi, "copy gave ticket 0, expected more than 0"},
    {"run-error", Code::kInternal, "broken on purpose"},
    {"run-full", Code::kOutOfMemory, "full on purpose; 4096 bytes are in use, 1024 are free, of them 512 in one piece"},
    {"run-more", Code::kAbi, "run did 5 iterations, expected at most 4"},
    {"run-none", Code::kAbi, "run did no iteration"},
    {"run-ticket", Code::kAbi, "run gave ticket 1, expected more than 1"},
    {"wait-error", Code::kInternal, "broken on purpose"},
    {"stats-error", Code::kOk, ""},
    {"enumerate-throw", Code::kInternal, "the backend broke the ABI: threw out of `enumerate`: thrown on ?[1m purpose"},
    {"open-throw", Code::kInternal, "the backend broke the ABI: threw out of `device_open`: thrown on"},
    {"supports-throw", Code::kInternal, "the backend broke the ABI: threw out of `supports`: thrown on"},
    {"compile-throw", Code::kInternal, "the backend broke the ABI: threw out of `compile`: thrown on"},
    {"compile-throw-int", Code::kInternal, "threw out of `compile`, and no std::exception"},
    {"alloc-throw", Code::kInternal, "the backend broke the ABI: threw out of `buffer_alloc`: thrown on"},
    {"queue-throw", Code::kInternal, "the backend broke the ABI: threw out of `queue_create`: thrown on"},
    {"copy-throw", Code::kInternal, "the backend broke the ABI: threw out of `copy`: thrown on"},
    {"run-throw", Code::kInternal, "the backend broke the ABI: threw out of `run`: thrown on"},
    {"run-gang-throw", Code::kInternal, "the backend broke the ABI: threw out of `run`: thrown on"},
    {"wait-throw", Code::kInternal, "the backend broke the ABI: threw out of `wait`: thrown on"},
};
INSTANTIATE_TEST_SUITE_P(Entries, DeviceFault, testing::ValuesIn(kFaults));

// These entries have no status to answer with.
TEST_F(PluginTest, WhatIsThrownOutOfAnEntryWithoutAStatusIsLogged) {
  add("faulty");
  const std::pair<const char*, const char*> cases[] = {{"free-throw", "buffer_free"},
                                                       {"program-throw", "program_destroy"},
                                                       {"destroy-throw", "queue_destroy"},
                                                       {"close-throw", "device_close"},
                                                       {"stats-throw", "stats"}};
  for (const auto& [spec, entry] : cases) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(use(std::string("faulty:") + spec).message(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), std::string("faulty:") + spec +
                                                          ": the backend broke the ABI: threw out of `" + entry +
                                                          "`: thrown on ?[1m purpose\n");
  }
}

class ThrowingFeed : public Feed {
 public:
  bool next(uint64_t i, std::span<Buffer*>) override {
    if (i == 1) throw std::runtime_error("no such record");
    return true;
  }
  void release(uint64_t) override { ++released; }
  int released = 0;
};

// It is the host's own, and the backend is not blamed for it.
TEST_F(PluginTest, WhatAFeedThrowsPassesTheBackendBy) {
  add("faulty");
  const auto device = *open_device("faulty");
  const Program program = std::move(*device->compile(tiny_graph(), {}));
  Queue queue = std::move(*device->create_queue());
  Launch launch(program, 1, 1, 0, 4);
  ThrowingFeed feed;
  try {
    (void)queue.run(launch, 4, &feed);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "no such record");
  }
  EXPECT_EQ(feed.released, 1);
  EXPECT_EQ(*queue.run(launch, 4), 4u) << "the queue goes on";
}

// The name of the specimen's unit moves the cursor, which the core mends in silence.
TEST_F(PluginTest, UnderValidationWhatABackendBreaksIsNamed) {
  add("validated");
  add("unvalidated");
  EXPECT_EQ(refusal("unvalidated"), "");
  const Environment validate("TENON_VALIDATE", "1");
  EXPECT_EQ(refusal("validated"),
            "validated: backend validated broke the contract in enumerate: gave unit 0 a name that cannot be printed: "
            "'Specimen?[1m'");
  EXPECT_EQ(refusal("unvalidated"), "") << "is loaded already";
}

TEST_F(PluginTest, OtherValuesAskForNoValidation) {
  for (const char* value : {"", "0", "yes", "11"}) {
    const Environment validate("TENON_VALIDATE", value);
    const std::string name = std::string("value-") + value;
    add(name);
    EXPECT_EQ(refusal(name), "");
  }
}

size_t open_descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_F(PluginTest, OpeningAndClosingLeavesNothingBehind) {
  add("faulty");
  const auto cycles = [&](int n) {
    for (int i = 0; i < n; ++i) {
      EXPECT_TRUE(use("faulty").ok());
      EXPECT_FALSE(use("faulty:wait-error").ok());
      EXPECT_FALSE(open_device("nope").ok());
    }
  };
  cycles(20);
  const size_t descriptors = open_descriptors(), resident = resident_bytes();
  cycles(200);
  EXPECT_EQ(open_descriptors(), descriptors);
  if (!kSanitized) {  // sanitizers keep what was freed
    EXPECT_LT(resident_bytes(), resident + (1 << 20));
  }
}

TEST_F(PluginTest, RefusingLeavesNothingBehind) {
  const auto cycles = [&](int n) {
    for (int i = 0; i < n; ++i) {
      add("init-abort");  // written anew, so it is tried again
      EXPECT_FALSE(open_device("init-abort").ok());
    }
  };
  cycles(5);
  const size_t descriptors = open_descriptors();
  cycles(20);
  EXPECT_EQ(open_descriptors(), descriptors);
}

}  // namespace
}  // namespace tenon
