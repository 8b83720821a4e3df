// Warm start: the variables of a model begin with a checkpoint's values.
//
//   strategy.warm_start({.ckpt_to_initialize_from = "pretrained/model.ckpt-9000", .vars_to_warm_start = "conv.*"});
//
// What the checkpoint has under a variable's name is loaded; what it lacks begins anew; the report names both, and what
// of the checkpoint was left over. The file may be of another model, optimizer or program: one of Tenon's or
// TensorFlow's, of a Saver or of tf.train.Checkpoint (whose
// "model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE" is found by the variable's name, "dense/kernel", and
// the slots of Keras's Adam, AdamW, Adagrad, SGD and RMSprop by theirs, "dense/kernel/Momentum"), one in the
// safetensors format, or one of Keras's. Names are those of TensorFlow's Estimator. The slot VARIABLE/Momentum that
// TensorFlow 1 wrote is for Momentum(), and an error for SGD's, which keeps another number (tenon/optimizers.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace tenon {

// Which variables: those whose names begin with what one of the regular expressions (ECMAScript's) matches, as in
// Python's re.match: "conv" means "conv2d/kernel" too, "^conv$" none but "conv", "(?!head/)" all that do not begin with
// "head/". One without back references and of at most 4000 characters, times the counts of its {..}, looking ahead at
// most 4 times: no expression takes the stack, or time that doubles with each character of a name.
class VarsToWarmStart {
 public:
  // Trained weights; weights with moving averages; these with optimizers' slots and counters, "global_step" among them.
  enum class Among : uint8_t { kTrainable, kWeights, kAll };

  // One expression: among what is trained; a list: among all, as in TensorFlow.
  VarsToWarmStart(const char* expression) : VarsToWarmStart(std::string(expression)) {}
  VarsToWarmStart(std::string expression) : expressions_{std::move(expression)} {}
  VarsToWarmStart(std::initializer_list<std::string> expressions) : expressions_(expressions), among_(Among::kAll) {}
  VarsToWarmStart(std::vector<std::string> expressions, Among among)
      : expressions_(std::move(expressions)), among_(among) {}

  const std::vector<std::string>& expressions() const { return expressions_; }
  Among among() const { return among_; }

 private:
  std::vector<std::string> expressions_;
  Among among_ = Among::kTrainable;
};

struct WarmStartSettings {
  // A prefix, PREFIX.index, a directory (its newest checkpoint), or a file of another library: ".safetensors", or
  // Keras's ".weights.h5", ".keras" and ".h5", or PyTorch's ".pt"; other names are told by their first bytes
  // (share/doc/weights.md).
  std::string ckpt_to_initialize_from = {};
  VarsToWarmStart vars_to_warm_start = ".*";
  // A file of rules by which the file's tensors get other names and axes first, as those of PyTorch need; "": none.
  std::string rules = {};
  // The checkpoint's name of a variable that has another name here. Where both end with "/" they stand for all names
  // that begin so; "" stands for all names: {{"", "encoder/"}} finds "dense/kernel" as "encoder/dense/kernel". One
  // whose name the checkpoint does not have is an error; one that no variable takes is to an Estimator, as in
  // TensorFlow, and is told by WarmStartReport::unmatched elsewhere, where functions may still come.
  std::map<std::string, std::string> var_name_to_prev_var_name = {};
  // A variable that the checkpoint has with another shape or dtype begins anew; else it is an error.
  bool skip_mismatch = false;
};

struct WarmStartReport {
  // A tensor that a variable cannot begin with, and why: "[1280,1000], here [1280,5]".
  struct Other {
    std::string tensor, difference;
  };
  std::string checkpoint;                     // the prefix or the file
  std::map<std::string, std::string> loaded;  // variables, and the tensors of the checkpoint that they have begun with
  // Variables that begin anew, or stay as they are where they were there before; first those that vars_to_warm_start
  // chooses.
  std::vector<std::string> fresh;
  std::vector<std::string> mismatched;       // those of them that skip_mismatch left out
  std::map<std::string, Other> others = {};  // what the checkpoint has for these
  std::vector<std::string> left_over;        // tensors of the checkpoint that no variable has begun with
  // Expressions of vars_to_warm_start that match no variable, and names of var_name_to_prev_var_name that none has.
  std::vector<std::string> unmatched;
  // Tensors of the checkpoint of types that Tenon does not have: "I16[2]", "partitioned f32[4]".
  std::map<std::string, std::string> unread = {};

  // One line: "warm start from a/model.ckpt-9: 4 variables; 1 begin anew: 'dense/bias'; 3 of the optimizer begin anew;
  // .."; long lists are cut. Of optimizers' slots and counters it has the number alone: they are many, and seldom asked
  // for.
  std::string text() const;
};

}  // namespace tenon
