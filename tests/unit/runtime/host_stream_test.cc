// Work in ordinary memory, at once or on a thread of its own.
#include "runtime/host/host_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tenon::plugin {
namespace {

TEST(HostStream, WithoutAThreadDoesItsWorkBeforeItReturns) {
  HostStream stream(false);
  uint64_t a = 1, b = 2, c = 3;
  const uint64_t seven = 7;
  stream.set({&a, 0}, &seven, 8);
  EXPECT_EQ(a, 7u);
  stream.copy({&b, 0}, {&a, 0}, 8);
  EXPECT_EQ(b, 7u);
  stream.read(&c, {&b, 0}, 8);
  EXPECT_EQ(c, 7u);
  EXPECT_EQ(stream.submit(), nullptr);  // it is over
}

TEST(HostStream, WithAThreadDoesItsWorkInOrder) {
  HostStream stream(true);
  uint64_t a = 1, b = 2;
  const uint64_t seven = 7;
  stream.write({&a, 0}, &seven, 8);
  stream.copy({&b, 0}, {&a, 0}, 8);
  EXPECT_TRUE(stream.submit()->reached(UINT64_MAX));
  EXPECT_EQ(b, 7u);
}

// What was submitted before the failure has been done.
TEST(HostStream, DoesNothingBehindAFailureAndThrowsTheFirst) {
  auto stream = std::make_unique<HostStream>(true);
  bool goes_on = false;
  stream->enqueue([] {});
  const auto before = stream->submit();
  EXPECT_TRUE(before->reached(UINT64_MAX));
  stream->enqueue([] { throw Error(TENON_INTERNAL, "the first", 5); });
  const auto failed = stream->submit();
  stream->enqueue([&] {
    goes_on = true;
    throw Error(TENON_INTERNAL, "the second");
  });
  const auto behind = stream->submit();
  stream.reset();  // after all that was enqueued; marks live on
  for (const auto& mark : {behind, failed}) try {
      mark->reached(UINT64_MAX);
      ADD_FAILURE() << "expected an Error";
    } catch (const Error& e) {
      EXPECT_EQ(e.what(), std::string("the first"));
      EXPECT_EQ(e.native, 5);
    }
  EXPECT_TRUE(before->reached(0));
  EXPECT_FALSE(goes_on);
}

}  // namespace
}  // namespace tenon::plugin
