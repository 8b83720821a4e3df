// The corpus: every graph that the conformance suite tries, with what to feed it.
//
// The core writes the corpus from its op table when Tenon is built (core/corpus); the suite reads it and so
// needs nothing of the core. A graph is stored as it crosses the ABI. Beside each graph with composite ops
// stands the same graph in primitives, which is what the composites mean and what the reference evaluates.
//
// File: gzip; all numbers little-endian. u64 magic "TNCORPUS", u32 version; the parts that graphs are made of, each
// once; u32 cases, then the cases as corpus.cc reads them. A corpus is data of one build: its version changes freely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/reference/reference.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::conformance {

// How the elements of a tensor are made: dense, row-major, rounded to its dtype, saturating for integers.
struct Fill {
  enum Kind : uint32_t {
    kUniform = 0,  // element i is low + (high - low) u(i), u(i) the i-th splitmix64 number of `seed` in [0, 1);
                   // floored for integers and u8; bool: whether it is above 0
    kValues = 1,   // `values`, repeated until the tensor is full; bool: whether it is not 0
    kPowers = 2    // integers: a power of two of either sign and at most 2 beside it, both by the i-th number of `seed`,
                   // the low bits of it; what a double or fewer bits do not tell apart. Floats as kUniform
  };
  Kind kind = kValues;
  uint64_t seed = 0;
  double low = 0, high = 0;
  std::vector<double> values;
  // Training and updates: iteration k is filled by seed + k (uniform), or by the values from k times the tensor's
  // elements on.
  bool each_step = false;
};

// One tensor. `step` counts iterations of training. Throws std::runtime_error when there are no values.
reference::Tensor make_tensor(int32_t dtype, const std::vector<int64_t>& dims, const Fill& fill, uint64_t step = 0);

// Elements first..first+count-1 of a tensor without steps as their dense bytes: for tensors that are too large to be
// made whole.
void make_bytes(int32_t dtype, const Fill& fill, uint64_t first, uint64_t count, uint8_t* out);

// What a composite node of `whole` stands for: a graph of primitives whose inputs are the node's present
// operands, in order, and whose results are the node's present results, in order.
struct Decomposition {
  uint32_t node = 0;
  plugin::FlatGraph graph;
};

struct Case {
  enum Kind : uint32_t {
    kOp = 0,        // results against the reference; `op` is what it is about
    kGradient = 1,  // result k is the gradient of a loss by input k, a float; the inputs after those are not
                    // differentiated. `forward` evaluates the loss, for central differences
    kUpdate = 2,    // an optimizer update, repeated `steps` times; all its results are states, aliased
    kTraining = 3,  // a whole training step; result 0 is the loss, the others are states, aliased
    kInference = 4  // a model's forward pass
  };
  Kind kind = kOp;
  std::string op;          // "softmax"; of training and inference the model: "mlp", "cnn", "transformer", "resnet"
  std::string name;        // "f32[5,33] axis 1": unique within kind and op
  bool selects = false;    // picks elements (pooling's winners): a tolerance must not be sought by moving inputs
  bool catalogue = false;  // of training: a model that `tenon train` knows (level 3); else a small one (level 2)
  double order = 0;        // of a running sum, whose order is free: so many ulps of the largest result more
  uint32_t steps = 1;
  // Bytes of its inputs and results where they are too large for the reference, else 0. Such a case is run only where
  // there is memory, its inputs are written by make_bytes in parts, and its results are exactly `expected`.
  uint64_t min_memory = 0;
  std::vector<Fill> inputs;    // one an input of the graph, scalars among them
  std::vector<Fill> expected;  // one a result of the graph where min_memory is given, else none
  plugin::FlatGraph whole;     // as a model's step holds it
  plugin::FlatGraph lowered;   // the same in primitives, same inputs and results
  plugin::FlatGraph forward;   // kGradient: same inputs as `lowered`, one f64 or f32 result of rank 0; else empty
  std::vector<Decomposition> decompositions;  // one a composite node of `whole`
};

// Elements of the graph's inputs and results together: how large a case is.
uint64_t case_size(const Case& c);

// Reads a corpus from memory. Throws std::runtime_error that says what is wrong and at which byte.
std::vector<Case> read_corpus(const void* gzip, uint64_t bytes);
// The inverse; the same cases give the same bytes.
std::vector<uint8_t> write_corpus(const std::vector<Case>& cases);
// The one that this program carries.
const std::vector<Case>& built_in_corpus();

}  // namespace tenon::conformance
