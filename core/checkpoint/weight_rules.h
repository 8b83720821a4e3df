// Rules by which tensors of another library's file become variables of a model (share/doc/weights.md). A line each:
//
//   # PyTorch's names and layouts
//   .*\.num_batches_tracked -> drop
//   (.*bn\d)\.weight -> $1.gamma
//   conv1\.weight -> conv2d/kernel OIHW->HWIO
//   bn1\.(.*) -> batch_normalization/$1
//   fc\.weight -> dense/kernel linear
//
// A regular expression (base/names/name_expression.h) that matches the whole name, the name that the tensor has here, and how its
// axes are turned. Rules count in their order, each for what those before it have made of the name; a tensor that none matches
// stays as it is.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names/name_expression.h"
#include "tenon/types.h"

namespace tenon {

class WeightRules {
 public:
  static Result<WeightRules> read(const std::string& path);
  // `file` is for messages.
  static Result<WeightRules> parse(std::string_view text, const std::string& file);

  struct Taken {
    std::string from;       // its name in the file
    Type type;              // here
    std::vector<int> axes;  // of which axis of the file's each of its own is made; empty: as they are
  };
  // By their names here. Two tensors of one name, and one that does not have the axes that its rule turns, are errors.
  Result<std::map<std::string, Taken, std::less<>>> taken(
      const std::map<std::string, Type, std::less<>>& tensors) const;

 private:
  struct Rule {
    NameExpression expression;
    std::string name;  // "": the tensor is passed over
    std::vector<int> axes;
    int line;
  };
  Status turn(const Rule& rule, Taken* taken) const;
  static Result<Rule> parse_rule(std::string_view line);

  std::string file_;
  std::vector<Rule> rules_;
};

// Writes the elements of `in`, of `shape`, in the order that they have when axis i is `axes[i]` of it.
void turn_axes(std::span<const std::byte> in, const Shape& shape, const std::vector<int>& axes, int64_t width,
               std::span<std::byte> out);

}  // namespace tenon
