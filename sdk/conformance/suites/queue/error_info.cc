// Part of the queue suite: what a queue tells of its first failure, of which nothing is invented.
#include <cstring>

#include "conformance/suites/queue/endless.h"
#include "conformance/suites/queue/failing.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

tenon_error error_of(Subject& s, const Queue& queue) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, error_info) || !s.backend().error_info)
    throw Declined{"the backend does not tell where a queue failed"};
  tenon_error error{};
  error.struct_size = sizeof error;
  expect_ok(s.backend().error_info(queue.handle(), &error), "error_info");
  return error;
}

std::string number(uint32_t n) { return n == TENON_NONE ? "TENON_NONE" : std::to_string(n); }

void expect_none(const tenon_error& error, const std::string& where) {
  const std::string what = "error_info of a queue " + where + ": ";
  expect(error.code == TENON_OK, what + "code " + code_name(error.code) + ", expected OK");
  expect(error.native == 0, what + "native " + std::to_string(error.native) + ", expected 0");
  expect(error.ticket == 0, what + "ticket " + std::to_string(error.ticket) + ", expected 0");
  expect(error.program == nullptr, what + "names a program, expected NULL");
  expect(error.node == TENON_NONE, what + "node " + number(error.node) + ", expected TENON_NONE");
  expect(error.iteration == TENON_NONE, what + "iteration " + number(error.iteration) + ", expected TENON_NONE");
  expect(!error.message || !*error.message, what + "the message '" + one_line(error.message) + "', expected none");
}

void tells_nothing_before_a_failure(Subject& s) {
  Counter counter(s);
  Queue queue(s, s.device());
  expect_none(error_of(s, queue), "that has done nothing");
  counter.reset(queue);
  queue.wait(counter.submit(queue, 10));
  expect_none(error_of(s, queue), "whose work is done");
  tenon_run run{};
  run.struct_size = sizeof run;
  uint64_t ticket = 0;
  uint32_t done = 0;
  expect(s.backend().run(queue.handle(), &run, &ticket, &done).code != TENON_OK, "run without a program: found OK");
  expect_none(error_of(s, queue), "that has refused a run");
}

// A run of this program has failed in its iteration 2, for want of a batch: no node did.
void tells_what_was_submitted(Subject& s, const Buffer* bad) {
  Failing failing(s, bad);
  error_of(s, *failing.queue);
  for (int i = 0; i < 3; ++i)
    run_now(*failing.queue, failing.program, {{&failing.state, &failing.good}, {&failing.state}});
  failing.fail_once();
  const tenon_error error = error_of(s, *failing.queue);
  const tenon_status waited = s.backend().wait(failing.queue->handle(), failing.ticket, UINT64_MAX);
  const auto differs = [](const std::string& field, const std::string& found, const std::string& expected) {
    fail("error_info: " + field + " is " + found + ", expected " + expected);
  };
  if (error.code != waited.code)
    differs("code", code_name(error.code), code_name(waited.code) + ", which wait answers");
  if (error.native != waited.native)
    differs("native", std::to_string(error.native), std::to_string(waited.native) + ", which wait answers");
  if (error.ticket != 0 && error.ticket != failing.ticket)
    differs("ticket", std::to_string(error.ticket), std::to_string(failing.ticket) + ", or 0 where it is unknown");
  if (error.program && error.program != failing.program.handle())
    differs("program", "another one", "the one that was run, or NULL where it is unknown");
  if (error.node != TENON_NONE) differs("node", number(error.node), "TENON_NONE: a batch is no node's");
  if (error.iteration != TENON_NONE && error.iteration != 2)
    differs("iteration", number(error.iteration), "2, or TENON_NONE where it is unknown");
  if (!error.message || std::strcmp(error.message, waited.message) != 0)
    differs("message", "'" + one_line(error.message) + "'", "what wait answers, '" + one_line(waited.message) + "'");
}

void tells_of_no_batch(Subject& s) { tells_what_was_submitted(s, nullptr); }

void tells_of_a_small_batch(Subject& s) {
  const Buffer small = f32_buffer(s, {7});
  tells_what_was_submitted(s, &small);
}

void expect_same(const tenon_error& now, const tenon_error& first, const std::string& text, const std::string& when) {
  const auto place = [](const tenon_error& e) {
    return code_name(e.code) + ", native " + std::to_string(e.native) + ", ticket " + std::to_string(e.ticket) +
           ", node " + number(e.node) + ", iteration " + number(e.iteration);
  };
  expect(place(now) == place(first), "error_info tells of " + place(now) + " " + when + ", before of " + place(first));
  expect(now.program == first.program, "error_info names another program " + when);
  expect(now.message == text, "error_info tells '" + one_line(now.message) + "' " + when + ", before '" + text + "'");
}

// The text lives as long as the queue: whatever this thread or another one calls, and whatever is destroyed.
void keeps_the_first_failure(Subject& s) {
  Failing failing(s, nullptr);
  error_of(s, *failing.queue);
  failing.fail_once();
  const tenon_error first = error_of(s, *failing.queue);
  expect(first.message && *first.message, "error_info of a failed queue: no message");
  const std::string text = first.message;
  const auto again = [&](const std::string& when) {  // another call may write the text anew
    expect(first.message == text, "the text of error_info is '" + one_line(first.message) + "' " + when);
    expect_same(error_of(s, *failing.queue), first, text, when);
  };
  again("at once");
  Queue other(s, s.device());
  expect_code(s.backend().wait(other.handle(), 1ull << 40, 0), TENON_INVALID, "wait for a ticket that was not given");
  again("after another error of this thread");
  Floats room(8);
  const tenon_copy copy = copy_from(failing.state, room.data(), 32);
  uint64_t ticket = 0;
  expect(s.backend().copy(failing.queue->handle(), &copy, &ticket).code != TENON_OK,
         "copy on a failed queue: found OK");
  again("after a copy that the queue refused");
  on_threads(1, [&](int) {
    again("on another thread");
    Failing elsewhere(s, nullptr);
    elsewhere.fail_once();
  });
  again("after another queue's failure on another thread");
  { const Program gone = std::move(failing.program); }
  again("after its program was destroyed");
}

void leaves_other_queues_out(Subject& s) {
  Failing failing(s, nullptr);
  Queue other(s, s.device());
  expect_none(error_of(s, other), "that has done nothing");
  failing.fail_once();
  expect_none(error_of(s, other), "beside one that failed");
  const Queue fresh(s, s.device());
  expect_none(error_of(s, fresh), "that was made after another one failed");
}

}  // namespace

void add_error_info_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) {
    add_test(tests, "queue", "error_info", name, run, 1);
  };
  add("tells nothing before a failure", tells_nothing_before_a_failure);
  add("tells what was submitted, no batch", tells_of_no_batch);
  add("tells what was submitted, a batch that is too small", tells_of_a_small_batch);
  add("keeps the first failure and its text", keeps_the_first_failure);
  add("leaves other queues out", leaves_other_queues_out);
}

}  // namespace tenon::conformance
