// Rules by which tensors of another library's file become variables of a model (share/doc/weights.md). A line each:
//
//   # PyTorch's names and layouts
//   .*\.num_batches_tracked -> drop
//   (.*bn\d)\.weight -> $1.gamma
//   conv1\.weight -> conv2d/kernel OIHW->HWIO
//   bn1\.(.*) -> batch_normalization/$1
//   fc\.weight -> dense/kernel linear
//   in_proj\.weight -> query/kernel,key/kernel,value/kernel split
//   (query|key|value)/kernel -> $1/kernel linear shape 768,12,64
//
// A regular expression (base/names/name_expression.h) that matches the whole name, the name that the tensor has here, and how its
// axes are turned; with `split` equal parts of the first axis are tensors of these names, and `shape` gives it other axes in the
// end. Rules count in their order, each for what those before it have made of the name; a tensor that none matches
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
    std::string from;             // its name in the file
    Type type;                    // here
    std::vector<int> axes;        // of which axis of the file's each of its own is made; empty: as they are
    int64_t part = 0, parts = 1;  // of the file's first axis
    Shape turned = {};            // that of the part, before its axes are turned
    bool shaped = false;
  };
  // By their names here. Two tensors of one name, and one that does not have the axes that its rule turns, are errors.
  Result<std::map<std::string, Taken, std::less<>>> taken(
      const std::map<std::string, Type, std::less<>>& tensors) const;
  // The same of names alone, whatever axes they have.
  using Texts = std::map<std::string, std::string, std::less<>>;
  Result<Texts> renamed(const Texts& texts) const;

 private:
  struct Rule {
    NameExpression expression;
    std::vector<std::string> names;  // several: of its parts; none: the tensor is passed over
    std::vector<int> axes;
    std::vector<int64_t> dims;  // in the end; empty: as they are
    int line;
  };
  using Named = std::vector<std::pair<std::string, Taken>>;
  Status follow(size_t rule, std::string name, Taken taken, Named& out) const;
  Result<Named> all_of(const Named& tensors) const;
  Status split(const Rule& rule, int64_t parts, Taken* taken) const;
  Status turn(const Rule& rule, Taken* taken) const;
  Status shape(const Rule& rule, Taken* taken) const;
  static Status parse_form(std::vector<std::string> words, Rule* rule);
  static Result<Rule> parse_rule(std::string_view line);

  std::string file_;
  std::vector<Rule> rules_;
};

// Writes the elements of `in`, of `shape`, in the order that they have when axis i is `axes[i]` of it.
void turn_axes(std::span<const std::byte> in, const Shape& shape, const std::vector<int>& axes, int64_t width,
               std::span<std::byte> out);

}  // namespace tenon
