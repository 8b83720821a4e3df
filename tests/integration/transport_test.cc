// What tenon/plugin/transport.h promises, held against the library TENON_TRANSPORT. Suites are run apart, by transport.sh:
// Job and Fault in three processes that a launcher starts, Alone in one that none did.
#include "tenon/plugin/transport.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <vector>

namespace {
std::atomic<long> allocations{0};
}

// The library's, too: it finds these before the standard library's.
void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

using Init = tenon_status (*)(tenon_transport*);
using Handlers = std::array<struct sigaction, 32>;

Init entry() {
  const char* path = std::getenv("TENON_TRANSPORT");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* init = library ? dlsym(library, "tenon_transport_init") : nullptr;
  if (!init) {
    std::fprintf(stderr, "TENON_TRANSPORT=%s: %s\n", path ? path : "", dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Init>(init);
}

Handlers handlers() {
  Handlers found{};
  for (int signal = 1; signal < 32; ++signal) sigaction(signal, nullptr, &found[static_cast<size_t>(signal)]);
  return found;
}

struct Joined {
  tenon_transport table{};
  Handlers before, after;

  Joined() {
    table.struct_size = sizeof table;
    const Init init = entry();
    before = handlers();
    const tenon_status status = init(&table);
    if (status.code != TENON_OK) {
      std::fprintf(stderr, "tenon_transport_init: %d, %s\n", status.code, status.message);
      std::exit(2);
    }
    after = handlers();
  }
};

std::unique_ptr<Joined> joined;

tenon_transport& job() {
  if (!joined) joined = std::make_unique<Joined>();
  return joined->table;
}

// The tokens that a process waits for. A job that hangs ends.
class Waiting {
 public:
  void add(uint64_t token) { tokens_.insert(token); }

  void wait(uint32_t room = 16) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::vector<uint64_t> got(room + 1, kUntouched);
    while (!tokens_.empty()) {
      uint32_t n = 0;
      const tenon_status status = job().poll(job().self, got.data(), room, &n);
      ASSERT_EQ(status.code, TENON_OK) << status.message;
      ASSERT_LE(n, room);
      ASSERT_EQ(got[room], kUntouched);
      for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(tokens_.erase(got[i]), 1u) << "token " << got[i];
      if (std::chrono::steady_clock::now() > end) job().abort(job().self, 3);
    }
  }

 private:
  static constexpr uint64_t kUntouched = ~uint64_t{0};
  std::set<uint64_t> tokens_;
};

struct Message {
  uint32_t from, to, tag, index;
  uint64_t bytes;
};

// Differs in every byte from message to message, nearly everywhere.
std::vector<uint8_t> content(const Message& message) {
  std::vector<uint8_t> bytes(message.bytes);
  uint64_t state = (uint64_t{message.from} << 48 | uint64_t{message.to} << 32 | message.tag << 8 | message.index) + 1;
  for (uint64_t at = 0; at < bytes.size(); at += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&bytes[at], &state, std::min<uint64_t>(sizeof state, bytes.size() - at));
  }
  return bytes;
}

constexpr uint64_t kMi = uint64_t{1} << 20;
struct Lane {
  uint32_t tag;
  std::vector<uint64_t> sizes;
};
const std::vector<Lane>& lanes() {
  static const std::vector<Lane> all = {{0, {4096, 4096, 1, 64 * kMi, 0, 4096}},
                                        {7, {0, 1, 1, kMi, 4096, kMi, 0, kMi}},
                                        {32767, {kMi, 4096, 0, 1, 2 * kMi + 1, 3 * kMi, 1}}};
  return all;
}

// All messages of one pair of processes, by tag and then in order.
std::vector<Message> messages(uint32_t from, uint32_t to) {
  std::vector<Message> all;
  for (const Lane& lane : lanes())
    for (uint32_t i = 0; i < lane.sizes.size(); ++i) all.push_back({from, to, lane.tag, i, lane.sizes[i]});
  return all;
}

class Exchange {
 public:
  void send(const Message& message) {
    auto& [what, bytes] = add(message, content(message));
    const tenon_status status = job().send(job().self, what.to, what.tag, bytes.data(), bytes.size(), token_);
    ASSERT_EQ(status.code, TENON_OK) << status.message;
  }
  void receive(const Message& message) {
    auto& [what, bytes] = add(message, std::vector<uint8_t>(message.bytes));
    const tenon_status status = job().receive(job().self, what.from, what.tag, bytes.data(), bytes.size(), token_);
    ASSERT_EQ(status.code, TENON_OK) << status.message;
  }
  void wait(uint32_t room) { waiting_.wait(room); }

  // Those sent, too: nothing may have written to them.
  void check() const {
    for (const auto& entry : all_)
      EXPECT_TRUE(entry->second == content(entry->first))
          << "from " << entry->first.from << " to " << entry->first.to << " tag " << entry->first.tag << " message "
          << entry->first.index;
  }

 private:
  using Entry = std::pair<Message, std::vector<uint8_t>>;
  Entry& add(const Message& message, std::vector<uint8_t> bytes) {
    all_.push_back(std::make_unique<Entry>(message, std::move(bytes)));
    waiting_.add(++token_);
    return *all_.back();
  }

  std::vector<std::unique_ptr<Entry>> all_;
  Waiting waiting_;
  uint64_t token_ = 0;
};

std::vector<uint32_t> others() {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < job().count; ++rank)
    if (rank != job().rank) ranks.push_back(rank);
  return ranks;
}

TEST(Job, SaysWhoRunsWhere) {
  EXPECT_EQ(job().struct_size, sizeof(tenon_transport));
  EXPECT_EQ(job().version, TENON_TRANSPORT_VERSION);
  EXPECT_EQ(job().count, 3u);
  EXPECT_LT(job().rank, 3u);
  EXPECT_STRNE(job().name, "");
  for (uint32_t rank = 0; rank < job().count; ++rank) EXPECT_STRNE(job().host(job().self, rank), "");
}

TEST(Job, LeavesSignalsToTheProgram) {
  job();
  std::vector<size_t> taken;
  for (size_t signal = 1; signal < joined->before.size(); ++signal)
    if (joined->before[signal].sa_handler != joined->after[signal].sa_handler) taken.push_back(signal);
  EXPECT_EQ(taken, std::vector<size_t>{});
}

TEST(Job, MessagesArriveWholeAndInTheOrderOfTheirTag) {
  Exchange exchange;
  for (uint32_t other : others())
    for (const Message& message : messages(other, job().rank)) ASSERT_NO_FATAL_FAILURE(exchange.receive(message));
  for (uint32_t other : others())
    for (const Message& message : messages(job().rank, other)) ASSERT_NO_FATAL_FAILURE(exchange.send(message));
  ASSERT_NO_FATAL_FAILURE(exchange.wait(16));
  exchange.check();
}

TEST(Job, MessagesThatCameEarlyWaitForTheirReceiver) {
  Exchange exchange;
  for (uint32_t other : others())
    for (const Message& message : messages(job().rank, other)) ASSERT_NO_FATAL_FAILURE(exchange.send(message));
  uint32_t n = 0;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(job().poll(job().self, nullptr, 0, &n).code, TENON_OK);
  for (size_t lane = lanes().size(); lane-- > 0;)  // another order of tags than that of sending
    for (uint32_t other : others())
      for (const Message& message : messages(other, job().rank)) {
        if (message.tag != lanes()[lane].tag) continue;
        ASSERT_NO_FATAL_FAILURE(exchange.receive(message));
      }
  ASSERT_NO_FATAL_FAILURE(exchange.wait(1));
  exchange.check();
}

// A ring of small and large messages, eight under way.
void circulate(std::vector<uint8_t>& out, std::vector<uint8_t>& in, int rounds) {
  const uint32_t next = (job().rank + 1) % job().count, last = (job().rank + job().count - 1) % job().count;
  std::array<uint64_t, 16> tokens;
  for (int round = 0; round < rounds; ++round) {
    for (uint32_t tag = 0; tag < 8; ++tag) {
      const uint64_t bytes = tag % 2 ? out.size() / 8 : 8, at = tag * out.size() / 8;
      ASSERT_EQ(job().receive(job().self, last, tag, &in[at], bytes, tag).code, TENON_OK);
      ASSERT_EQ(job().send(job().self, next, tag, &out[at], bytes, 8 + tag).code, TENON_OK);
    }
    for (uint32_t done = 0, n = 0; done < 16; done += n)
      ASSERT_EQ(job().poll(job().self, tokens.data(), 16, &n).code, TENON_OK);
  }
}

TEST(Job, SteadyTrafficAllocatesNothing) {
  job();
  std::vector<uint8_t> out(kMi, 1), in(kMi);
  ASSERT_NO_FATAL_FAILURE(circulate(out, in, 4));
  const long before = allocations;
  ASSERT_NO_FATAL_FAILURE(circulate(out, in, 100));
  EXPECT_EQ(allocations - before, 0);
}

TEST(Job, RefusesMessagesThatCannotBe) {
  char byte = 0;
  tenon_transport& t = job();
  EXPECT_EQ(t.send(t.self, t.count, 0, &byte, 1, 1).code, TENON_INVALID);
  EXPECT_EQ(t.receive(t.self, t.count, 0, &byte, 1, 1).code, TENON_INVALID);
  EXPECT_EQ(t.send(t.self, 0, 32768, &byte, 1, 1).code, TENON_INVALID);
  EXPECT_EQ(t.receive(t.self, 0, 0, nullptr, 1, 1).code, TENON_INVALID);
  EXPECT_EQ(t.send(t.self, 0, 0, &byte, (uint64_t{1} << 40) + 1, 1).code, TENON_INVALID);
  uint32_t n = 1;
  EXPECT_EQ(t.poll(t.self, nullptr, 0, &n).code, TENON_OK);
  EXPECT_EQ(n, 0u);
}

// The error of a ring in which each is sent so many bytes and expects others.
void expect_error(uint64_t sent, uint64_t expected) {
  tenon_transport& t = job();
  const uint32_t next = (t.rank + 1) % t.count, last = (t.rank + t.count - 1) % t.count;
  std::vector<char> out(sent), in(expected);
  ASSERT_EQ(t.receive(t.self, last, 1, in.data(), expected, 1).code, TENON_OK);
  ASSERT_EQ(t.send(t.self, next, 1, out.data(), sent, 2).code, TENON_OK);
  tenon_status status{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  uint64_t tokens[4];
  for (uint32_t n; status.code == TENON_OK && std::chrono::steady_clock::now() < end;)
    status = t.poll(t.self, tokens, 4, &n);
  ASSERT_EQ(status.code, TENON_DEVICE_LOST);
  const std::string words = status.message;
  EXPECT_NE(words.find("from rank " + std::to_string(last) + " on " + t.host(t.self, last)), words.npos) << words;
  EXPECT_EQ(words.find('\n'), words.npos) << words;
}

TEST(FaultLonger, IsAnErrorThatNamesTheSender) { expect_error(8, 4); }
TEST(FaultShorter, IsAnErrorThatNamesTheSender) { expect_error(4, 8); }

TEST(FaultAbort, EndsProcessesThatWait) {
  tenon_transport& t = job();
  if (t.rank == 1) t.abort(t.self, 7);
  char byte = 0;
  Waiting waiting;
  waiting.add(1);
  ASSERT_EQ(t.receive(t.self, 1, 0, &byte, 1, 1).code, TENON_OK);
  waiting.wait();
}

TEST(Alone, IsInNoJob) {
  tenon_transport table{};
  table.struct_size = sizeof table;
  const tenon_status status = entry()(&table);
  EXPECT_EQ(status.code, TENON_UNAVAILABLE);
  ASSERT_NE(status.message, nullptr);
  EXPECT_STREQ(status.message, "no launcher such as mpirun or srun started this process");
  EXPECT_EQ(table.self, nullptr);
}

// As an mpirun of another MPI looks to it.
TEST(Alone, UnderALauncherOfAnotherKindIsRefused) {
  setenv("PMI_SIZE", "4", 1);
  tenon_transport table{};
  table.struct_size = sizeof table;
  const tenon_status status = entry()(&table);
  EXPECT_EQ(status.code, TENON_UNSUPPORTED);
  EXPECT_NE(std::string(status.message).find("started 4 processes"), std::string::npos) << status.message;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (joined) joined->table.close(joined->table.self);
  return result;
}
