// Part of the program suite: what the host kept for the backend, which may be another's work, or be damaged.
#include "conformance/host/cache.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

void counts_to_3(Subject& s) {
  Queue queue(s, s.device());
  const Program program = compile(s, counter_graph(1009), 3);
  const Buffer state = f32_buffer(s, {1009});
  write(queue, state, ramp(1009));
  run_now(queue, program, {{&state}, {&state}, {Arguments::f64(1), Arguments::f64(1), Arguments::f64(1)}, {}, 3});
  expect_equal(read(queue, state), ramp(1009, 3), "the state");
}

// The second time the program comes out of the cache, where the backend keeps any.
void finds_what_it_kept(Subject& s) {
  counts_to_3(s);
  if (s.log().cache_gets == 0) throw Unavailable{"the backend asks for nothing by cache_get"};
  const uint64_t puts = s.log().cache_puts;
  counts_to_3(s);
  expect(s.log().cache_puts == puts, "cache_put was called again for a program that was kept already");
}

void makes_damaged_entries_anew(Subject& s) {
  counts_to_3(s);
  if (s.cache().damage() == 0) throw Unavailable{"the backend keeps nothing by cache_put"};
  doing("compile with a cache whose entries are damaged");
  counts_to_3(s);
  const uint64_t puts = s.log().cache_puts;
  counts_to_3(s);
  expect(s.log().cache_puts == puts, "a damaged entry was not put anew");
}

}  // namespace

void add_cache_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) {
    add_test(tests, "program", "cache", name, run, 1).own_process = true;
  };
  add("an entry is found", finds_what_it_kept);
  add("a damaged entry is made anew", makes_damaged_entries_anew);
}

}  // namespace tenon::conformance
