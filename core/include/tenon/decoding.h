// Writes sequences of tokens with a model, one token a step; the search is one program of the device, which ends by
// itself.
//
//   Decoder translate(strategy, begin, next, {.vocabulary = 33708, .max_length = 97});
//   Decoded d = translate({{"inputs", ids}}, 60);             // at most 60 tokens each
//
// The model is two functions of tensors. `begin` reads the inputs, once, and gives what the writing of each sequence
// begins with: caches, what an encoder made. `next` gives the logits of the token that comes behind another one, and
// changes what is kept. Both find the model's variables by their names, in the Strategy's store.
//
// Beam search (beam_size 2 and more) is that of TensorFlow's Transformer (Wu et al. 2016): the score of a finished
// sequence is its log probability divided by ((5 + length) / 6)^alpha; of each step's 2 * beam_size best continuations
// those that end compete with the finished ones, the others go on; it ends where the worst finished sequence beats what
// the best one that is alive could still reach. With beam_size 1 each token is the most probable one, or drawn where
// there is a temperature.
//
// Mistakes throw tenon::Error. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "tenon/strategy.h"

namespace tenon {

struct DecodeOptions {
  int64_t vocabulary = 0;  // of the logits
  int64_t max_length = 0;  // the most tokens that a sequence can have, its end among them
  int64_t eos = 1;         // ends a sequence
  int64_t start = 0;       // stands before the first token
  int64_t beam_size = 4;
  double alpha = 0.6;  // 0: long sequences, which are less probable, lose; 1: about the mean log probability counts
  // With beam_size 1, a temperature above 0 draws from softmax(logits / temperature), among the top_k most probable
  // tokens (0: all) that together have at least the probability top_p.
  double temperature = 0;
  int64_t top_k = 0;
  double top_p = 1;
};

// Best first. Behind its end a sequence has zeros.
struct Decoded {
  Array ids;     // i32[batch, beam_size, max_length]
  Array scores;  // f32[batch, beam_size]: as above; of beam_size 1 the log probability
  int64_t steps = 0;
};

// What is kept of each sequence from token to token, by name: tensors with a row a sequence. What is never set stays as
// `begin` gave it.
class DecodeState {
 public:
  // Throws Error naming what there is when there is none of that name.
  Tensor operator[](const std::string& name) const;
  bool has(const std::string& name) const { return now_.contains(name); }
  // REQUIRED: a name that `begin` gave, and a tensor of that type.
  void set(const std::string& name, Tensor next);
  // For what grows by a row a token, as keys and values do: `name` is [rows, max_length, ..], `row` [rows, 1, ..] is
  // what this token adds, at its position. Gives the rows of each sequence, up to this one its own and those of the
  // sequences that it goes on from. Where beams change places, nothing of it is moved. REQUIRED: a name that is not
  // set() in this step, and no other append() to it.
  Tensor append(const std::string& name, Tensor row);

 private:
  friend struct DecodeTrace;
  Tensor rows_read();

  std::map<std::string, Tensor> now_, next_;
  Tensor position_;  // of the token that is read
  // i32[rows, max_length]: the row in which a sequence's token at a place was appended; absent: its own
  Tensor writers_;
  Tensor writers_with_this_, read_;  // of this token too; as rows of [rows * max_length, ..]
  std::set<std::string> appended_;
};

class Decoder {
 public:
  // From the inputs of a call, tensors that have a row a sequence.
  using Begin = std::function<Features(const Features& inputs)>;
  // token i32[rows] stands at place position (i32[], 0 is `start`) -> logits f[rows, vocabulary].
  using Next = std::function<Tensor(Tensor token, Tensor position, DecodeState& state)>;

  Decoder(Strategy strategy, Begin begin, Next next, const DecodeOptions& options);

  // A row a sequence in each input. `max_steps`: 1 to max_length, 0 means that. Inputs of other shapes are another
  // program.
  Decoded operator()(const Arrays& inputs, int64_t max_steps = 0);
  // The same sequences in parts, for who watches them grow: `shows` is given what is written so far, some dozen times a
  // second where tokens come so fast, and at the end. What it throws ends the writing. REQUIRED: beam_size 1, whose
  // tokens stay.
  using Shows = std::function<void(const Decoded& so_far)>;
  Decoded operator()(const Arrays& inputs, int64_t max_steps, const Shows& shows);
  // The same for who may not want them to the end: `interrupted` is asked as often, between tokens; true ends the writing
  // with an error of code kInterrupted. Any beam_size where `shows` is empty.
  Decoded operator()(const Arrays& inputs, int64_t max_steps, const Shows& shows,
                     const std::function<bool()>& interrupted);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
