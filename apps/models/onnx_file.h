// What models of ONNX files share, whatever they take.
#pragma once

#include <memory>
#include <string>

#include "models/models.h"
#include "tenon/onnx.h"

namespace tenon::models {

// The model as the parameters freeze, replace_head and dim say. Throws where one of them has no effect on it.
OnnxModel tuned(const OnnxModel& model, const Params& params);
std::vector<ModelFlag> onnx_flags();
// What every such model is trained with, unless flags say otherwise. The model, its examples and further flags are the caller's.
ModelInfo onnx_info(const std::string& path);
BenchCase onnx_bench_case(const std::string& path);
// Classes of the file's model as it is.
int64_t onnx_classes(const OnnxModel& model);

// Random numbers of an input: whole ones below this, 0: between -1 and 1.
int64_t numbers_below(const OnnxValue& input);
// Scores [n,classes] of the first output, whatever other axes of one the file gives. Throws Error where they are none.
Tensor class_scores(const OnnxModel& model, const Features& features);
// What the file says is no reason against that. An error says why the runner has no data for the file.
Status expect_scores(const OnnxModel& model);
// A model that there are no data for: of its inputs as they are, with a plain loss, the mean of squares of its outputs.
ModelInfo plain_info(const std::string& path, const OnnxModel& model, Status no_data);
BenchCase plain_case(const std::string& path, const OnnxModel& model, const Status& no_data);
// Inputs as the file has them. The names are the model's.
std::vector<BenchFeature> inputs_of(const OnnxModel& model);
// The file's outputs.
EstimatorSpec predicted(const OnnxModel& model, const Features& features);
// make_optimizer(), with learning_rate_multiplier of names of nodes, too.
Optimizer optimizer_of(const OnnxModel& model, const Params& params);

// The line that says what a file has, and what the runner's data are for.
Status no_data_for(const OnnxModel& model, const std::string& found);

// A model that takes ids of tokens, and maybe which of them count, which part each is of, and its place: i64 or i32[n,length].
struct TokenInput {
  enum class Task : uint8_t { kClasses, kSpan, kNextToken };
  std::string ids, mask, segments, places;  // names of inputs; "": there is none
  int64_t length = 0;      // of the ids; where the file leaves it open, what is usual and it has places for
  std::string open;        // the dimension of that length, where the file leaves it open by a name
  int64_t vocabulary = 0;  // rows of the table of ids; 0: not known
  Task task = Task::kClasses;
};
// Whether all its inputs are whole numbers, so that it is a model of tokens.
bool takes_tokens(const OnnxModel& model);
// An error where there are inputs, or outputs, that the runner has no data for.
Result<TokenInput> token_input(const OnnxModel& model);
ModelInfo token_info(const std::string& path, const OnnxModel& model, const TokenInput& input);
BenchCase token_case(const std::string& path, const OnnxModel& model, const TokenInput& input);

}  // namespace tenon::models
