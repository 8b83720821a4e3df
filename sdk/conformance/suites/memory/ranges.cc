// Part of the memory suite: ranges of bytes that a copy may have, and those that it may not.
#include <algorithm>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kRangeBytes = 100;  // of one byte

struct ByteRange {
  uint64_t offset, bytes;
};

std::string text_of(const ByteRange& r) {
  return std::to_string(r.bytes) + " bytes from byte " + std::to_string(r.offset) + " of " +
         std::to_string(kRangeBytes);
}

// A byte too many, anywhere; numbers that are in range once their upper bytes are lost, or once they have wrapped.
std::vector<ByteRange> ranges_outside() {
  std::vector<ByteRange> out{{0, kRangeBytes + 1}, {1, kRangeBytes},     {kRangeBytes - 1, 2},
                             {kRangeBytes, 1},     {kRangeBytes + 1, 1}, {UINT64_MAX, 1}};
  for (const uint64_t lost : {1ull << 16, 1ull << 31, 1ull << 32, 1ull << 48, 1ull << 56, 1ull << 63}) {
    out.push_back({lost, 8});
    out.push_back({lost + 8, 8});
    out.push_back({0, lost + 8});
    out.push_back({8, lost});
  }
  out.push_back({8, UINT64_MAX - 7});
  out.push_back({UINT64_MAX - 7, 8});
  return out;
}

// As source and as destination; each alone would be a good copy of the same bytes but for this range.
void refuses_ranges(Subject& s) {
  Queue queue(s, s.device());
  const Buffer a(s, s.device(), TENON_U8, {kRangeBytes}), b(s, s.device(), TENON_U8, {kRangeBytes});
  std::vector<uint8_t> first(kRangeBytes, 7), second(kRangeBytes, 9), found(kRangeBytes), room(4 * kRangeBytes, 3);
  queue.write(a, first.data(), kRangeBytes);
  queue.write(b, second.data(), kRangeBytes);
  for (const ByteRange& r : ranges_outside()) {
    const tenon_copy copies[] = {copy_to(a, room.data(), r.bytes, r.offset),
                                 copy_from(a, room.data(), r.bytes, r.offset)};
    for (const tenon_copy& copy : copies) {
      const std::string what = "copy " + std::string(copy.dst ? "to " : "of ") + text_of(r);
      uint64_t ticket = 0;
      expect_code(s.backend().copy(queue.handle(), &copy, &ticket), TENON_INVALID, what);
      queue.read(a, found.data(), kRangeBytes);
      expect(found == first, what + ", which is refused, changed the buffer");
    }
  }
  queue.read(b, found.data(), kRangeBytes);
  expect(found == second, "refused copies changed another buffer");
  expect(std::count(room.begin(), room.end(), 3) == static_cast<std::ptrdiff_t>(room.size()),
         "refused copies changed the host's memory");
}

// Every range within, up to the last byte.
void copies_ranges(Subject& s) {
  Queue queue(s, s.device());
  const Buffer a(s, s.device(), TENON_U8, {kRangeBytes});
  std::vector<uint8_t> all(kRangeBytes), found(kRangeBytes);
  for (uint64_t i = 0; i < kRangeBytes; ++i) all[i] = static_cast<uint8_t>(i + 1);
  queue.write(a, all.data(), kRangeBytes);
  for (const ByteRange& r : {ByteRange{0, kRangeBytes}, ByteRange{0, 1}, ByteRange{kRangeBytes - 1, 1},
                             ByteRange{1, kRangeBytes - 1}, ByteRange{37, 13}}) {
    std::fill(found.begin(), found.end(), uint8_t{0});
    queue.read(a, found.data(), r.bytes, r.offset);
    expect(std::equal(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(r.bytes),
                      all.begin() + static_cast<std::ptrdiff_t>(r.offset)),
           "copy of " + text_of(r) + ": other bytes came");
  }
}

}  // namespace

void add_range_tests(Tests& tests) {
  add_test(tests, "memory", "copy", "refuses each range that is not within", refuses_ranges);
  add_test(tests, "memory", "copy", "ranges of bytes", copies_ranges);
}

}  // namespace tenon::conformance
