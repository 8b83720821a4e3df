// Batches that are pulled while a result may end the run: both ends hold.
#include <algorithm>

#include "conformance/suites/feed/pipeline.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kMost = 12;  // iterations of a run

// s' = s + batch; ends behind the iteration in which the first element of s' is `limit` or more. Batch i holds i + 1, so
// s is 1, 3, 6, 10, 15, ..
plugin::FlatGraph graph(float limit, bool until_first) {
  Sketch sketch;
  const uint32_t batch = sketch.feed(TENON_F32, {kFeedN}), state = sketch.state(TENON_F32, {kFeedN});
  const uint32_t updated = sketch.add(state, batch, {kFeedN});
  const uint32_t largest = sketch.node("reduce", {updated}, TENON_F32, {});
  sketch.builder.attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_MAX);
  const uint32_t stop = sketch.node("compare", {largest, sketch.fill({}, limit)}, TENON_BOOL, {});
  sketch.builder.attr_enum("kind", TENON_COMPARE_GE);
  if (until_first) sketch.builder.result(stop, TENON_MODE_UNTIL);
  sketch.builder.result(updated, TENON_MODE_LAST, 2);
  if (!until_first) sketch.builder.result(stop, TENON_MODE_UNTIL);
  sketch.builder.result(sketch.mul(updated, sketch.fill({kFeedN}, 2), {kFeedN}), TENON_MODE_EACH);
  return sketch.builder.build();
}

struct Ends {
  uint32_t iterations;  // of the run
  uint64_t batches;     // that there are
  float limit;
  uint32_t done;             // iterations that the run must do
  bool until_first = false;  // among the results
};

void check_ends(Subject& s, const Ends& ends) {
  const Program program = compile(s, graph(ends.limit, ends.until_first), kMost);
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {kFeedN}), rows = f32_buffer(s, {kMost, kFeedN});
  const Buffer stop(s, s.device(), TENON_BOOL, {});
  write(queue, state, filled(kFeedN, 0));
  write(queue, rows, filled(kMost * kFeedN, -1));
  Pipeline pipeline(s, ends.batches);
  Arguments arguments{{nullptr, &state}, {&state, &stop, &rows}, {}, {}, ends.iterations};
  if (ends.until_first) std::swap(arguments.results[0], arguments.results[1]);
  arguments.feed = pipeline.feed();
  const tenon_run run = arguments.run(program);
  uint64_t ticket = 0;
  uint32_t done = 0;
  pipeline.begin();
  const tenon_status status = s.backend().run(queue.handle(), &run, &ticket, &done);
  pipeline.end();
  expect_ok(status, "run with a feed and an UNTIL result");
  queue.wait(ticket);
  const std::string what = " of " + std::to_string(ends.iterations) + " iterations, " + std::to_string(ends.batches) +
                           " batches, to end at " + std::to_string(static_cast<int>(ends.limit));
  expect(done == ends.done,
         std::to_string(done) + " iterations done, expected " + std::to_string(ends.done) + ", in a run" + what);
  pipeline.check_early_end(ends.done, std::min<uint64_t>(ends.iterations, ends.batches));
  Floats expected_rows = filled(kMost * kFeedN, -1);
  float sum = 0;
  for (uint32_t i = 0; i < ends.done; ++i) {
    sum += static_cast<float>(i + 1);
    std::fill_n(expected_rows.begin() + i * kFeedN, kFeedN, 2 * sum);
  }
  expect_equal(read(queue, state), filled(kFeedN, sum), "the sum of the batches in a run" + what);
  expect_equal(read(queue, rows), expected_rows, "a row of each iteration in a run" + what);
}

void ends_by_until(Subject& s) {
  for (uint32_t done : {1u, 3u, 5u}) check_ends(s, {kMost, kMost, static_cast<float>(done * (done + 1) / 2), done});
}

// In the last iteration, or in that of the last batch.
void ends_by_both(Subject& s) {
  check_ends(s, {5, kMost, 15, 5});
  check_ends(s, {kMost, 4, 10, 4});
}

void ends_by_batches(Subject& s) {
  check_ends(s, {kMost, 4, 1000, 4});
  check_ends(s, {7, kMost, 1000, 7});
}

// One run after the other on the same state: the second ends at once.
void goes_on_to_end(Subject& s) {
  check_ends(s, {kMost, kMost, 6, 3});
  check_ends(s, {kMost, kMost, 0, 1});
}

void is_the_first_result(Subject& s) {
  check_ends(s, {kMost, kMost, 6, 3, true});
  check_ends(s, {kMost, 4, 1000, 4, true});
}

}  // namespace

void add_fed_until_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) {
    add_test(tests, "feed", "until", name, run, 4).required = false;
  };
  add("ends the run", ends_by_until);
  add("ends with the batches", ends_by_both);
  add("stays false", ends_by_batches);
  add("is true at once", goes_on_to_end);
  add("is the first result", is_the_first_result);
}

}  // namespace tenon::conformance
