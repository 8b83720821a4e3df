// The corpus: every graph that the conformance suite tries, with what to feed it.
//
// The core writes the corpus from its op table when Tenon is built (core/corpus); the suite reads it and so
// needs nothing of the core. A graph is stored as it crosses the ABI. Beside each graph with composite ops
// stands the same graph in primitives, which is what the composites mean and what the reference evaluates.
//
// File: gzip; all numbers little-endian. u64 magic "TNCORPUS", u32 version, u32 cases; then the cases as
// corpus.cc reads them. A corpus is data of one build: its version changes freely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/reference/reference.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::conformance {

// How the elements of a graph's input are made: dense, row-major, rounded to the input's dtype.
struct Fill {
  enum Kind : uint32_t {
    kUniform = 0,  // element i is low + (high - low) u(i), u(i) the i-th splitmix64 number of `seed` in [0, 1);
                   // floored for integers and u8; bool: whether it is above 0
    kValues = 1    // `values`, repeated until the input is full
  };
  Kind kind = kValues;
  uint64_t seed = 0;
  double low = 0, high = 0;
  std::vector<double> values;
  bool each_step = false;  // training: iteration k is filled by seed + k (uniform), or by values from row k on
};

// One tensor. `step` counts iterations of training.
reference::Tensor make_tensor(int32_t dtype, const std::vector<int64_t>& dims, const Fill& fill, uint64_t step = 0);

// What a composite node of `whole` stands for: a graph of primitives whose inputs are the node's present
// operands, in order, and whose results are the node's present results, in order.
struct Decomposition {
  uint32_t node = 0;
  plugin::FlatGraph graph;
};

struct Case {
  enum Kind : uint32_t {
    kOp = 0,        // results against the reference; `op` is what it is about
    kGradient = 1,  // the gradient of sum(result * weights) of one op's forward: results are the gradients of the
                    // float inputs; `forward` evaluates the sum, for central differences
    kUpdate = 2,    // an optimizer update, repeated `steps` times with its states aliased
    kTraining = 3,  // a whole training step; result 0 is the loss, the others are states, aliased
    kInference = 4  // a model's forward pass
  };
  Kind kind = kOp;
  std::string op;    // "softmax"; of training and inference the model: "mlp", "cnn", "transformer", "resnet"
  std::string name;  // "f32[5,33] axis 1": unique within kind and op
  bool selects = false;  // picks elements (pooling's winners): a tolerance must not be sought by moving inputs
  bool catalogue = false;// of training: a model that `tenon train` knows (level 3); else a small one (level 2)
  double order = 0;  // of a running sum, whose order is free: so many ulps of the largest result more
  uint32_t steps = 1;
  std::vector<Fill> inputs;  // one an input of the graph, scalars among them
  plugin::FlatGraph whole;   // as a model's step holds it
  plugin::FlatGraph lowered; // the same in primitives, same inputs and results
  plugin::FlatGraph forward; // kGradient: same inputs as `lowered`, one f64 or f32 result of rank 0; else empty
  std::vector<Decomposition> decompositions;  // one a composite node of `whole`
};

// Elements of the graph's inputs and results together: how large a case is.
uint64_t case_size(const Case& c);

// Reads a corpus from memory. Throws std::runtime_error that says what is wrong and at which byte.
std::vector<Case> read_corpus(const void* gzip, uint64_t bytes);
// The one that this program carries.
const std::vector<Case>& built_in_corpus();

}  // namespace tenon::conformance
