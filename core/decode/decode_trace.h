// What the steps of a search share: variables that hold it between them.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tenon/decoding.h"
#include "tenon/ops.h"
#include "tenon/variables.h"

namespace tenon {

// Variables of one decoder's program, by short names.
class DecodeVariables {
 public:
  explicit DecodeVariables(std::string prefix) : prefix_(std::move(prefix)) {}  // of names: "decode/0/"

  // Before each trace.
  void begin_trace() { traced_.clear(); }
  const std::map<std::string, Type>& types() const { return types_; }
  // What it was at the beginning of the step.
  Tensor get(Tensor like, const std::string& name);
  // What it is after the step; makes it, where it was not there.
  void put(const std::string& name, Tensor value);

 private:
  std::string prefix_;
  std::map<std::string, Type> types_;
  std::map<std::string, Tensor> traced_;  // in the graph that is being made
};

struct DecodeTrace {
  // For sequences that change places: which row wrote a token of each, at first the sequence's own (DecodeState::append).
  static void begin_writers(Tensor like, DecodeVariables& variables, int64_t rows, int64_t length);
  // The state at the beginning of a step: what `begin` gave, for `rows` sequences.
  static DecodeState read(Tensor like, DecodeVariables& variables);
  // At its end, where row i goes on as `of` (i32[batch, beam], the beams of its sentence) says; absent: as it was.
  static void write(const DecodeState& state, DecodeVariables& variables, Tensor of);
};

struct Sequences {
  Tensor ids, scores, done;
};

// One step: tokens are chosen, and written into the variables.
Sequences beam_search_step(Tensor max_steps, DecodeVariables& variables, const Decoder::Next& next,
                           const DecodeOptions& options);
Sequences sampling_step(Tensor max_steps, DecodeVariables& variables, const Decoder::Next& next,
                        const DecodeOptions& options);
// What they begin with, for so many sentences.
void begin_beam_search(Tensor like, DecodeVariables& variables, int64_t batch, const DecodeOptions& options);
void begin_sampling(Tensor like, DecodeVariables& variables, int64_t batch, const DecodeOptions& options);

}  // namespace tenon
