// A model that another program wrote as an ONNX file, as a function of tensors: traced, trained, saved and exported
// like model code.
//
//   OnnxModel model = import_onnx("resnet50.onnx").take();
//   Strategy strategy("cpu");
//   Function predict = strategy.function(model);                       // features and results by the file's names
//   Results r = predict({{"input", images}});
//
//   OnnxModel tuned = import_onnx("resnet50.onnx", {.freeze = "layer[1-4]", .replace_head = 5}).take();
//   Function train = strategy.function([&](const Features& in) {
//     Tensor loss = sparse_categorical_crossentropy(in["label"], softmax(tuned.logits(in)));
//     minimize(Adam(), loss);
//     return Outputs{{"loss", loss}};
//   }, {.mode = Mode::kTrain});
//
// Floating initializers are variables, by the file's names, that begin with the file's values; kernels of convolutions
// lie in them as Tenon's do, [h,w,in,out]. Where a function trains, batch norm has the moments of its batch and dropout
// draws. Integers of 8 and 16 bits are i32 in features and results, unsigned ones of 32 and 64 bits i64, but u8, which
// is u8.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/features.h"
#include "tenon/ops.h"
#include "tenon/outputs.h"
#include "tenon/status.h"
#include "tenon/strategy.h"

namespace tenon {

struct OnnxOptions {
  // Sizes of dimensions that the file leaves open, by their names: {{"sequence", 128}}. Axis 0, which counts the rows,
  // has none. A name that no input has is an error.
  std::map<std::string, int64_t> dims = {};
  // Inputs that are numbers known at once, by name: they are constants, and no features. Shapes have to be.
  Arrays values = {};
  std::string scope = {};  // variables are SCOPE/NAME
  // A regular expression: variables in whose name, or in that of a node that reads them, it is found are not trained.
  std::string freeze = {};
  int64_t replace_head = 0;  // not 0: the last dense layer before the first output is a new one of so many units
  MathPrecision precision = MathPrecision::kDefault;  // of products and convolutions
  // BatchNormalization with training_mode has the moments of its batch in every function, as the file says, and not
  // only where the function trains.
  bool modes_of_file = false;
  // A file with ops that Tenon does not know is taken, to be looked at; a call of it is an error.
  bool take_unknown = false;
};

// An input or output.
struct OnnxValue {
  std::string name;
  DType dtype = DType::kNone;          // kNone: the file does not say
  std::vector<int64_t> dims;           // -1: any
  std::vector<std::string> dim_names;  // of those that are any; "" where the file gives none
  bool has_shape = false;              // else the file says nothing of its dimensions
  int64_t below = 0;                   // of an input whose integers are rows of a table: how many it has; 0: not known
};

struct OnnxVariable {
  std::string name;
  Type type;  // as it lies in the store
  bool trainable = true;
  std::vector<std::string> nodes = {};  // names of those that read it
};

// Copies are handles to the same. Used by one thread at a time.
class OnnxModel {
 public:
  const std::string& path() const;
  int64_t ir_version() const;
  const std::string& producer() const;
  const std::map<std::string, int64_t>& opsets() const;      // by domain; "": ONNX's own
  std::vector<std::pair<std::string, int64_t>> ops() const;  // how often each is there, in the order of names

  // Those that Tenon does not know, with OnnxOptions::take_unknown: "Frobnicate (opset 18)", and how often.
  std::vector<std::pair<std::string, int64_t>> unknown_ops() const;

  const std::vector<OnnxValue>& inputs() const;  // without those of OnnxOptions::values
  const std::vector<OnnxValue>& outputs() const;
  const std::vector<OnnxVariable>& variables() const;
  // Those in whose name, or in that of a node that reads them, the regular expression is found; of a new head, too.
  Result<std::vector<OnnxVariable>> variables_found_by(const std::string& expression) const;
  // What an example has, without axis 0, which counts the rows. Throws Error that names the input whose dimensions are
  // not all known; OnnxOptions::dims gives them.
  std::vector<FeatureSpec> features() const;

  // Builds it in the graph of the features; others than its inputs are passed over. Throws Error that names the node.
  Outputs operator()(const Features& features) const;
  // The result of its last dense layer, or where none stands there the first output, without the softmax or sigmoid
  // behind it. With replace_head the new layer's.
  Tensor logits(const Features& features) const;

  // Whether a dense layer stands before the first output, in whose place replace_head puts another.
  bool has_head() const;

  // The input whose numbers the last call needed and had not, "" if none: to be given in OnnxOptions::values.
  const std::string& wanted() const;
  // The same model with these options.
  Result<OnnxModel> with(OnnxOptions options) const;
  const OnnxOptions& options() const;

  struct Impl;  // of the library's own use
  explicit OnnxModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// Reads and checks the file. What there is no rule for is one error that lists all such nodes.
Result<OnnxModel> import_onnx(const std::string& path, OnnxOptions options = {});

// Copies the file so that the copy needs no other: data that lie in other files are inside it, or, where the message
// would be larger than protobuf's 2 GiB, beside it, in TO.data, TO.data-1, .. . Each file appears whole or not at all,
// the model's last.
Status copy_onnx(const std::string& path, const std::string& to);
// Whether two files are the same model, wherever their data lie.
Result<bool> is_same_onnx(const std::string& a, const std::string& b);

// A tensor in a file of its own, as input_0.pb of ONNX's test cases, and its name there.
struct OnnxTensor {
  std::string name;
  Array value;
};
Result<OnnxTensor> read_onnx_tensor(const std::string& path);

}  // namespace tenon
