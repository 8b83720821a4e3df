// Which ops a backend's table may name.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "unit/runtime/toy_backend.h"

namespace tenon::plugin::testing {
namespace {

void add(KernelTable& table, const char* op, uint32_t version = 1) {
  table.add(
      op, [](const NodeView&) { return take(); }, [](const NodeView&, const Env&) { return Kernel(); }, version);
}

// "message" of a backend named mine with this table; empty: it was taken.
std::string init(void (*fill)(KernelTable&)) {
  static HostBackend backend{"mine", "1.0", "Mine", TENON_CPU, nullptr};
  backend.fill = fill;
  tenon_backend out{};
  out.struct_size = sizeof out;
  const tenon_status status = init_host_backend(backend, nullptr, &out);
  if (status.code == TENON_OK) return "";
  EXPECT_EQ(status.code, TENON_INVALID);
  EXPECT_EQ(out.enumerate, nullptr);
  return status.message;
}

TEST(Table, ListsTheOpsOfItsEntries) {
  KernelTable table;
  add(table, "neg");
  EXPECT_EQ(table.ops(), std::vector<std::string>{"neg"});
  add(table, "neg", 12);
  EXPECT_EQ(table.ops(), (std::vector<std::string>{"neg", "neg"}));
}

TEST(Table, TakesPublishedOpsAndTheBackendsOwn) {
  EXPECT_EQ(init([](KernelTable& t) { add(t, "neg"), add(t, "attention_grad"), add(t, "crop_flip", 2); }), "");
  EXPECT_EQ(init([](KernelTable& t) { add(t, "mine_fused"), add(t, "acme.fused"); }), "");
}

TEST(Table, RefusesAMisspeltOp) {
  EXPECT_EQ(init([](KernelTable& t) { add(t, "neg"), add(t, "negg"); }),
            "tenon_backend_init: the table has op 'negg', which is none of Tenon's");
  EXPECT_EQ(init([](KernelTable& t) { add(t, "zeros"), add(t, "Add"), add(t, "fused_mine"); }),
            "tenon_backend_init: the table has op 'Add', which is none of Tenon's");
}

TEST(Table, IsNotMadeForAHostWithFlagsThatItDoesNotKnow) {
  static HostBackend backend{"mine", "1.0", "Mine", TENON_CPU, [](KernelTable& t) { add(t, "neg"); }};
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 40}) {  // the last is a hint
    tenon_host host{};
    host.struct_size = sizeof host;
    host.flags = flags;
    tenon_backend out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(init_host_backend(backend, &host, &out).code, flags >> 32 ? TENON_OK : TENON_UNSUPPORTED) << flags;
  }
}

// A thread sanitizer sees whether tables, which live for ever, are kept under a lock.
TEST(Table, IsMadeOnAnyThread) {
  static const HostBackend backend{"mine", "1.0", "Mine", TENON_CPU, nullptr};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) {
        tenon_backend out{};
        out.struct_size = sizeof out;
        EXPECT_EQ(init_host_backend(backend, nullptr, &out).code, TENON_OK);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon::plugin::testing
