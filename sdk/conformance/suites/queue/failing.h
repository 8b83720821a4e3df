// A queue that fails: its run meets a batch that is missing or too small.
#pragma once

#include <optional>

#include "conformance/suites/support.h"

namespace tenon::conformance {

// s' = s + f of f32[8]; the feed gives good batches and then a bad one.
struct Failing {
  Failing(Subject& subject, const Buffer* bad_batch)
      : s(subject),
        queue(std::in_place, s, s.device()),
        program(compile(s, graph(), 8)),
        state(f32_buffer(s, {8})),
        good(f32_buffer(s, {8})),
        bad(bad_batch) {
    write(*queue, state, filled(8, 0));
    write(*queue, good, filled(8, 1));
  }

  static plugin::FlatGraph graph() {
    Sketch sketch;
    const uint32_t state = sketch.state(TENON_F32, {8}), batch = sketch.feed(TENON_F32, {8});
    sketch.builder.result(sketch.add(state, batch, {8}), TENON_MODE_LAST, 1);
    return sketch.builder.build();
  }

  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
    const Failing& self = *static_cast<Failing*>(ctx);
    *after = {nullptr, 0};
    feeds[0] = i < 2 ? self.good.handle() : self.bad ? self.bad->handle() : nullptr;
    return 1;
  }

  // Runs into the bad batch; what wait says about it.
  std::string fail_once() {
    tenon_feed feed{};
    feed.struct_size = sizeof feed;
    feed.ctx = this;
    feed.next = next;
    feed.release = [](void*, uint64_t) {};
    Arguments arguments{{&state, nullptr}, {&state}, {}, {}, 5};
    arguments.feed = &feed;
    uint32_t done = 0;
    ticket = queue->submit(arguments.run(program), &done);
    expect(done == 2, "run: " + std::to_string(done) + " iterations done before a bad batch, expected 2");
    return failure_of(s.backend().wait(queue->handle(), ticket, UINT64_MAX), "wait for a run with a bad batch");
  }

  static std::string failure_of(const tenon_status& status, const std::string& what) {
    expect(status.code != TENON_OK, what + ": found OK");
    expect_code(status, status.code, what);
    return status.message;
  }

  Subject& s;
  std::optional<Queue> queue;
  Program program;
  Buffer state, good;
  const Buffer* bad;
  uint64_t ticket = 0;
};

}  // namespace tenon::conformance
