#include "conformance/host/subject.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "conformance/host/elf_note.h"
#include "conformance/host/gang.h"
#include "conformance/host/session.h"
#include "unit/conformance/cases.h"

namespace tenon::conformance {
namespace {

std::string cpu_path() {
  const char* folder = std::getenv("TENON_PLUGIN_PATH");
  return (folder ? std::string(folder) : std::string(".")) + "/cpu.so";
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A file of these bytes, gone at the end.
class Temporary {
 public:
  explicit Temporary(const std::string& bytes) {
    char name[] = "/tmp/tenon_conformance_XXXXXX";
    close(mkstemp(name));
    path = name;
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~Temporary() { std::remove(path.c_str()); }
  std::string path;
};

TEST(AbiNote, IsReadFromTheFile) {
  const AbiNote note = read_abi_note(cpu_path());
  EXPECT_EQ(note.major, TENON_ABI_MAJOR);
  EXPECT_EQ(note.minor, TENON_ABI_MINOR);
}

TEST(AbiNote, NoTruncationIsReadPastItsEnd) {
  const std::string whole = bytes_of(cpu_path());
  ASSERT_GT(whole.size(), 4096u);
  int refused = 0;
  for (size_t size = 0; size < 1024; size += 13) {
    const Temporary file(whole.substr(0, size));
    refused += !failure_of([&] { read_abi_note(file.path); }).empty();
  }
  EXPECT_GT(refused, 5);
  EXPECT_EQ(failure_of([] { read_abi_note("/nowhere.so"); }), "the library /nowhere.so cannot be read");
}

TEST(Gang, MembersRunAtOnce) {
  Gang gang(4);
  for (int round = 0; round < 40; ++round) {
    std::atomic<uint32_t> here{0};
    const uint32_t count = gang.run(
        4,
        [](void* arg, uint32_t, uint32_t n) {
          auto& arrived = *static_cast<std::atomic<uint32_t>*>(arg);
          ++arrived;
          while (arrived < n) std::this_thread::yield();
        },
        &here);
    EXPECT_EQ(here, count);
    EXPECT_EQ(count, round % 4 == 3 ? 2u : 4u);
  }
  gang.set_limit(1);
  EXPECT_EQ(gang.run(
                4, [](void*, uint32_t, uint32_t) {}, nullptr),
            1u);
}

class OnCpu : public testing::Test {
 protected:
  Subject subject{cpu_path(), 1};
};

TEST_F(OnCpu, RunsAGraphInEitherPlace) {
  const FlatGraph g = one_op("add", 2, 5);
  const std::vector<Tensor> in = {floats({5}, {1, 2, 3, 4, 5}), floats({5}, {10, 20, 30, 40, 50})};
  for (Place place : {Place::kDevice, Place::kHost})
    EXPECT_EQ(run_graph(subject, *g.graph(), in, place)[0].f, (std::vector<double>{11, 22, 33, 44, 55}));
}

TEST_F(OnCpu, AHostBufferBeginsAsRubbish) {
  const Buffer buffer(subject, subject.device(), TENON_F32, {3}, {.host = true});
  EXPECT_EQ(buffer.host()[0], kRubbish[0]);
  EXPECT_NO_THROW(buffer.check_end("result 0"));
}

TEST_F(OnCpu, AByteBehindWhatAHostBufferHoldsIsNamed) {
  for (const auto& [at, where] :
       {std::pair<int, const char*>{12, "1 bytes behind its last"}, {63, "52 bytes behind its last"}}) {
    const Buffer buffer(subject, subject.device(), TENON_F32, {3}, {.host = true});
    buffer.host()[at] = 0;
    EXPECT_EQ(failure_of([&] { buffer.check_end("result 0"); }),
              std::string("result 0 of 12 bytes: a byte was written ") + where);
  }
}

TEST_F(OnCpu, AnUnknownOpIsUnsupportedWithItsReason) {
  const FlatGraph g = one_op("frobnicate", 1, 2);
  EXPECT_THROW(require_taken(subject, subject.device(), *g.graph()), Unsupported);
}

TEST_F(OnCpu, StatesAreCarriedByTheirAlias) {
  GraphBuilder b;
  const uint32_t p = b.input(TENON_F32, {2}, TENON_ROLE_STATE), d = b.input(TENON_F32, {}, TENON_ROLE_SCALAR),
                 next = b.value(TENON_F32, {2});
  b.node("add", {p, d}, {next}).name("next");
  b.result(next, TENON_MODE_LAST, 1);
  const FlatGraph g = b.build();
  Session session(subject, *g.graph(), Place::kHost);
  session.write({floats({2}, {1, 2}), floats({}, {0})});
  EXPECT_EQ(session.run({floats({2}, {}), floats({}, {10})})[0].f, (std::vector<double>{11, 12}));
  EXPECT_EQ(session.run({floats({2}, {}), floats({}, {0.5})})[0].f, (std::vector<double>{11.5, 12.5}));
  EXPECT_NO_THROW(session.check());
}

TEST_F(OnCpu, TheDeviceCanBeClosedAndOpenedAgain) {
  const FlatGraph g = one_op("neg", 1, 1);
  run_graph(subject, *g.graph(), {floats({1}, {1})});
  subject.close_device();
  EXPECT_EQ(run_graph(subject, *g.graph(), {floats({1}, {3})})[0].f[0], -3);
}

TEST(Subject, SaysWhatIsNoBackend) {
  const Temporary text("#!/bin/sh\n");
  EXPECT_EQ(failure_of([&] { Subject s(text.path, 1); }), text.path + " is no 64-bit little-endian ELF library");
}

TEST(Status, AnErrorNeedsOneLine) {
  EXPECT_EQ(failure_of([] { expect_code({TENON_INVALID, 0, "no"}, TENON_INVALID, "call"); }), "");
  EXPECT_EQ(failure_of([] {
              expect_code({TENON_INVALID, 0, nullptr}, TENON_INVALID, "call");
            }),
            "call: INVALID comes without a message");
  EXPECT_EQ(failure_of([] {
              expect_code({TENON_INVALID, 0, "a\nb"}, TENON_INVALID, "call");
            }),
            "call: the message has more than one line: a b");
  EXPECT_EQ(failure_of([] {
              expect_code({TENON_OK, 0, nullptr}, TENON_INVALID, "call");
            }),
            "call: expected INVALID, found OK, without a message");
  EXPECT_THROW(expect_ok({TENON_UNSUPPORTED, 0, "f64"}, "compile"), Unsupported);
}

}  // namespace
}  // namespace tenon::conformance
