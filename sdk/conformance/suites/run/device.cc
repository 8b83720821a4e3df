// Units, devices, and what entries leave alone.
#include <algorithm>
#include <cstring>

#include "conformance/suites/run/ambient.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

tenon_status enumerate(Subject& s, const char* spec, void* units, uint64_t stride, uint32_t* count) {
  return s.backend().enumerate(s.backend().self, spec, static_cast<tenon_unit*>(units), stride, count);
}

// Units in marked memory, `stride` apart, with room for `room` and a margin behind.
std::vector<uint8_t> marked_units(Subject& s, uint64_t stride, uint32_t room, uint32_t* count, tenon_status* status) {
  std::vector<uint8_t> bytes((room + 2) * stride + sizeof(tenon_unit), kMark);
  *count = room;
  *status = enumerate(s, s.spec(), bytes.data(), stride, count);
  for (size_t i = room * stride; i < bytes.size(); ++i)
    expect(bytes[i] == kMark, "enumerate with room for " + std::to_string(room) + " units of " +
                                  std::to_string(stride) + " bytes wrote behind them");
  return bytes;
}

void counts_alike(Subject& s) {
  const uint32_t n = static_cast<uint32_t>(s.units().size());
  for (int i = 0; i < 3; ++i) {
    uint32_t count = 12345;  // without units it is no room
    expect_ok(enumerate(s, s.spec(), nullptr, sizeof(tenon_unit), &count), "enumerate without units");
    expect(count == n, "enumerate counts " + std::to_string(n) + " units, then " + std::to_string(count));
  }
}

void fills_within_room(Subject& s) {
  const uint32_t n = static_cast<uint32_t>(s.units().size());
  for (uint32_t room : {0u, n - 1, n, n + 1, n + 3}) {
    uint32_t count = 0;
    tenon_status status{};
    const std::vector<uint8_t> bytes = marked_units(s, sizeof(tenon_unit), room, &count, &status);
    for (size_t i = n * sizeof(tenon_unit); i < bytes.size(); ++i)
      expect(bytes[i] == kMark, "enumerate with room for " + std::to_string(room) + " wrote more than its " +
                                    std::to_string(n) + " units");
    if (room >= n || status.code == TENON_OK) {
      expect_ok(status, "enumerate with room for " + std::to_string(room));
      expect(count == n, "enumerate with room for " + std::to_string(room) + " says " + std::to_string(count) +
                             " units, expected " + std::to_string(n));
    }
  }
}

// A newer host's units are larger, an older one's smaller.
void steps_by_stride(Subject& s) {
  const uint32_t n = static_cast<uint32_t>(s.units().size());
  for (uint64_t stride : {uint64_t{sizeof(tenon_unit) + 40}, uint64_t{offsetof(tenon_unit, name)}, uint64_t{8}}) {
    uint32_t count = 0;
    tenon_status status{};
    const std::vector<uint8_t> bytes = marked_units(s, stride, n, &count, &status);
    expect_ok(status, "enumerate with a stride of " + std::to_string(stride));
    const uint64_t known = std::min<uint64_t>(stride, sizeof(tenon_unit));
    for (uint32_t i = 0; i < n; ++i) {
      expect(std::memcmp(&bytes[i * stride], &s.units()[i], std::min<uint64_t>(known, offsetof(tenon_unit, name))) == 0,
             "enumerate with a stride of " + std::to_string(stride) + ": unit " + std::to_string(i) +
                 " is not where it belongs");
      for (uint64_t b = known; b < stride; ++b)
        expect(bytes[i * stride + b] == kMark,
               "enumerate with a stride of " + std::to_string(stride) + " wrote behind unit " + std::to_string(i));
    }
  }
}

void knows_no_such_spec(Subject& s) {
  uint32_t count = 0;
  expect_code(enumerate(s, "no such unit #\xC3\xA9", nullptr, sizeof(tenon_unit), &count), TENON_UNAVAILABLE,
              "enumerate of an unknown spec");
}

// Specs of backends on the SDK's runtime name a number of units: "units=4".
void counts_what_a_spec_names(Subject& s) {
  const std::string own = s.spec() ? s.spec() : "";
  if (own.rfind("units=", 0) != 0) throw Unavailable{"the spec, of --spec, does not name a number of units"};
  const auto expect_units = [&](const char* spec, uint32_t expected) {
    uint32_t count = 0;
    expect_ok(enumerate(s, spec, nullptr, sizeof(tenon_unit), &count),
              std::string("enumerate of ") + (spec ? spec : "NULL"));
    expect(count == expected, std::string("enumerate of '") + (spec ? spec : "NULL") + "': " + std::to_string(count) +
                                  " units, expected " + std::to_string(expected));
  };
  for (const char* spec : {static_cast<const char*>(nullptr), "", "0"}) expect_units(spec, 1);
  uint32_t most = 0;
  for (uint32_t n = 1; n <= 128; ++n) {
    const std::string spec = "units=" + std::to_string(n);
    uint32_t count = 0;
    if (enumerate(s, spec.c_str(), nullptr, sizeof(tenon_unit), &count).code != TENON_OK) break;
    expect_units(spec.c_str(), most = n);
  }
  expect(most >= s.units().size(), "enumerate: no more than " + std::to_string(most) + " units can be named");
  std::vector<std::string> bad{
      "units=",          "units=0",  "units=00001", "units=01", "units= 1", "units=+1",
      "units=-1",        "units=1x", "units=1 ",    "units=/",  "units=:",  "units:1",
      "unitsx1",         "Units=1",  "1",           "00",       "1nits=1",  "units=99999999999999999999",
      "units=4294967297"};
  for (uint32_t n = most + 1; n <= most + 128; ++n) bad.push_back("units=" + std::to_string(n));
  for (const std::string& spec : bad) {
    uint32_t count = 0;
    expect_code(enumerate(s, spec.c_str(), nullptr, sizeof(tenon_unit), &count), TENON_UNAVAILABLE,
                "enumerate of '" + spec + "'");
  }
}

bool is_text(const char* text, size_t room) {
  const size_t n = strnlen(text, room);
  return n > 0 && n < room && one_line(text) == text;
}

void describes_units_sanely(Subject& s) {
  for (size_t i = 0; i < s.units().size(); ++i) {
    const tenon_unit& u = s.units()[i];
    const std::string which = "unit " + std::to_string(i) + ": ";
    const uint64_t known = TENON_UNIT_INLINE | TENON_UNIT_EMULATED;
    expect((u.flags & 0xFFFFFFFFull & ~known) == 0,
           which + "flags " + std::to_string(u.flags) + " have low bits that no version defines");
    expect(u.kind >= TENON_CPU && u.kind <= TENON_ACCELERATOR, which + "kind " + std::to_string(u.kind));
    expect(u.feed_depth >= 1 && u.feed_depth <= 4096,
           which + "feed_depth " + std::to_string(u.feed_depth) + ", expected 1 to 4096");
    expect(u.memory_bytes > 0, which + "memory_bytes is 0");
    expect(u.max_buffer_bytes > 0 && u.max_buffer_bytes <= u.memory_bytes,
           which + "max_buffer_bytes " + std::to_string(u.max_buffer_bytes) + ", expected 1 to memory_bytes, " +
               std::to_string(u.memory_bytes));
    expect(is_text(u.name, sizeof u.name), which + "its name is empty, has no end or cannot be printed");
    expect(is_text(u.version, sizeof u.version),
           which + "its version, part of the cache key, is empty, has no end or cannot be printed");
  }
}

// ---- device_open ----

tenon_status open_device(Subject& s, const std::vector<uint32_t>& units, const char* spec, tenon_device** out) {
  tenon_open open{};
  open.struct_size = sizeof open;
  open.spec = spec;
  open.units = units.data();
  open.n_units = static_cast<uint32_t>(units.size());
  return s.backend().device_open(s.backend().self, &open, out);
}

void expect_open_refused(Subject& s, const std::vector<uint32_t>& units, const char* spec, const std::string& what) {
  tenon_device* device = nullptr;
  doing("device_open " + what);
  const tenon_status status = open_device(s, units, spec, &device);
  if (status.code == TENON_OK) s.backend().device_close(device);
  expect(status.code == TENON_INVALID || status.code == TENON_UNAVAILABLE,
         "device_open " + what + ": expected INVALID or UNAVAILABLE, found " + code_name(status.code));
  expect_code(status, status.code, "device_open " + what);
}

void opens_no_unit_that_is_not_there(Subject& s) {
  const uint32_t n = static_cast<uint32_t>(s.units().size());
  expect_open_refused(s, {n}, s.spec(), "of unit " + std::to_string(n) + " of " + std::to_string(n));
  expect_open_refused(s, {UINT32_MAX}, s.spec(), "of unit 4294967295");
  expect_open_refused(s, {0, 0}, s.spec(), "of unit 0 twice");
  expect_open_refused(s, {0}, "no such unit #", "of an unknown spec");
  walk_entries(s.backend(), s.spec(), [](const char*) {});
}

// Each of two devices has memory, queues and programs of its own.
void opens_two_devices(Subject& s) {
  const plugin::FlatGraph graph = counter_graph(7);
  tenon_device* second = s.open_device();
  try {
    Queue q1(s, s.device()), q2(s, second);
    Buffer a(s, s.device(), TENON_F32, {7}), b(s, second, TENON_F32, {7});
    write(q1, a, ramp(7));
    write(q2, b, ramp(7, 100));
    const Program p1 = compile(s, graph), p2 = compile(s, graph, 1, second);
    for (int i = 1; i <= 3; ++i) {
      Arguments first{{&a}, {&a}, {Arguments::f64(1)}}, other{{&b}, {&b}, {Arguments::f64(10)}};
      run_now(q1, p1, first);
      run_now(q2, p2, other);
    }
    expect_equal(read(q1, a), ramp(7, 3), "the first device's state");
    expect_equal(read(q2, b), ramp(7, 130), "the second device's state");
  } catch (...) {
    s.backend().device_close(second);
    throw;
  }
  s.backend().device_close(second);
  walk_entries(s.backend(), s.spec(), [](const char*) {});
}

void opens_in_any_order(Subject& s) {
  tenon_device* a = s.open_device();
  tenon_device* b = s.open_device();
  s.backend().device_close(a);
  tenon_device* c = s.open_device();
  s.backend().device_close(b);
  s.backend().device_close(c);
  walk_entries(s.backend(), s.spec(), [](const char*) {});
}

void ignores_null(Subject& s) {
  s.backend().program_destroy(nullptr);
  s.backend().buffer_free(nullptr);
  s.backend().queue_destroy(nullptr);
  s.backend().device_close(nullptr);
  walk_entries(s.backend(), s.spec(), [](const char*) {});
}

void shows_no_unknown_extension(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, extension) || !s.backend().extension)
    throw Unavailable{"the backend has no extensions"};
  expect(s.backend().extension(s.backend().self, "no.such.extension", 1) == nullptr,
         "extension of an unknown name: expected NULL");
}

// ---- what entries leave alone ----

void leaves_the_process_alone(Subject& s) {
  const Ambient before;
  for (int i = 0; i < 3; ++i) walk_entries(s.backend(), s.spec(), [&](const char* entry) { before.check(entry); });
}

void leaves_odd_modes_alone(Subject& s) {
  const OddFloatingModes odd;
  const Ambient before;
  for (int i = 0; i < 3; ++i) walk_entries(s.backend(), s.spec(), [&](const char* entry) { before.check(entry); });
}

// What answers with an error leaves the process alone too.
void leaves_the_process_alone_in_errors(Subject& s) {
  const Ambient before;
  uint32_t count = 0;
  enumerate(s, "no such unit", nullptr, sizeof(tenon_unit), &count), before.check("enumerate");
  tenon_device* device = nullptr;
  open_device(s, {UINT32_MAX}, s.spec(), &device), before.check("device_open");
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  tenon_buffer* buffer = nullptr;
  void* host = nullptr;
  s.backend().buffer_alloc(s.device(), &desc, &buffer, &host), before.check("buffer_alloc");
  Queue queue(s, s.device());
  tenon_copy copy{};
  copy.struct_size = sizeof copy;
  uint64_t ticket = 0;
  s.backend().copy(queue.handle(), &copy, &ticket), before.check("copy");
  tenon_run run{};
  run.struct_size = sizeof run;
  uint32_t done = 0;
  s.backend().run(queue.handle(), &run, &ticket, &done), before.check("run");
  s.backend().wait(queue.handle(), 1u << 20, 0), before.check("wait");
}

}  // namespace

void add_device_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&), int level = 0,
                       bool own_process = false) {
    add_test(tests, "device", group, name, run, level).own_process = own_process;
  };
  add("enumerate", "counts alike each time", counts_alike);
  add("enumerate", "fills no more than there is room for", fills_within_room);
  add("enumerate", "steps by the stride", steps_by_stride);
  add("enumerate", "knows no such spec", knows_no_such_spec);
  add("enumerate", "describes units sanely", describes_units_sanely);
  add_test(tests, "device", "enumerate", "units that a spec names", counts_what_a_spec_names).required = false;
  add("open", "refuses units that are not there", opens_no_unit_that_is_not_there);
  add("open", "two devices at once", opens_two_devices, 1);
  add("open", "closes in any order", opens_in_any_order);
  add("close", "ignores NULL", ignores_null);
  add("extension", "unknown is NULL", shows_no_unknown_extension);
  add("process", "is left alone by every entry", leaves_the_process_alone, 0, true);
  add("process", "keeps odd floating-point modes", leaves_odd_modes_alone, 0, true);
  add("process", "is left alone by errors", leaves_the_process_alone_in_errors, 0, true);
  add_flag_tests(tests);
  add_struct_tests(tests);
  add_fact_tests(tests);
  add_tracing_tests(tests);
}

}  // namespace tenon::conformance
