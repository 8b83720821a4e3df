// An algorithm that was set up for one shape.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Threads and scratch memory that it needs, and how it runs on operands and results of a struct `Data`.
template <class Data>
struct Work {
  uint32_t thread_count = 1;
  uint64_t shared_bytes = 0, own_bytes = 0;  // scratch memory of all threads, of each thread
  int64_t parts = 0;                         // in which a ResultVisitor sees the result; 0: it sees none
  std::function<void(const Call&, const Data&)> run;

  uint32_t threads() const { return thread_count; }
  uint64_t scratch_bytes() const { return shared_bytes; }
  uint64_t thread_scratch_bytes() const { return own_bytes; }
};

// `work` has these three functions and run(call, data).
template <class Data, class T>
Work<Data> work_of(const std::shared_ptr<T>& work, int64_t parts = 0) {
  return {work->threads(), work->scratch_bytes(), work->thread_scratch_bytes(), parts,
          [work](const Call& call, const Data& data) { work->run(call, data); }};
}

// Bytes of scratch memory up to where other data may begin.
inline uint64_t aligned_room(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace tenon::cpu::TENON_CPU_ISA
