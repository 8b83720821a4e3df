// Part of the memory suite: what a device says of its memory, while buffers of many sizes come and go.
#include <memory>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

tenon_stats stats_of(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, stats) || !s.backend().stats)
    throw Unavailable{"the backend has no stats"};
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  expect_ok(s.backend().stats(s.device(), &stats), "stats");
  return stats;
}

void counts_plausibly(Subject& s) {
  constexpr uint64_t kBytes = 8u << 20;
  const tenon_stats before = stats_of(s);
  {
    const Buffer buffer = f32_buffer(s, {kBytes / 4});
    const tenon_stats now = stats_of(s);
    expect(now.bytes_in_use >= before.bytes_in_use + kBytes,
           "stats: in use grew by " + std::to_string(now.bytes_in_use - before.bytes_in_use) +
               " bytes for a buffer of " + std::to_string(kBytes));
    expect(now.bytes_in_use <= before.bytes_in_use + 4 * kBytes,
           "stats: in use grew by " + std::to_string(now.bytes_in_use - before.bytes_in_use) +
               " bytes for a buffer of " + std::to_string(kBytes));
    expect(now.bytes_peak >= now.bytes_in_use, "stats: the peak is less than what is in use");
    expect(now.bytes_largest_free <= now.bytes_free, "stats: the largest free block is larger than all that is free");
  }
  const tenon_stats after = stats_of(s);
  expect(after.bytes_in_use == before.bytes_in_use, "stats: " + std::to_string(after.bytes_in_use) +
                                                        " bytes in use once the buffer is free, " +
                                                        std::to_string(before.bytes_in_use) + " before");
  expect(after.bytes_peak >= before.bytes_in_use + kBytes, "stats: the peak forgets what is free again");
}

// Around every size at which an allocator may go another way.
std::vector<int64_t> buffer_sizes() {
  std::vector<int64_t> out;
  for (int64_t power : {1 << 6, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 21, 1 << 22})
    for (int64_t beside : {-64, -1, 0, 1, 64}) out.push_back(power + beside);
  out[0] = 1;
  return out;
}

void comes_back_to_where_it_was(Subject& s) {
  const uint64_t before = stats_of(s).bytes_in_use;
  for (const int64_t size : buffer_sizes()) {
    {
      const Buffer buffer(s, s.device(), TENON_U8, {size});
      const uint64_t used = stats_of(s).bytes_in_use;
      expect(used >= before + static_cast<uint64_t>(size), "stats: in use grew by " + std::to_string(used - before) +
                                                               " bytes for a buffer of " + std::to_string(size));
    }
    const uint64_t after = stats_of(s).bytes_in_use;
    expect(after == before, "stats: " + std::to_string(after) + " bytes in use once a buffer of " +
                                std::to_string(size) + " is free, " + std::to_string(before) + " before");
  }
}

void remembers_the_peak(Subject& s) {
  constexpr int64_t kBytes = 8 << 20;
  const uint64_t before = stats_of(s).bytes_in_use;
  { const Buffer large(s, s.device(), TENON_U8, {kBytes}); }
  const uint64_t peak = stats_of(s).bytes_peak;
  expect(peak >= before + kBytes, "stats: a peak of " + std::to_string(peak) + " once a buffer of 8 MB was freed");
  const Buffer small(s, s.device(), TENON_U8, {100});
  const uint64_t now = stats_of(s).bytes_peak;
  expect(now >= peak, "stats: the peak fell from " + std::to_string(peak) + " to " + std::to_string(now) +
                          " as a small buffer was made");
}

void tells_what_is_free(Subject& s) {
  constexpr uint64_t kBytes = 8u << 20;
  const tenon_stats before = stats_of(s);
  if (before.bytes_free == 0) throw Unavailable{"the backend does not say what is free"};
  const Buffer buffer(s, s.device(), TENON_U8, {kBytes});
  const tenon_stats now = stats_of(s);
  const uint64_t memory = s.units()[0].memory_bytes;
  expect(before.bytes_largest_free >= kBytes, "stats: the largest free block has " +
                                                  std::to_string(before.bytes_largest_free) +
                                                  " bytes, and a buffer of 8 MB was given");
  expect(now.bytes_free <= memory && now.bytes_in_use <= memory - now.bytes_free,
         "stats: " + std::to_string(now.bytes_in_use) + " bytes in use and " + std::to_string(now.bytes_free) +
             " free of " + std::to_string(memory));
}

// A buffer that is freed takes nothing of its neighbours with it.
void leaves_the_neighbours(Subject& s) {
  Queue queue(s, s.device());
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto bytes_of = [](size_t i, int64_t size) {
    return std::vector<uint8_t>(static_cast<size_t>(size), static_cast<uint8_t>(i + 1));
  };
  std::vector<int64_t> large;
  const std::vector<int64_t> sizes = buffer_sizes();
  for (size_t i = sizes.size(); i-- > 0;)  // small ones go where large ones leave a gap
    if (sizes[i] >= (1 << 18)) large.push_back(sizes[i]);
  for (size_t i = 0; i < large.size(); ++i) {
    buffers.push_back(std::make_unique<Buffer>(s, s.device(), TENON_U8, Dims{large[i]}));
    queue.write(*buffers[i], bytes_of(i, large[i]).data(), static_cast<uint64_t>(large[i]));
  }
  for (const size_t parity : {0u, 1u}) {
    for (size_t i = parity; i < large.size(); i += 4) buffers[i].reset();
    for (size_t i = 0; i < large.size(); ++i) {
      if (!buffers[i]) continue;
      std::vector<uint8_t> found(static_cast<size_t>(large[i]));
      queue.read(*buffers[i], found.data(), found.size());
      expect(found == bytes_of(i, large[i]),
             "a buffer of " + std::to_string(large[i]) + " bytes changed as others were freed");
    }
  }
}

}  // namespace

void add_counter_tests(Tests& tests) {
  add_test(tests, "memory", "stats", "count plausibly", counts_plausibly);
  add_test(tests, "memory", "stats", "come back to where they were", comes_back_to_where_it_was);
  add_test(tests, "memory", "stats", "remember the peak", remembers_the_peak);
  add_test(tests, "memory", "stats", "tell what is free", tells_what_is_free);
  add_test(tests, "memory", "alloc", "freed beside others that stay", leaves_the_neighbours);
}

}  // namespace tenon::conformance
