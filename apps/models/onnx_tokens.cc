// Models of ONNX files that take ids of tokens: scores of an example's classes, an answer's first and last token, or the next token.
#include <algorithm>

#include "models/onnx_file.h"
#include "tenon/subtokenizer.h"

namespace tenon::models {
namespace {

constexpr int64_t kUsualLength = 128, kUsualVocabulary = 32768, kLeastClasses = 2;  // where the file leaves them open

using Task = TokenInput::Task;

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

// As BERT's exports call them, Hugging Face's and TensorFlow's.
std::string* place_of(TokenInput& input, const std::string& name) {
  if (has(name, "mask")) return &input.mask;
  if (has(name, "type") || has(name, "segment")) return &input.segments;
  if (has(name, "position")) return &input.places;
  return &input.ids;
}

const OnnxValue& value_of(const OnnxModel& model, const std::string& name) {
  return *std::find_if(model.inputs().begin(), model.inputs().end(),
                       [&](const OnnxValue& v) { return v.name == name; });
}

// Rows of the table of places, as exporters write it: [1,places,width], or [places,width] and a name that says so; 0: none is found.
int64_t places_in(const OnnxModel& model, int64_t vocabulary) {
  int64_t width = 0;
  for (const OnnxVariable& v : model.variables())
    if (v.type.shape.rank() == 2 && vocabulary > 0 && v.type.shape[0] == vocabulary) width = v.type.shape[1];
  for (const OnnxVariable& v : model.variables()) {
    const Shape& shape = v.type.shape;
    if (width == 0 || shape.rank() < 2 || shape[-1] != width) continue;
    if (shape.rank() == 3 && shape[0] == 1 && shape[1] > 1) return shape[1];
    for (const char* name : {"position", "pos_emb", "wpe", "places"})
      if (shape.rank() == 2 && has(v.name, name)) return shape[0];
  }
  return 0;
}

// The length of ids, where the file says so of them or of another input, or what is usual and there are places for.
int64_t length_of(const OnnxModel& model, const TokenInput& input) {
  if (const int64_t length = value_of(model, input.ids).dims[1]; length > 0) return length;
  for (const OnnxValue& other : model.inputs())
    if (other.dims[1] > 0) return other.dims[1];
  const int64_t given = input.places.empty() ? 0 : value_of(model, input.places).below;
  const int64_t places = given > 0 ? given : places_in(model, input.vocabulary);
  return places > 0 ? std::min(places, kUsualLength) : kUsualLength;
}

Result<Task> task_of(const OnnxModel& model, const TokenInput& input) {
  const std::vector<OnnxValue>& outputs = model.outputs();
  const OnnxValue& first = outputs.at(0);
  if (!first.has_shape) return no_data_for(model, "the file does not say what output '" + first.name + "' is");
  if (first.dims.size() == 3) {
    const int64_t scores = first.dims[2];
    if (!input.segments.empty() || (scores > 0 && input.vocabulary > 0 && scores != input.vocabulary))
      return no_data_for(model, "output '" + first.name + "' has " + (scores > 0 ? std::to_string(scores) : "some") +
                                    " numbers a token, and is none of a language model");
    return Task::kNextToken;
  }
  const bool spans = outputs.size() >= 2 && has(outputs[0].name, "start") && has(outputs[1].name, "end");
  if (first.dims.size() != 2)
    return no_data_for(model, "output '" + first.name + "' has rank " + std::to_string(first.dims.size()));
  return spans ? Task::kSpan : Task::kClasses;
}

Tensor is_token(Tensor ids) { return cast(compare(ids, zeros_like(ids), CompareKind::kNe), DType::kI32); }

// 0 in the question, 1 in the text behind it.
Tensor parts_of(Tensor ids) {
  const Tensor is_end = compare(ids, full_like(ids, Subtokenizer::kEos), CompareKind::kEq);
  const Tensor ends = cumsum(cast(is_end, DType::kF32), 1, true);
  return cast(minimum(ends, full_like(ends, 1)), DType::kI32);
}

// What the file's model is called with.
Features asked(const TokenInput& input, const Features& given) {
  const char* const names[] = {"ids", "inputs", "tokens"};
  const Tensor ids = given[names[static_cast<size_t>(input.task)]];
  Features out;
  out.set(input.ids, ids);
  if (!input.mask.empty()) out.set(input.mask, input.task == Task::kClasses ? given["mask"] : is_token(ids));
  if (!input.segments.empty())
    out.set(input.segments, input.task == Task::kClasses ? given["segments"] : parts_of(ids));
  if (!input.places.empty()) out.set(input.places, iota(*ids.graph(), DType::kI32, ids.shape(), 1));
  return out;
}

Tensor rows(Tensor x, int64_t axis, int64_t from, int64_t to) {
  Ints begin(static_cast<size_t>(x.rank()), 0), end = x.shape().vec();
  begin[static_cast<size_t>(axis)] = from, end[static_cast<size_t>(axis)] = to;
  return slice(x, begin, end, Ints(begin.size(), 1));
}

// logits[n,length,vocabulary] at each token are of the one behind it; 0 is none.
EstimatorSpec next_token(Tensor logits, Tensor ids, Mode mode, const Optimizer& optimizer) {
  logits = cast(logits, DType::kF32);
  if (mode == Mode::kPredict) return {.mode = mode, .predictions = {{"logits", logits}}};
  if (ids.dim(1) < 2) throw Error(Status(Code::kInvalid, "max_length is 1: there is no token behind the first"));
  const Tensor said = rows(logits, 1, 0, ids.dim(1) - 1), next = rows(ids, 1, 1, ids.dim(1));
  EstimatorSpec spec{.mode = mode,
                     .loss = sparse_categorical_crossentropy(next, said, {.from_logits = true, .ignore_class = 0})};
  spec.eval_metrics = {{"accuracy", sparse_categorical_accuracy(next, said, cast(is_token(next), DType::kF32))}};
  if (mode == Mode::kTrain) spec.train_op = minimize(optimizer, spec.loss);
  return spec;
}

// start and end[n,length]: how likely the answer begins and ends at each token; labels[n,2].
EstimatorSpec span(Tensor start, Tensor end, const Tensor& labels, Mode mode, const Optimizer& optimizer) {
  start = cast(start, DType::kF32), end = cast(end, DType::kF32);
  EstimatorSpec spec{.mode = mode, .predictions = {{"start", start}, {"end", end}}};
  if (mode == Mode::kPredict) return spec;
  const Tensor first = reshape(rows(labels, 1, 0, 1), {labels.dim(0)}),
               last = reshape(rows(labels, 1, 1, 2), {labels.dim(0)});
  spec.loss = 0.5 * (sparse_categorical_crossentropy(first, start, {.from_logits = true}) +
                     sparse_categorical_crossentropy(last, end, {.from_logits = true}));
  spec.eval_metrics = {{"accuracy_start", accuracy(first, argmax(start))},
                       {"accuracy_end", accuracy(last, argmax(end))}};
  if (mode == Mode::kTrain) spec.train_op = minimize(optimizer, spec.loss);
  return spec;
}

// Takes inputs as the file has them.
EstimatorSpec answered(const OnnxModel& model, const TokenInput& input, const Features& given, const Tensor& labels,
                       Mode mode, const Params& params) {
  const Optimizer optimizer = optimizer_of(model, params);
  if (input.task == Task::kClasses) return classify(class_scores(model, given), labels, mode, optimizer);
  const Outputs outputs = model(given);
  if (input.task == Task::kNextToken)
    return next_token(outputs.all()[0].second.tensor, given[input.ids], mode, optimizer);
  return span(outputs.all()[0].second.tensor, outputs.all()[1].second.tensor, labels, mode, optimizer);
}

// A step on inputs as the file has them.
EstimatorSpec timed(const OnnxModel& model, const TokenInput& input, const Features& features, const Tensor& labels,
                    Mode mode, const Params& params) {
  if (mode != Mode::kPredict) return answered(model, input, features, labels, mode, params);
  return predicted(model, features);
}

// What fails may do so for a length that nobody asked for.
Error with_length(const Error& e, const TokenInput& input) {
  if (input.open.empty()) return e;
  return Error(Status(e.status().code(), e.status().message() + "; the file leaves '" + input.open +
                                             "' open, which is " + std::to_string(input.length) + " here: --dim " +
                                             input.open + "=SIZE sets it"));
}

void expect_known(const TokenInput& input, const OnnxModel& model, const Params& params) {
  const int64_t vocabulary = params.get<int64_t>("vocab_size", 0);
  if (input.vocabulary > 0 && vocabulary > input.vocabulary)
    throw Error(Status(Code::kInvalid, "ONNX file '" + model.path() + "': it knows " +
                                           std::to_string(input.vocabulary) + " tokens, and the data have " +
                                           std::to_string(vocabulary)));
  if (input.task != Task::kClasses && params.get<int64_t>("replace_head", 0) > 0)
    throw Error(Status(
        Code::kInvalid,
        "ONNX file '" + model.path() + "': replace_head is for scores of classes, and its output has some of tokens"));
}

}  // namespace

bool takes_tokens(const OnnxModel& model) {
  const std::vector<OnnxValue>& inputs = model.inputs();
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](const OnnxValue& v) {
    return is_integer(v.dtype) && v.dtype != DType::kU8;
  });
}

Result<TokenInput> token_input(const OnnxModel& model) {
  TokenInput out;
  for (const OnnxValue& input : model.inputs()) {
    if (!input.has_shape || input.dims.size() != 2)
      return no_data_for(model, "input '" + input.name + "' is " + std::string(dtype_name(input.dtype)) + " of rank " +
                                    std::to_string(input.dims.size()));
    if (is_float(input.dtype))
      return no_data_for(model, "input '" + input.name + "' is " + std::string(dtype_name(input.dtype)));
    std::string* const place = place_of(out, input.name);
    if (!place->empty()) return no_data_for(model, "'" + *place + "' and '" + input.name + "' are both inputs of ids");
    *place = input.name;
  }
  if (out.ids.empty()) return no_data_for(model, "no input is of ids");
  const OnnxValue& ids = value_of(model, out.ids);
  if (ids.dims[1] < 0) out.open = ids.dim_names[1];
  out.vocabulary = ids.below;
  out.length = length_of(model, out);
  TENON_ASSIGN(out.task, task_of(model, out));
  return out;
}

ModelInfo token_info(const std::string& path, const OnnxModel& model, const TokenInput& input) {
  ModelInfo out = onnx_info(path);
  out.model = [model, input](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    expect_known(input, model, params);
    return answered(tuned(model, params), input, asked(input, features), labels, mode, params);
  };
  out.example = [model, open = input, classes = onnx_classes(model)](const Params& params) -> ExampleInfo {
    expect_known(open, model, params);
    const TokenInput input = token_input(tuned(model, params)).take();
    std::map<std::string, int64_t> numbers{{"max_length", input.length},
                                           {"vocab_size", input.vocabulary > 0 ? input.vocabulary : kUsualVocabulary}};
    if (input.task == Task::kNextToken) return {"text", numbers};
    if (input.task == Task::kSpan) return numbers["doc_stride"] = input.length / 2, ExampleInfo{"answers", numbers};
    const int64_t head = params.get<int64_t>("replace_head", 0);
    numbers["num_classes"] = head > 0 ? head : classes > 0 ? classes : kLeastClasses;
    return {"ids", numbers};
  };
  out.optimizer = "adamw";
  out.learning_rate = 5e-5;
  out.flags = onnx_flags();
  return out;
}

BenchCase token_case(const std::string& path, const OnnxModel& model, const TokenInput& input) {
  BenchCase out = onnx_bench_case(path);
  for (const OnnxValue& value : model.inputs()) {
    const int64_t length = value.dims[1] > 0 ? value.dims[1] : input.length;
    const int64_t usual = value.name == input.ids ? kUsualVocabulary : value.name == input.places ? length : 2;
    out.features.push_back(
        {value.name.c_str(), Shape({length}), static_cast<int32_t>(value.below > 0 ? value.below : usual)});
  }
  if (input.task == Task::kClasses)
    out.features.push_back({"label", {}, static_cast<int32_t>(std::max<int64_t>(onnx_classes(model), kLeastClasses))});
  if (input.task == Task::kSpan) out.features.push_back({"label", {2}, static_cast<int32_t>(input.length)});
  if (input.task == Task::kNextToken) out.features.push_back({"label", {}, 1});  // which nobody asks for
  out.model = [model, input](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    try {
      return timed(model, input, features, labels, mode, params);
    } catch (const Error& e) {
      throw with_length(e, input);
    }
  };
  return out;
}

}  // namespace tenon::models
