// What a test of programs computes with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/suites/support.h"

namespace tenon::conformance {

// A program with a queue and f32 buffers of its own, one for each input that is no scalar.
struct Machine {
  Machine(Subject& subject, const Sketch& sketch, uint32_t max_iterations = 1)
      : s(subject), queue(s, s.device()), program(compile(s, sketch.builder.build(), max_iterations)) {}
  Buffer& make(const Dims& dims, const Floats& values) {
    buffers.push_back(std::make_unique<Buffer>(f32_buffer(s, dims)));
    if (values.empty())
      queue.write_rubbish(*buffers.back());
    else
      write(queue, *buffers.back(), values);
    return *buffers.back();
  }
  void run(Arguments arguments, uint32_t* done = nullptr) { run_now(queue, program, std::move(arguments), done); }
  Floats get(const Buffer& buffer) { return read(queue, buffer); }

  Subject& s;
  Queue queue;
  Program program;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

inline std::string after_run(int run) { return " after run " + std::to_string(run); }

}  // namespace tenon::conformance
