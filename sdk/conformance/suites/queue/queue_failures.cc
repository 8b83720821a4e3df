// Part of the queue suite: failures stick to their queue and reach who waits for it.
#include "conformance/suites/queue/endless.h"
#include "conformance/suites/queue/failing.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

void expect_cause(const std::string& found, const std::string& first, const std::string& what) {
  expect(found == first, what + " answers '" + one_line(found.c_str()) + "', expected the first cause, '" +
                             one_line(first.c_str()) + "'");
}

void sticks_to_its_queue(Failing& f) {
  const std::string first = f.fail_once();
  Floats room(8);
  for (int i = 0; i < 3; ++i) {
    uint64_t ticket = 0;
    const tenon_copy copy = copy_from(f.state, room.data(), 32);
    expect_cause(Failing::failure_of(f.s.backend().copy(f.queue->handle(), &copy, &ticket), "copy on a failed queue"),
                 first, "copy on a failed queue");
    Arguments arguments{{&f.state, &f.good}, {&f.state}};
    const tenon_run run = arguments.run(f.program);
    uint32_t done = 0;
    expect_cause(
        Failing::failure_of(f.s.backend().run(f.queue->handle(), &run, &ticket, &done), "run on a failed queue"), first,
        "run on a failed queue");
    expect_cause(
        Failing::failure_of(f.s.backend().wait(f.queue->handle(), f.ticket, UINT64_MAX), "wait on a failed queue"),
        first, "wait on a failed queue");
    expect_cause(Failing::failure_of(f.s.backend().wait(f.queue->handle(), f.ticket, 0), "a poll of a failed queue"),
                 first, "a poll of a failed queue");
  }
}

void sticks_after_no_batch(Subject& s) {
  Failing failing(s, nullptr);
  sticks_to_its_queue(failing);
}

void sticks_after_a_small_batch(Subject& s) {
  const Buffer small = f32_buffer(s, {7});
  Failing failing(s, &small);
  sticks_to_its_queue(failing);
}

// At submission or, if that is accepted, at the wait.
void reaches_who_waits_for_it(Subject& s) {
  Failing failing(s, nullptr);
  const std::string first = failing.fail_once();
  Queue waiting(s, s.device());
  Floats room(8);
  tenon_copy copy = copy_from(failing.good, room.data(), 32);
  const tenon_point after{failing.queue->handle(), failing.ticket};
  copy.after = &after;
  copy.n_after = 1;
  uint64_t ticket = 0;
  tenon_status status = s.backend().copy(waiting.handle(), &copy, &ticket);
  if (status.code == TENON_OK) status = s.backend().wait(waiting.handle(), ticket, UINT64_MAX);
  expect_cause(Failing::failure_of(status, "a copy after a failed queue"), first, "a copy after a failed queue");
}

// A batch that may be read behind a failed queue's work never may.
void reaches_a_batch_that_waits_for_it(Subject& s) {
  Failing failing(s, nullptr);
  const std::string first = failing.fail_once();
  Queue waiting(s, s.device());
  const Buffer state = f32_buffer(s, {8});
  write(waiting, state, filled(8, 5));
  tenon_feed feed{};
  feed.struct_size = sizeof feed;
  feed.ctx = &failing;
  feed.next = [](void* ctx, uint64_t, tenon_buffer** feeds, tenon_point* after) -> int32_t {
    const Failing& failed = *static_cast<Failing*>(ctx);
    feeds[0] = failed.good.handle();
    *after = {failed.queue->handle(), failed.ticket};
    return 1;
  };
  feed.release = [](void*, uint64_t) {};
  Arguments arguments{{&state, nullptr}, {&state}, {}, {}, 3};
  arguments.feed = &feed;
  const tenon_run run = arguments.run(failing.program);
  uint64_t ticket = 0;
  uint32_t done = 77;
  tenon_status status = s.backend().run(waiting.handle(), &run, &ticket, &done);
  expect(done == 0, "a run whose batches come after a failed queue says that " + std::to_string(done) +
                        " iterations are done, expected 0");
  if (status.code == TENON_OK) status = s.backend().wait(waiting.handle(), ticket, UINT64_MAX);
  expect_cause(Failing::failure_of(status, "a run whose batch comes after a failed queue"), first,
               "a run whose batch comes after a failed queue");
  Queue fresh(s, s.device());
  expect_equal(read(fresh, state), filled(8, 5), "the state of a run whose batch never came");
}

void leaves_other_queues_alone(Subject& s) {
  Failing failing(s, nullptr);
  Queue other(s, s.device());
  Counter counter(s);
  counter.reset(other);
  failing.fail_once();
  other.wait(counter.submit(other, 10));
  expect_equal(read(other, counter.state()), counter.expected(10), "the state of a queue beside a failed one");
}

void goes_on_with_a_new_queue(Subject& s) {
  for (int i = 0; i < 5; ++i) {
    Failing failing(s, nullptr);
    failing.fail_once();
    Queue& fresh = failing.queue.emplace(s, s.device());
    write(fresh, failing.state, filled(8, 3));
    run_now(fresh, failing.program, {{&failing.state, &failing.good}, {&failing.state}});
    expect_equal(read(fresh, failing.state), filled(8, 4), "the state on a new queue");
  }
}

}  // namespace

void add_queue_failure_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) { add_test(tests, "queue", "failure", name, run, 1); };
  add("sticks, no batch", sticks_after_no_batch);
  add("sticks, a batch that is too small", sticks_after_a_small_batch);
  add("reaches who waits for it", reaches_who_waits_for_it);
  add("reaches a batch that waits for it", reaches_a_batch_that_waits_for_it);
  add("leaves other queues alone", leaves_other_queues_alone);
  add("ends with its queue", goes_on_with_a_new_queue);
}

}  // namespace tenon::conformance
