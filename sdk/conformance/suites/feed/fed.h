// A program that is fed, with what it has to make of the batches that it gets.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suites/feed/pipeline.h"

namespace tenon::conformance {

// s' = s + f, rows of 2 f k of each iteration; with two feeds s' = s + f + 2 g.
struct Fed {
  Fed(Subject& subject, uint32_t n_feeds = 1, uint32_t max_iterations = 20)
      : s(subject),
        max(max_iterations),
        queue(s, s.device()),
        program(compile(s, graph(n_feeds), max)),
        state(f32_buffer(s, {kFeedN})),
        rows(f32_buffer(s, {max, kFeedN})) {
    write(queue, state, filled(kFeedN, 0));
    write(queue, rows, filled(max * kFeedN, -1));
  }

  static plugin::FlatGraph graph(uint32_t n_feeds) {
    Sketch sketch;
    const uint32_t f = sketch.feed(TENON_F32, {kFeedN}), k = sketch.scalar(TENON_F32),
                   state = sketch.state(TENON_F32, {kFeedN});
    uint32_t updated = sketch.add(state, f, {kFeedN});
    if (n_feeds > 1)
      updated = sketch.add(updated, sketch.mul(sketch.feed(TENON_F32, {kFeedN}), sketch.fill({kFeedN}, 2), {kFeedN}),
                           {kFeedN});
    sketch.builder.result(updated, TENON_MODE_LAST, 3);
    sketch.builder.result(sketch.mul(f, k, {kFeedN}), TENON_MODE_EACH);
    return sketch.builder.build();
  }

  // Runs `iterations` with the pipeline's batches and checks all that came of it.
  void run(Pipeline& pipeline, uint32_t iterations, uint64_t batches, uint32_t n_feeds = 1,
           std::vector<tenon_point> after = {}, uint32_t n_after = UINT32_MAX) {
    Arguments arguments{{nullptr, &state}, {&state, &rows}, {}, std::move(after), iterations};
    if (n_feeds > 1) arguments.inputs.push_back(nullptr);
    for (uint32_t i = 0; i < iterations; ++i) arguments.scalars.push_back(Arguments::f64(i + 2));
    arguments.feed = pipeline.feed();
    uint32_t done = 0;
    Floats spare(kFeedN);
    const uint64_t earlier = submit_copy(s, queue, copy_from(rows, spare.data(), spare.size() * 4));
    pipeline.begin();
    tenon_run run = arguments.run(program);
    run.n_after = std::min(run.n_after, n_after);
    uint64_t ticket = 0;
    const tenon_status status = s.backend().run(queue.handle(), &run, &ticket, &done);
    pipeline.end();
    queue.wait(status.code == TENON_OK ? ticket : earlier);
    pipeline.check(iterations);
    expect_ok(status, "run with a feed");
    expect(ticket > earlier,
           "run with a feed: ticket " + std::to_string(ticket) + " follows " + std::to_string(earlier));
    const uint32_t expected_done = static_cast<uint32_t>(std::min<uint64_t>(iterations, batches));
    expect(done == expected_done,
           "run: " + std::to_string(done) + " iterations done, expected " + std::to_string(expected_done));
    check(expected_done, n_feeds);
  }

  void check(uint32_t done, uint32_t n_feeds) {
    Floats expected_rows = filled(max * kFeedN, -1);
    for (uint32_t i = 0; i < done; ++i) {
      const float row = Pipeline::expected(i, 0)[0] * static_cast<float>(i + 2);
      std::fill(expected_rows.begin() + i * kFeedN, expected_rows.begin() + (i + 1) * kFeedN, row);
      total += Pipeline::expected(i, 0)[0] + (n_feeds > 1 ? 2 * Pipeline::expected(i, 1)[0] : 0);
    }
    expect_equal(read(queue, rows), expected_rows, "each iteration's batch times its scalar");
    expect_equal(read(queue, state), filled(kFeedN, total), "the sum of the batches");
  }

  Subject& s;
  uint32_t max;
  Queue queue;
  Program program;
  Buffer state, rows;
  float total = 0;
};

}  // namespace tenon::conformance
