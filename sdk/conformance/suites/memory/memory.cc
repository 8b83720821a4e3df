// Buffers: what can be had, what copies move, what the host sees.
#include <algorithm>
#include <cstring>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int32_t kDtypes[] = {TENON_F32, TENON_BF16, TENON_F16, TENON_F64, TENON_I32, TENON_I64, TENON_U8, TENON_BOOL};

// Any bits, but 0 and 1 alone for bool.
Bytes pattern(uint64_t bytes, int32_t dtype, uint64_t seed) {
  Bytes out(bytes);
  uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
  for (uint8_t& b : out) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    b = static_cast<uint8_t>(x >> 56);
    if (dtype == TENON_BOOL) b &= 1;
  }
  return out;
}

void expect_same(const Bytes& found, const Bytes& expected, const std::string& what) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (found[i] != expected[i])
      fail(what + ": byte " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
           std::to_string(expected[i]));
}

// To and from memory at odd addresses, as raw host memory may be.
void write_odd(Queue& queue, const Buffer& to, const Bytes& from) {
  Bytes odd(from.size() + 1);
  std::copy(from.begin(), from.end(), odd.begin() + 1);
  queue.write(to, odd.data() + 1, from.size());
}

Bytes read_odd(Queue& queue, const Buffer& from) {
  Bytes odd(from.bytes() + 2, 0xA5);
  queue.read(from, odd.data() + 1, from.bytes());
  expect(odd.front() == 0xA5 && odd.back() == 0xA5, "copy: wrote beside its destination");
  return Bytes(odd.begin() + 1, odd.end() - 1);
}

void comes_back(Subject& s, int32_t dtype, const Dims& dims, const BufferOptions& options = {}) {
  Queue queue(s, s.device());
  const Buffer buffer(s, s.device(), dtype, dims, options);
  const Bytes bits = pattern(buffer.bytes(), dtype, s.seed());
  write_odd(queue, buffer, bits);
  expect_same(read_odd(queue, buffer), bits, "what was written");
  buffer.check_end("the buffer");
}

void comes_back_at_each_rank(Subject& s, int32_t dtype) {
  const Dims shapes[] = {{},
                         {7},
                         {3, 5},
                         {2, 3, 130},
                         {1, 2, 3, 5},
                         {2, 1, 3, 1, 17},
                         {1, 1, 2, 2, 3, 3},
                         {2, 1, 2, 1, 2, 1, 3},
                         {1, 2, 1, 3, 1, 2, 2, 5}};
  for (const Dims& dims : shapes) comes_back(s, dtype, dims);
}

void comes_back_when_large(Subject& s) { comes_back(s, TENON_F32, {4099, 4099}); }

// ---- HOST ----

void host_memory_is_aligned(Subject& s) {
  for (int64_t n : {1, 3, 15, 16, 17, 1000, 100003}) {
    const Buffer host(s, s.device(), TENON_U8, {n}, {.host = true});
    need_host_memory(host);
    expect(reinterpret_cast<uintptr_t>(host.host()) % 64 == 0,
           "the memory of a HOST buffer of " + std::to_string(n) + " bytes is not 64-byte aligned");
    const Buffer device(s, s.device(), TENON_U8, {n});
    expect(device.host() == nullptr, "buffer_alloc gives a pointer to a buffer that is not HOST");
  }
}

// A backend may refuse HOST buffers, for want of such memory alone and all of them.
void gives_all_host_buffers_or_none(Subject& s) {
  s.device();
  for (const int32_t dtype : kDtypes)
    for (const Dims& dims : {Dims{}, Dims{1}, Dims{17}, Dims{3, 5}, Dims{64, 1024}, Dims{1, 2, 1, 3, 1, 2, 2, 5}})
      Buffer(s, s.device(), dtype, dims, {.host = true});
}

void sees_host_writes(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer(s, s.device(), TENON_F32, {13, 7}, {.host = true});
  need_host_memory(buffer);
  for (uint64_t round = 0; round < 3; ++round) {
    const Bytes bits = pattern(buffer.bytes(), TENON_F32, s.seed() + round);
    std::memcpy(buffer.host(), bits.data(), bits.size());
    expect_same(read_odd(queue, buffer), bits, "what the host wrote before the submission");
    const Bytes other = pattern(buffer.bytes(), TENON_F32, s.seed() + round + 100);
    write_odd(queue, buffer, other);
    expect_same(Bytes(buffer.host(), buffer.host() + buffer.bytes()), other, "what the device wrote before the wait");
  }
  buffer.check_end("the buffer");
}

void runs_on_host_memory(Subject& s) {
  Queue queue(s, s.device());
  const Program program = compile(s, counter_graph(1001));
  const Buffer state = f32_buffer(s, {1001}, {.host = true});
  need_host_memory(state);
  float* host = reinterpret_cast<float*>(state.host());
  const Floats start = ramp(1001);
  std::copy(start.begin(), start.end(), host);
  for (int i = 1; i <= 3; ++i) {
    run_now(queue, program, {{&state}, {&state}, {Arguments::f64(1)}});
    expect_equal(Floats(host, host + 1001), ramp(1001, static_cast<float>(i)), "the state in the host's memory");
  }
  host[1000] = -5;
  run_now(queue, program, {{&state}, {&state}, {Arguments::f64(1)}});
  expect(host[1000] == -4 && host[0] == 4, "what the host wrote between two runs was not seen");
  state.check_end("the state");
}

// ---- copies ----

void copies_ranges_of_rows(Subject& s) {
  Queue queue(s, s.device());
  const Dims shapes[] = {{11}, {11, 3}, {11, 5, 7}, {11, 1, 130}};
  for (const Dims& dims : shapes) {
    const Buffer buffer(s, s.device(), TENON_F32, dims);
    const uint64_t row = buffer.bytes() / 11;
    Bytes expected = pattern(buffer.bytes(), TENON_F32, s.seed());
    queue.write(buffer, expected.data(), expected.size());
    const uint64_t ranges[][2] = {{0, 1}, {3, 4}, {10, 1}, {1, 10}, {0, 11}};
    for (const auto& [first, rows] : ranges) {
      const Bytes part = pattern(rows * row, TENON_F32, s.seed() + first + 7);
      queue.write(buffer, part.data(), part.size(), first * row);
      std::copy(part.begin(), part.end(), expected.begin() + static_cast<int64_t>(first * row));
      expect_same(read_odd(queue, buffer), expected,
                  "after " + std::to_string(rows) + " rows from row " + std::to_string(first));
      Bytes back(rows * row + 8, 0xA5);
      queue.read(buffer, back.data(), rows * row, first * row);
      expect_same(back, part, std::to_string(rows) + " rows from row " + std::to_string(first));
      expect(back[rows * row] == 0xA5, "copy wrote behind its destination");
    }
  }
}

void copies_between_buffers(Subject& s) {
  Queue queue(s, s.device());
  for (const BufferOptions& from : {BufferOptions{}, BufferOptions{.host = true}}) {
    for (const BufferOptions& to : {BufferOptions{}, BufferOptions{.host = true}}) {
      const Buffer a(s, s.device(), TENON_I32, {9, 4}, from), b(s, s.device(), TENON_I32, {9, 4}, to);
      Bytes bits = pattern(a.bytes(), TENON_I32, s.seed()), other = pattern(b.bytes(), TENON_I32, s.seed() + 1);
      queue.write(a, bits.data(), bits.size());
      queue.write(b, other.data(), other.size());
      tenon_copy copy = copy_between(b, a);
      copy.src_offset = 2 * 16;
      copy.dst_offset = 5 * 16;
      copy.bytes = 3 * 16;
      queue.wait(submit_copy(s, queue, copy));
      std::copy(bits.begin() + 32, bits.begin() + 80, other.begin() + 80);
      expect_same(read_odd(queue, b), other, "rows 5 to 7 from rows 2 to 4 of another buffer");
      expect_same(read_odd(queue, a), bits, "the source");
    }
  }
}

// An offset of the host's memory is no row's: it counts from the pointer.
void copies_from_offsets_of_the_host(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {9, 4});
  Bytes expected = pattern(buffer.bytes(), TENON_F32, s.seed());
  queue.write(buffer, expected.data(), expected.size());
  for (const uint64_t offset : {uint64_t{4}, uint64_t{7}, uint64_t{64}}) {
    const Bytes from = pattern(offset + 32, TENON_U8, s.seed() + offset);
    tenon_copy copy = copy_to(buffer, from.data(), 32, 3 * 16);
    copy.src_offset = offset;
    queue.wait(submit_copy(s, queue, copy));
    std::copy(from.begin() + static_cast<int64_t>(offset), from.end(), expected.begin() + 48);
    expect_same(read_odd(queue, buffer), expected,
                "after rows from byte " + std::to_string(offset) + " of the host's memory");
    Bytes to(offset + 33, 0xA5);
    copy = copy_from(buffer, to.data(), 32, 3 * 16);
    copy.dst_offset = offset;
    queue.wait(submit_copy(s, queue, copy));
    expect_same(Bytes(to.begin() + static_cast<int64_t>(offset), to.end() - 1),
                Bytes(expected.begin() + 48, expected.begin() + 80),
                "rows copied to byte " + std::to_string(offset) + " of the host's memory");
    expect(to.back() == 0xA5 &&
               std::count(to.begin(), to.begin() + static_cast<int64_t>(offset), 0xA5) == static_cast<int64_t>(offset),
           "copy wrote beside its destination in the host's memory");
  }
}

void copies_between_devices(Subject& s) {
  tenon_device* other = s.open_device();
  struct Close {
    Subject& s;
    tenon_device* device;
    ~Close() { s.backend().device_close(device); }
  } close{s, other};
  Queue here(s, s.device()), there(s, other);
  const Buffer a = f32_buffer(s, {33}), b(s, other, TENON_F32, {33});
  write(here, a, ramp(33));
  const tenon_copy copy = copy_between(b, a);
  uint64_t ticket = 0;
  const tenon_status status = s.backend().copy(there.handle(), &copy, &ticket);
  if (status.code == TENON_UNSUPPORTED) expect_code(status, TENON_UNSUPPORTED, "copy between devices");
  expect_ok(status, "copy between devices");
  there.wait(ticket);
  expect_equal(read(there, b), ramp(33), "what was copied between devices");
}

void expect_copy_refused(Subject& s, Queue& queue, const tenon_copy& copy, const std::string& what) {
  uint64_t ticket = 0;
  expect_code(s.backend().copy(queue.handle(), &copy, &ticket), TENON_INVALID, "copy " + what);
}

void refuses_bad_copies(Subject& s) {
  Queue queue(s, s.device());
  const Buffer a = f32_buffer(s, {8, 4}), b = f32_buffer(s, {8, 4});
  write(queue, a, ramp(32));
  write(queue, b, ramp(32, 100));
  Bytes room(256, 0);
  expect_copy_refused(s, queue, copy_to(a, room.data(), 144), "of 9 rows into 8");
  expect_copy_refused(s, queue, copy_to(a, room.data(), 16, 128), "behind the last row");
  expect_copy_refused(s, queue, copy_to(a, room.data(), 32, 112), "over the end");
  expect_copy_refused(s, queue, copy_to(a, room.data(), 32, UINT64_MAX - 15), "whose offset and bytes overflow");
  expect_copy_refused(s, queue, copy_from(a, room.data(), 144), "of 9 rows from 8");
  expect_copy_refused(s, queue, copy_from(a, room.data(), 32, UINT64_MAX - 15), "from an offset that overflows");
  tenon_copy copy = copy_between(b, a);
  copy.src_offset = 16;
  expect_copy_refused(s, queue, copy, "past the end of another buffer");
  copy = copy_to(a, room.data(), 128);
  copy.dst_host = room.data();
  expect_copy_refused(s, queue, copy, "with two destinations");
  copy = copy_to(a, room.data(), 128);
  copy.src = b.handle();
  expect_copy_refused(s, queue, copy, "with two sources");
  copy = copy_to(a, nullptr, 128);
  expect_copy_refused(s, queue, copy, "without a source");
  copy = copy_from(a, nullptr, 128);
  expect_copy_refused(s, queue, copy, "without a destination");
  expect_equal(read(queue, a), ramp(32), "a buffer of refused copies");
  expect_equal(read(queue, b), ramp(32, 100), "another buffer of refused copies");
}

// ---- what cannot be had ----

tenon_status alloc(Subject& s, int32_t dtype, uint32_t rank, const Dims& dims, int32_t placement = TENON_REPLICATED) {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = dtype;
  desc.rank = rank;
  std::copy(dims.begin(), dims.end(), desc.dims);
  desc.placement = placement;
  tenon_buffer* buffer = nullptr;
  void* host = nullptr;
  const tenon_status status = s.backend().buffer_alloc(s.device(), &desc, &buffer, &host);
  if (status.code == TENON_OK) s.backend().buffer_free(buffer);
  return status;
}

void expect_refused(Subject& s, const tenon_status& status, std::initializer_list<int32_t> codes,
                    const std::string& what) {
  expect(std::count(codes.begin(), codes.end(), status.code) > 0,
         "buffer_alloc of " + what + ": found " + code_name(status.code));
  expect_code(status, status.code, "buffer_alloc of " + what);
  comes_back(s, TENON_F32, {5});
}

void refuses_bad_shapes(Subject& s) {
  expect_refused(s, alloc(s, TENON_F32, 1, {0}), {TENON_INVALID}, "a dimension of 0");
  expect_refused(s, alloc(s, TENON_F32, 2, {3, -1}), {TENON_INVALID}, "a dimension of -1");
  expect_refused(s, alloc(s, TENON_F32, 1, {INT64_MIN}), {TENON_INVALID}, "the least dimension");
  expect_refused(s, alloc(s, TENON_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1}), {TENON_INVALID, TENON_UNSUPPORTED}, "rank 9");
  expect_refused(s, alloc(s, TENON_F32, UINT32_MAX, {1}), {TENON_INVALID, TENON_UNSUPPORTED}, "rank 4294967295");
  for (int32_t dtype : {0, 9, -1, 1000})
    expect_refused(s, alloc(s, dtype, 1, {4}), {TENON_UNSUPPORTED}, "dtype " + std::to_string(dtype));
  for (int32_t placement : {2, -1, 99})
    expect_refused(s, alloc(s, TENON_F32, 1, {4}, placement), {TENON_UNSUPPORTED},
                   "placement " + std::to_string(placement));
}

void refuses_sizes_that_overflow(Subject& s) {
  const int64_t big = int64_t{1} << 62, two_to_31 = int64_t{1} << 31;
  const std::initializer_list<int32_t> codes = {TENON_INVALID, TENON_OUT_OF_MEMORY};
  expect_refused(s, alloc(s, TENON_F32, 1, {big}), codes, "2^62 floats");
  expect_refused(s, alloc(s, TENON_F64, 1, {INT64_MAX}), codes, "2^63 - 1 doubles");
  expect_refused(s, alloc(s, TENON_F32, 2, {big, 4}), codes, "2^64 floats");
  expect_refused(s, alloc(s, TENON_F32, 3, {two_to_31, two_to_31, 4}), codes, "2^64 floats in three dimensions");
  expect_refused(s, alloc(s, TENON_U8, 4, {two_to_31, two_to_31, 3, 1}), codes, "3 * 2^62 bytes");
  expect_refused(s, alloc(s, TENON_F64, 8, {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20}),
                 codes, "2^163 bytes");
}

void refuses_more_than_max_buffer_bytes(Subject& s) {
  const uint64_t max = s.units()[0].max_buffer_bytes;
  if (max == 0 || max > (1ull << 60)) throw Unavailable{"max_buffer_bytes says nothing"};
  const std::initializer_list<int32_t> codes = {TENON_INVALID, TENON_OUT_OF_MEMORY, TENON_UNSUPPORTED};
  expect_refused(s, alloc(s, TENON_U8, 1, {static_cast<int64_t>(max + 4096)}), codes, "more than max_buffer_bytes");
  expect_refused(s, alloc(s, TENON_F32, 2, {static_cast<int64_t>(max / 4 / 1024 + 2), 1024}), codes,
                 "rows of more than max_buffer_bytes");
}

void holds_many_small(Subject& s) {
  constexpr int kMany = 2000;
  Queue queue(s, s.device());
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto value = [](int i) { return filled(1 + i % 7, static_cast<float>(i)); };
  const auto make = [&](int i) {
    auto buffer = std::make_unique<Buffer>(f32_buffer(s, {1 + i % 7}));
    write(queue, *buffer, value(i));
    return buffer;
  };
  for (int i = 0; i < kMany; ++i) buffers.push_back(make(i));
  const auto check = [&](int i) {
    expect_equal(read(queue, *buffers[static_cast<size_t>(i)]), value(i), "buffer " + std::to_string(i));
  };
  for (int i = 0; i < kMany; ++i) check(i);
  for (int i = 0; i < kMany; i += 2) buffers[static_cast<size_t>(i)].reset();
  for (int i = 1; i < kMany; i += 2) check(i);
  for (int i = 0; i < kMany; i += 4) buffers[static_cast<size_t>(i)] = make(i + 3);
  for (int i = 1; i < kMany; i += 2) check(i);
}

}  // namespace

void add_memory_tests(Tests& tests) {
  const auto add = [&](const char* group, const std::string& name, std::function<void(Subject&)> run,
                       int level = 0) -> Test& {
    return add_test(tests, "memory", group, name, std::move(run), level);
  };
  for (int32_t dtype : kDtypes)
    add("comes back", std::string(plugin::dtype_name(dtype)) + " at ranks 0 to 8",
        [dtype](Subject& s) { comes_back_at_each_rank(s, dtype); });
  add("comes back", "64 MB", comes_back_when_large);
  add("host", "all buffers or none", gives_all_host_buffers_or_none);
  add("host", "memory is aligned", host_memory_is_aligned);
  add("host", "writes are seen both ways", sees_host_writes);
  add("host", "state of a program", runs_on_host_memory, 1);
  add("copy", "ranges of rows", copies_ranges_of_rows);
  add("copy", "between buffers", copies_between_buffers);
  add("copy", "from and to offsets of the host's memory", copies_from_offsets_of_the_host);
  add("copy", "between devices", copies_between_devices).required = false;
  add("copy", "refuses what is out of range", refuses_bad_copies);
  add("alloc", "refuses bad shapes and dtypes", refuses_bad_shapes);
  add("alloc", "refuses sizes that overflow", refuses_sizes_that_overflow);
  add("alloc", "refuses more than max_buffer_bytes", refuses_more_than_max_buffer_bytes);
  add("alloc", "2,000 small buffers", holds_many_small);
  add_range_tests(tests);
  add_borrowed_tests(tests);
  add_counter_tests(tests);
}

}  // namespace tenon::conformance
