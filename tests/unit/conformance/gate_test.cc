// Gates hold whoever touches their memory, also while others come and go.
#include "conformance/suites/run/gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace tenon::conformance {
namespace {

float first_of(const Gate& gate) { return *static_cast<const volatile float*>(gate.memory()); }

TEST(Gate, HoldsAThreadWhileAnotherGateTakesThePlaceOfOneThatIsGone) {
  std::optional<Gate> gone;
  gone.emplace(Floats{1});
  Gate held(Floats{2});
  gone.emplace(Floats(5000, 1));  // in the first place still, and too large for the memory above that of `held`
  float seen = 0, other = 0;
  std::thread waits([&] { seen = first_of(held); });  // its handler reads the place of `gone` before its own
  std::thread waits_too([&] { other = first_of(*gone); });
  gone->open_when_all_wait();
  waits_too.join();
  EXPECT_EQ(other, 1);
  gone.reset();
  const Gate next(Floats(9000, 3));  // a thread sanitizer tells when this writes what the handler reads unguarded
  EXPECT_FALSE(held.is_open());
  held.open();
  waits.join();
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace tenon::conformance
