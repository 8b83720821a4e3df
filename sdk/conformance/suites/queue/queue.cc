// Queues: tickets, order, waits for other queues, time limits, failures that stick.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "conformance/suites/queue/endless.h"
#include "conformance/suites/run/gate.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// ---- tickets and waiting ----

void tickets_grow(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  const Floats values = ramp(16);
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t ticket = submit_copy(s, queue, copy_to(buffer, values.data(), 64));
    expect(ticket > last, "copy: ticket " + std::to_string(ticket) + " follows " + std::to_string(last));
    last = ticket;
  }
  queue.wait(last);
}

void tickets_of_runs_grow(Subject& s) {
  Queue queue(s, s.device());
  Counter counter(s);
  counter.reset(queue);
  const Floats values = counter.expected(0);
  uint64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const uint64_t run = counter.submit(queue, 1);
    const uint64_t copy = submit_copy(s, queue, copy_to(counter.state(), values.data(), counter.state().bytes()));
    expect(run > last && copy > run, "tickets of a run and a copy are " + std::to_string(run) + ", " +
                                         std::to_string(copy) + " after " + std::to_string(last));
    last = copy;
  }
  queue.wait(last);
}

void waits_for_earlier_tickets(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  const Floats values = ramp(16);
  std::vector<uint64_t> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(submit_copy(s, queue, copy_to(buffer, values.data(), 64)));
  queue.wait(tickets.back());
  for (int round = 0; round < 2; ++round)
    for (uint64_t ticket : tickets)
      for (uint64_t timeout : {uint64_t{0}, uint64_t{1000000}, UINT64_MAX})
        expect_ok(s.backend().wait(queue.handle(), ticket, timeout), "wait for a ticket that is done");
}

void knows_no_future_ticket(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  const Floats values = ramp(16);
  const uint64_t ticket = submit_copy(s, queue, copy_to(buffer, values.data(), 64));
  queue.wait(ticket);
  for (uint64_t future : {ticket + 1, ticket + 1000, UINT64_MAX}) {
    const tenon_status status = s.backend().wait(queue.handle(), future, 0);
    expect_code(status, TENON_INVALID, "wait for ticket " + std::to_string(future) + ", which was not given yet");
  }
  queue.wait(ticket);
}

// What a HOST buffer holds, or where there is none what a copy that nobody has waited for has brought.
Floats seen_at_once(Subject& s, Queue& queue, const Buffer& buffer) {
  Floats values(buffer.bytes() / sizeof(float));
  if (buffer.host())
    std::memcpy(values.data(), buffer.host(), buffer.bytes());
  else
    submit_copy(s, queue, copy_from(buffer, values.data(), buffer.bytes()));
  return values;
}

// What an INLINE unit promises: the work is done when the call returns.
void is_complete_at_once(Subject& s) {
  if (!is_inline(s)) throw Unavailable{"the unit is not INLINE"};
  Queue queue(s, s.device());
  Counter counter(s, {.host = true});
  counter.reset(queue);
  for (int i = 1; i <= 20; ++i) {
    const uint64_t ticket = counter.submit(queue, 100);
    expect_ok(s.backend().wait(queue.handle(), ticket, 0), "a poll of an INLINE unit's ticket");
    expect_equal(seen_at_once(s, queue, counter.state()), counter.expected(static_cast<float>(100 * i)),
                 "an INLINE unit's state before any wait");
  }
}

struct Waited {
  int32_t code;
  double seconds;
};

Waited wait_for(Subject& s, const Queue& queue, uint64_t ticket, double limit) {
  const double start = seconds_now();
  const tenon_status status = s.backend().wait(queue.handle(), ticket, static_cast<uint64_t>(limit * 1e9));
  if (status.code != TENON_OK) expect_code(status, TENON_TIMEOUT, "wait with a limit");
  return {status.code, seconds_now() - start};
}

// A limit is kept while the work is held back. How late it may come back is far more than any machine is busy, and far less
// than a limit that is taken for another unit.
void keeps_time_limits(Subject& s) {
  if (is_inline(s)) throw Unavailable{"an INLINE unit has nothing to wait for"};
  constexpr double kLate = 10;
  Queue queue(s, s.device());
  const Floats values = ramp(1024);
  const Buffer buffer = f32_buffer(s, {1024});
  for (double limit : {0.0, 0.001, 0.02}) {
    Gate gate(values);
    const uint64_t ticket = submit_copy(s, queue, copy_to(buffer, gate.memory(), gate.bytes()));
    if (gate.is_open()) throw Unavailable{"copies are made on the thread that submits them"};
    gate.open_after(kLate);
    const Waited waited = wait_for(s, queue, ticket, limit);
    const std::string what = "wait with a limit of " + std::to_string(limit * 1e3) + " ms for work that is held back";
    expect(waited.code == TENON_TIMEOUT, what + ": found OK, expected TIMEOUT");
    expect(waited.seconds >= limit, what + " came back after " + std::to_string(waited.seconds * 1e3) + " ms");
    expect(waited.seconds < limit + kLate, what + " came back after " + std::to_string(waited.seconds) + " s");
    gate.open();
    queue.wait(ticket);
    expect_equal(read(queue, buffer), values, "what was copied once wait said OK");
  }
}

// ---- order ----

constexpr double kHeldBack = 10;  // seconds, where the gate is not opened before

// The first rounds wait behind a copy that is held back.
void works_in_order(Subject& s) {
  Queue queue(s, s.device());
  Counter counter(s);
  Gate gate(ramp(1024));
  const Buffer held_back = f32_buffer(s, {1024});
  submit_copy(s, queue, copy_to(held_back, gate.memory(), gate.bytes()));
  gate.open_after(kHeldBack);
  constexpr size_t kRounds = 40;
  std::vector<Floats> in, out(kRounds, Floats(Counter::kElements));
  for (size_t i = 0; i < kRounds; ++i) in.push_back(counter.expected(static_cast<float>(1000 * i)));
  uint64_t last = 0;
  for (size_t i = 0; i < kRounds; ++i) {
    submit_copy(s, queue, copy_to(counter.state(), in[i].data(), counter.state().bytes()));
    counter.submit(queue, static_cast<uint32_t>(i % 7 + 1));
    counter.submit(queue, 1);
    last = submit_copy(s, queue, copy_from(counter.state(), out[i].data(), counter.state().bytes()));
    if (i == 2) gate.open();
  }
  queue.wait(last);
  for (size_t i = 0; i < kRounds; ++i)
    expect_equal(out[i], counter.expected(static_cast<float>(1000 * i + i % 7 + 2)),
                 "what was copied back in round " + std::to_string(i));
}

// Each queue works on buffers of its own, all in flight.
void many_queues_at_once(Subject& s) {
  constexpr size_t kQueues = 8;
  const plugin::FlatGraph graph = counter_graph(513);
  const Program program = compile(s, graph, 4);
  std::vector<Queue> queues;
  std::vector<Buffer> states;
  for (size_t q = 0; q < kQueues; ++q) {
    queues.emplace_back(s, s.device());
    states.push_back(f32_buffer(s, {513}));
    write(queues[q], states[q], ramp(513, static_cast<float>(q)));
  }
  std::vector<uint64_t> tickets(kQueues);
  for (int round = 0; round < 10; ++round)
    for (size_t q = 0; q < kQueues; ++q) {
      Arguments arguments{
          {&states[q]}, {&states[q]}, std::vector<tenon_scalar>(4, Arguments::f64(static_cast<double>(q))), {}, 4};
      tickets[q] = queues[q].submit(arguments.run(program));
    }
  for (size_t q = 0; q < kQueues; ++q) {
    queues[q].wait(tickets[q]);
    expect_equal(read(queues[q], states[q]), ramp(513, static_cast<float>(q + 40 * q)),
                 "the state of queue " + std::to_string(q));
  }
}

void destroys_with_work_in_flight(Subject& s) {
  Counter counter(s);
  for (int i = 0; i < 3; ++i) {
    Gate gate(counter.expected(0));
    {
      Queue queue(s, s.device());
      submit_copy(s, queue, copy_to(counter.state(), gate.memory(), gate.bytes()));
      gate.open_when_all_wait();
      for (int k = 0; k < 4; ++k) counter.submit(queue, 50);
    }  // stops or drains
    Queue next(s, s.device());
    counter.reset(next, 5);
    next.wait(counter.submit(next, 3));
    expect_equal(read(next, counter.state()), counter.expected(8),
                 "the state after a queue with work in flight was destroyed");
  }
}

// ---- between queues ----

// The producer's work is held back until everybody waits: a consumer that does not wait has seen the past by then.
struct Pair {
  static constexpr uint32_t kIterations = 20;

  explicit Pair(Subject& subject) : s(subject), producer(s, s.device()), consumer(s, s.device()), counter(s) {
    counter.reset(producer, -1000);
  }
  // The state becomes `start`, and 1 more in each of the iterations.
  tenon_point produce(float start) {
    gate.reset();
    gate = std::make_unique<Gate>(counter.expected(start));
    submit_copy(s, producer, copy_to(counter.state(), gate->memory(), gate->bytes()));
    gate->open_when_all_wait();
    return {producer.handle(), counter.submit(producer, kIterations)};
  }
  Floats produced(float start) const { return counter.expected(start + static_cast<float>(kIterations)); }

  Subject& s;
  std::unique_ptr<Gate> gate;  // goes after the queues that it holds
  Queue producer, consumer;
  Counter counter;
};

constexpr int kHeldRounds = 6;

void copies_wait_for_runs(Subject& s) {
  Pair pair(s);
  Floats out(Counter::kElements);
  for (int i = 0; i < kHeldRounds; ++i) {
    const tenon_point after = pair.produce(static_cast<float>(i));
    tenon_copy copy = copy_from(pair.counter.state(), out.data(), pair.counter.state().bytes());
    copy.after = &after;
    copy.n_after = 1;
    pair.consumer.wait(submit_copy(s, pair.consumer, copy));
    expect_equal(out, pair.produced(static_cast<float>(i)),
                 "a copy after another queue's run, in round " + std::to_string(i));
  }
}

void runs_wait_for_runs(Subject& s) {
  Pair pair(s);
  const Program sum = compile(s, sum_graph(Counter::kElements));
  const Buffer b = f32_buffer(s, {Counter::kElements}), r = f32_buffer(s, {Counter::kElements});
  write(pair.consumer, b, pair.counter.expected(100));
  for (int i = 0; i < kHeldRounds; ++i) {
    const tenon_point after = pair.produce(static_cast<float>(i));
    Arguments arguments{{&pair.counter.state(), &b}, {&r}, {}, {after}};
    pair.consumer.wait(pair.consumer.submit(arguments.run(sum)));
    expect_equal(read(pair.consumer, r), pair.produced(static_cast<float>(i) + 100),
                 "a run after another queue's run, in round " + std::to_string(i));
  }
}

// A copy must not overwrite what another queue still reads.
void writes_wait_for_readers(Subject& s) {
  Pair pair(s);
  const Floats fresh = pair.counter.expected(-7);
  for (int i = 0; i < kHeldRounds; ++i) {
    const tenon_point after = pair.produce(0);
    tenon_copy copy = copy_to(pair.counter.state(), fresh.data(), pair.counter.state().bytes());
    copy.after = &after;
    copy.n_after = 1;
    pair.consumer.wait(submit_copy(s, pair.consumer, copy));
    pair.producer.wait(after.ticket);
    expect_equal(read(pair.consumer, pair.counter.state()), fresh,
                 "a copy into a state that another queue's run was writing");
  }
}

void takes_turns(Subject& s) {
  Queue a(s, s.device()), b(s, s.device());
  Counter counter(s);
  counter.reset(a);
  tenon_point last{nullptr, 0};
  constexpr uint32_t kRounds = 100;
  for (uint32_t i = 0; i < kRounds; ++i) {
    Queue& queue = i % 2 ? b : a;
    std::vector<tenon_point> after;
    if (last.queue) after.push_back(last);
    last = {queue.handle(), counter.submit(queue, 5, after)};
  }
  (last.queue == a.handle() ? a : b).wait(last.ticket);
  expect_equal(read(a, counter.state()), counter.expected(5 * kRounds), "a state that two queues updated by turns");
}

void waits_for_several_queues(Subject& s) {
  constexpr size_t kProducers = 3;
  std::vector<std::unique_ptr<Pair>> pairs;
  for (size_t i = 0; i < kProducers; ++i) pairs.push_back(std::make_unique<Pair>(s));
  const Program sum = compile(s, sum_graph(Counter::kElements));
  const Buffer r = f32_buffer(s, {Counter::kElements});
  Queue consumer(s, s.device());
  for (int round = 0; round < kHeldRounds; ++round) {
    Arguments arguments{{&pairs[0]->counter.state(), &pairs[2]->counter.state()}, {&r}};
    const float start = static_cast<float>(round);
    // One of them is held; who waits for the other two alone would go ahead.
    for (size_t i = 0; i < kProducers; ++i) {
      arguments.after.push_back(pairs[i]->produce(start));
      if (i == static_cast<size_t>(round) % kProducers) continue;
      pairs[i]->gate->open();
      pairs[i]->producer.wait(arguments.after.back().ticket);
    }
    consumer.wait(consumer.submit(arguments.run(sum)));
    expect_equal(read(consumer, r), filled(Counter::kElements, 2 * (start + Pair::kIterations)),
                 "a run after three queues, in round " + std::to_string(round));
    for (const auto& pair : pairs) expect_ok(s.backend().wait(pair->producer.handle(), 1, UINT64_MAX), "wait");
  }
}

}  // namespace

void add_queue_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&), int level) {
    add_test(tests, "queue", group, name, run, level);
  };
  add("tickets", "of copies grow", tickets_grow, 0);
  add("tickets", "of runs grow", tickets_of_runs_grow, 1);
  add("wait", "for what is done", waits_for_earlier_tickets, 0);
  add("wait", "refuses tickets that were not given", knows_no_future_ticket, 0);
  add("wait", "has nothing to do on an INLINE unit", is_complete_at_once, 1);
  add("wait", "keeps time limits", keeps_time_limits, 1);
  add("order", "copies and runs", works_in_order, 1);
  add("order", "eight queues at once", many_queues_at_once, 1);
  add("order", "destroys a queue with work in flight", destroys_with_work_in_flight, 1);
  add("after", "a copy waits for a run", copies_wait_for_runs, 1);
  add("after", "a run waits for a run", runs_wait_for_runs, 1);
  add("after", "a write waits for a reader", writes_wait_for_readers, 1);
  add("after", "two queues take turns", takes_turns, 1);
  add("after", "three queues", waits_for_several_queues, 1);
  add_queue_failure_tests(tests);
  add_error_info_tests(tests);
}

}  // namespace tenon::conformance
