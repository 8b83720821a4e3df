// Queues with a thread of their own where the system has none to give.
#include <gtest/gtest.h>

#include "sdk/runtime/host/host_stream.h"
#include "tenon/plugin/entry.h"
#include "unit/thread_limit.h"

namespace tenon::plugin {
namespace {

TEST(ThreadLimit, AQueueWithoutItsThreadIsAnErrorThatSaysSo) {
  test::threads_left = 0;
  const tenon_status status = guarded([] { HostStream stream(true); });
  test::threads_left = -1;
  EXPECT_EQ(status.code, TENON_OUT_OF_MEMORY);
  ASSERT_NE(status.message, nullptr);
  EXPECT_STREQ(status.message,
               "queue_create: the system gives no thread for the queue: Resource temporarily unavailable");
  EXPECT_FALSE(HostStream(true).is_inline());
}

}  // namespace
}  // namespace tenon::plugin
