// A program with buffers for all its inputs and results, run as often as one likes.
#pragma once

#include <vector>

#include "conformance/host/subject.h"

namespace tenon::conformance {

class Session {
 public:
  // On device() of the subject. Throws Unsupported where the backend refuses to compile.
  Session(Subject& subject, const tenon_graph& graph, Place place = Place::kDevice, tenon_options options = {});

  // Gives the inputs that are no scalars their values; without `states`, those alone that no result aliases.
  void write(const std::vector<reference::Tensor>& inputs, bool states = true);
  // One iteration, with the scalars among `inputs`; every result. Results that alias no state begin as rubbish, and
  // another program has left NaN in whatever workspace the backend shares among programs.
  std::vector<reference::Tensor> run(const std::vector<reference::Tensor>& inputs);
  // Throws a failure if a byte behind a buffer's last was written, or an input that no result aliases is not what was last written.
  void check();

 private:
  Buffer make_buffer(int32_t dtype, std::vector<int64_t> dims, int32_t placement) const;
  std::vector<tenon_scalar> scalars_of(const std::vector<reference::Tensor>& inputs) const;
  // The buffer of result r: its own, or that of the state that it aliases.
  const Buffer& result(uint32_t r) const;

  Subject& subject_;
  plugin::GraphView graph_;  // of the caller's graph
  Place place_;
  Program program_;
  Queue queue_;
  std::vector<int> input_at_;  // index in inputs_ of each input; -1: a scalar
  std::vector<bool> aliased_;  // each input
  std::vector<Buffer> inputs_, results_;
  std::vector<int> result_at_;                 // index in results_ of each result; -1: aliases
  std::vector<std::vector<uint8_t>> written_;  // each of inputs_
};

}  // namespace tenon::conformance
