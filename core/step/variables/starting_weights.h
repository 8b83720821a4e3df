// A checkpoint that variables begin with, as far as it has them (tenon/warm_start.h).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/names/name_expression.h"
#include "checkpoint/tensor_file.h"
#include "graph/graph.h"
#include "tenon/array.h"
#include "tenon/warm_start.h"

namespace tenon {

// "'a', 'b' and 9 more"
std::string some_names(const std::vector<std::string>& names);

// The error of a tensor that a file has with another type than its variable's.
Status other_type(const std::string& path, const std::string& tensor, const Type& found, const std::string& variable,
                  const Type& type);

// "[1280,1000], here [1280,5]"; with the element types where these differ.
std::string difference(const Type& found, const Type& here);

// What a variable is to a model and its training.
struct VariableRole {
  VariableKind kind = VariableKind::kWeight;
  bool trainable = true;
  bool owned = false;                    // by an object, a layer or an optimizer
  std::weak_ptr<const void> owner = {};  // that object
  static VariableRole of(const Variable& v) { return {v.kind, v.trainable, !v.owner.expired(), v.owner}; }
};

class WarmStart {
 public:
  // Opens the file. Errors: a regular expression that is none, a rename to what the file does not have.
  static Result<WarmStart> open(WarmStartSettings settings);
  // The same of a file that is open already.
  static Result<WarmStart> of(WarmStartSettings settings, TensorFile file);

  // The model's variables, in the order of their making: by it they are found where the file names none.
  void learn(const std::vector<std::string>& variables);

  // What a variable begins with; `tensor` is empty where it begins anew.
  struct Source {
    std::string tensor;
    bool mismatched = false;  // it has another type there, which skip_mismatch lets pass; else that is an error
    WarmStartReport::Other other = {};  // what it has there
  };
  Result<Source> source_of(const std::string& variable, const Type& type, const VariableRole& role) const;
  const TensorFile& file() const { return file_; }
  // A tensor of that type.
  Result<Array> read(const std::string& tensor, const Type& type) const;

  void note(const std::string& variable, const VariableRole& role, const Source& source);

  WarmStartReport report() const;
  // Whether vars_to_warm_start chooses it.
  bool selects(const std::string& variable, const VariableRole& role) const;
  // After all variables were asked for: whether all that were chosen, by all expressions, were loaded.
  bool is_whole() const;
  // The same as a Status, which names what is not there.
  Status whole() const;
  // After all variables were asked for: an error when nothing was loaded, or a rename is of no use.
  Status finish() const;

 private:
  WarmStart(WarmStartSettings settings, TensorFile file) : settings_(std::move(settings)), file_(std::move(file)) {}
  bool is_among(const VariableRole& role) const;
  using Rename = std::pair<const std::string, std::string>;
  const Rename* rename_of(const std::string& variable) const;
  std::vector<std::string> unmatched() const;
  Status check_renames() const;

  WarmStartSettings settings_;
  TensorFile file_;
  std::vector<NameExpression> expressions_;
  std::map<std::string, std::string, std::less<>> by_position_;
  std::map<std::string, VariableRole> noted_;
  std::map<std::string, std::string> loaded_;
  std::set<std::string> fresh_;
  std::map<std::string, WarmStartReport::Other> mismatched_;
};

}  // namespace tenon
