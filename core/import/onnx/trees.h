// Ensembles of decision trees as tables: each row walks down all trees at once, a level at a time.
#pragma once

#include <map>

#include "import/onnx/call.h"

namespace tenon::onnx {

struct Trees {
  Ints roots;                  // of each tree
  Ints feature, above, below;  // of each node; a leaf is its own child
  std::vector<double> threshold;
  std::vector<std::string> mode;                   // of each node, as ONNX names them
  std::map<int64_t, std::vector<double>> members;  // of a node of mode BRANCH_MEMBER: what goes the true way
  std::vector<double> missing_goes;                // 1: NaN takes the true branch
  int64_t depth = 0;
  struct Leaf {
    int64_t node, column;
    double weight;
  };
  std::vector<Leaf> leaves;
  int64_t only_column = -1;  // that all weights have, where it is one
  bool are_probabilities = false;
};

// From the attributes of TreeEnsembleClassifier ("class") and Regressor ("target").
Trees trees_of(Call& c, const std::string& stem);
// From those of TreeEnsemble, whose nodes and leaves are lists of their own.
Trees trees_with_leaves(Call& c);
// What the leaves give, put together by `how` (SUM, AVERAGE, MIN, MAX), and the attribute base_values: [B, columns] of x's dtype.
Tensor tree_scores(Call& c, const Trees& trees, Tensor x, int64_t columns, const std::string& how);

}  // namespace tenon::onnx
