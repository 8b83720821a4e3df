// A row of the table of ops (tenon/op/table.h): what the core, the SDK, backends, tests and documents know of an op
// beside how it is computed. C++17, header only, constants.
#pragma once

#include <string_view>

namespace tenon::op {

// What a backend without the op lacks.
enum class Level {
  kComposite = 0,  // nothing: it answers DECOMPOSE, and primitives come in the op's place
  kInfers = 1,     // a primitive of forward passes
  kTrains = 2,     // any other primitive
};

// What kind of work an op is. Profiles, predictions and rewrites that go by kind read it.
enum class Category {
  kSource,       // makes values of none
  kRandom,       // draws numbers
  kElementwise,  // each element of the result from one element of each operand
  kMovement,     // elements of operands at other places
  kImage,        // elements of images at other places, perhaps between them
  kSort,
  kReduction,  // folds of an axis
  kProduct,    // of matrices
  kConvolution,
  kPooling,
  kNormalization,
  kSoftmax,  // and losses on it
  kAttention,
  kRecurrent,
  kCollective,  // an exchange among units
  kUpdate,      // of a variable and its slots
};

// How the nodes that several units of one device have become one node (tenon/plugin/replicas.h), and on which operands:
// the rules are functions in sdk/runtime/replicas/replica_rules.cc.
struct Units {
  enum Rule {
    kApart,     // each unit has its own node
    kElements,  // joined along axis 0; rank 0 beside other shapes holds for every row
    kRows,      // joined along axis 0: a row of each result comes from one row of the operands
    kAxis,      // joined, unless attribute `axis` is 0
    kAxes,      // joined, unless attribute `axes` has 0
    kLastAxis,  // joined, unless rank is 1
    // a look at the node decides
    kTranspose,
    kBroadcast,
    kSlice,
    kPad,
    kReduce,
    kGather,
    kScatter,
    kDot,
    kBiasActGrad,
    kLayerNorm,
    kAttention,
  };
  Rule rule = kApart;
  std::string_view whole = {};  // names of operands that all units have alike
  std::string_view sums = {};   // names of results that are summed over the units
};

// What the results hold.
enum class Values {
  kComputed,
  kMoved,   // elements of the one operand
  kTaken,   // elements of several operands, pads, or with another sign
  kChosen,  // the same, chosen by their order: which of equal ones is open
};

// How an update treats a variable.
struct Update {
  int slots = 0;           // that every variable has; attributes may ask for more
  bool pointwise = false;  // each element by itself, from the same element of slots of the variable's type
};

struct Row {
  std::string_view name;
  // Operands, attributes and results by name, "x:F w:F [bias:F] ; groups:i64=1 -> y": tenon/op/signature.h.
  std::string_view signature;
  Level level;
  Category category;
  Values values;
  Units units;
  // Operations of a vector unit for each element, multiplications and additions; 10 and more: rather written to memory
  // than computed twice. 0: a matrix unit's or an exchange's work.
  int vector_ops;
  // The op of TensorFlow that does this, for profiles; empty where it has the same name ("LogSoftmax").
  std::string_view tensorflow;
  std::string_view doc;  // what it computes, its edges, the source of a formula
  Update update = {};
};

}  // namespace tenon::op
