// The table of models.
#include "models/models.h"

#include "models/find_by_name.h"
#include "models/transformer_layers.h"

namespace tenon::models {
namespace {

ExampleInfo images_of(int64_t size, int64_t channels, int64_t classes) {
  return {"images", {{"height", size}, {"width", size}, {"channels", channels}, {"num_classes", classes}}};
}
ExampleInfo gray_28(const Params&) { return images_of(28, 1, 10); }
ExampleInfo image_or_vector(const Params& params) {
  const auto input = params.get<int64_t>("input", 0), output = params.get<int64_t>("output", 0);
  ExampleInfo example = gray_28(params);
  if (output > 0) example.numbers["num_classes"] = output;
  if (input > 0) example = {"vectors", {{"length", input}, {"num_classes", example.numbers["num_classes"]}}};
  return example;
}
ExampleInfo photo_299(const Params&) { return images_of(299, 3, 5); }
ExampleInfo resnet_image(const Params& params) {
  return params.get<std::string>("depth") == "20" ? images_of(32, 3, 10) : images_of(224, 3, 1000);
}
ExampleInfo sentence_pairs(const Params&) {
  return {"pairs", {{"max_length", 64}, {"max_target_length", 0}, {"vocab_size", 33708}}};
}
Status check_transformer(const Params& params) { return check_sizes(transformer_sizes(params)); }
ExampleInfo questions(const Params&) {
  return {"answers", {{"max_length", 384}, {"doc_stride", 128}, {"vocab_size", 8192}}};
}

ExampleInfo rows_of_a_table(const Params&) {
  return {"table", {{"num_numbers", 8}, {"num_categories", 4}, {"num_places", 40}, {"num_classes", 2}}};
}
ExampleInfo stretches_of_text(const Params&) { return {"text", {{"max_length", 256}, {"vocab_size", 32768}}}; }

std::vector<ModelInfo> make_models() {
  const Augmentation shift_and_flip{4, true, 0, 1, 1};
  return {
      {
          .name = "mlp",
          .description = "multilayer perceptron: hidden layers with ReLU, one logit a class; images or vectors",
          .model = mlp,
          .example = image_or_vector,
          .optimizer = "adam",
          .learning_rate = 0.001,
          .schedule = "constant",
          .train_batch_size = 128,
          .train_steps = 2000,
          .augmentation = Augmentation::none(),
          .flags = {{"hidden", std::string("128"), "sizes of the hidden layers, separated by commas"},
                    {"layers", int64_t{0}, "hidden layers of --nodes each; 0: as --hidden says", 0, 10000},
                    {"nodes", int64_t{0}, "size of each of the --layers", 0, 1 << 20},
                    {"input", int64_t{0}, "numbers in an example that is a vector; 0: it is an image", 0, 1 << 24},
                    {"output", int64_t{0}, "classes; 0: as num_classes says", 0, 1 << 24},
                    {"dropout", 0.0, "rate after each hidden layer", 0, 0.999}},
      },
      {
          .name = "fashion",
          .description = "3x3 convolutions of 32 and 64 filters, each with max-pool, dropout, dense",
          .model = fashion,
          .example = gray_28,
          .optimizer = "adam",
          .learning_rate = 0.003,
          .schedule = "cosine",
          .train_batch_size = 128,
          .train_steps = 2000,
          .augmentation = Augmentation::none(),
          .flags = {{"dropout", 0.4, "rate before the last layer", 0, 0.999},
                    {"padding", std::string("same"), "of the convolutions", 0, 0, {"same", "valid"}}},
      },
      {
          .name = "flowers",
          .description = "the reference CNN for 299x299 photos: two 5x5 convolutions, dense 300, dropout",
          .model = flowers,
          .example = photo_299,
          .optimizer = "adam",
          .learning_rate = 0.001,  // the reference's 0.01 stays at the majority class
          .schedule = "constant",
          .epsilon = 1e-8,  // of TensorFlow 1's AdamOptimizer, which trained it
          .train_batch_size = 256,
          .train_steps = 100,
          .augmentation = Augmentation(),
          .flags = {{"ksize1", int64_t{5}, "kernel of the first convolution", 1, 299},
                    {"ksize2", int64_t{5}, "kernel of the second convolution", 1, 299},
                    {"nfil1", int64_t{10}, "filters of the first convolution", 1, 1 << 16},
                    {"nfil2", int64_t{20}, "filters of the second convolution", 1, 1 << 16},
                    {"dprob", 0.25, "dropout rate after the dense layer", 0, 0.999},
                    {"batch_norm", false, "batch normalisation after both dense layers"}},
      },
      {
          .name = "resnet",
          .description = "residual network, version 1: depth 20 for 32x32, 18 and 50 for 224x224",
          .model = resnet,
          .example = resnet_image,
          .optimizer = "momentum",
          .learning_rate = 0.1,
          .schedule = "cosine",
          .train_batch_size = 128,
          .train_steps = 10000,
          .augmentation = shift_and_flip,
          .flags = {{"depth", std::string("20"), "layers", 0, 0, {"20", "18", "50"}},
                    {"l2", 0.0, "penalty on the convolutions' kernels: l2 * sum of squares", 0, 1}},
      },
      {
          .name = "table",
          .description = "multilayer perceptron on the rows of a table: numbers, and vectors of categories",
          .model = table,
          .example = rows_of_a_table,
          .optimizer = "adam",
          .learning_rate = 0.001,
          .schedule = "cosine",
          .train_batch_size = 128,
          .train_steps = 2000,
          .augmentation = Augmentation::none(),
          .flags = {{"hidden", std::string("64,64"), "sizes of the hidden layers, separated by commas"},
                    {"embedding_size", int64_t{8}, "numbers in the vector of each value of a category", 1, 1 << 16},
                    {"dropout", 0.0, "rate after each hidden layer", 0, 0.999}},
      },
      {
          .name = "transformer",
          .description = "TensorFlow's Transformer, which translates: 6 layers on each side",
          .model = transformer,
          .example = sentence_pairs,
          .optimizer = "adam",
          .learning_rate = 2.0,  // times 1 / sqrt(hidden)
          .schedule = "rsqrt",
          .warmup_steps = 16000,
          .train_batch_size = 32,
          .train_steps = 100000,
          .augmentation = Augmentation::none(),
          .flags = {{"param_set", std::string("base"), "hidden sizes and heads", 0, 0, {"tiny", "base", "big"}},
                    {"hidden_size", int64_t{0}, "0: of param_set", 0, 65536},
                    {"num_heads", int64_t{0}, "0: of param_set; divides the hidden size", 0, 1024},
                    {"filter_size", int64_t{0}, "of the feed-forward's hidden layer; 0: of param_set", 0, 1 << 20},
                    {"num_hidden_layers", int64_t{6}, "on each side", 1, 1000},
                    {"dropout", 0.1, "rate everywhere", 0, 0.999},
                    {"label_smoothing", 0.1, "share of the probability that is asked for of all other tokens", 0,
                     0.999},
                    {"beta_2", 0.997, "of Adam and its kin: decay of the mean square of gradients", 0, 0.999999},
                    {"epsilon", 1e-9, "of Adam and its kin: what is added to the root of that mean", 0, 1}},
          .check = check_transformer,
      },
      {
          .name = "reader",
          .description = "the Transformer's encoder, which finds the answer to a question in a text",
          .model = reader,
          .example = questions,
          .optimizer = "adam",
          .learning_rate = 1.0,  // times 1 / sqrt(hidden)
          .schedule = "rsqrt",
          .warmup_steps = 1000,
          .train_batch_size = 32,
          .train_steps = 20000,
          .augmentation = Augmentation::none(),
          .flags = {{"param_set", std::string("base"), "hidden sizes and heads", 0, 0, {"tiny", "base", "big"}},
                    {"hidden_size", int64_t{0}, "0: of param_set", 0, 65536},
                    {"num_heads", int64_t{0}, "0: of param_set; divides the hidden size", 0, 1024},
                    {"filter_size", int64_t{0}, "of the feed-forward's hidden layer; 0: of param_set", 0, 1 << 20},
                    {"num_hidden_layers", int64_t{6}, "of the encoder", 1, 1000},
                    {"dropout", 0.1, "rate everywhere", 0, 0.999},
                    {"beta_2", 0.997, "of Adam and its kin: decay of the mean square of gradients", 0, 0.999999},
                    {"epsilon", 1e-9, "of Adam and its kin: what is added to the root of that mean", 0, 1}},
          .check = check_transformer,
      },
      {
          .name = "gpt",
          .description = "GPT-2, a language model: continues text",
          .model = gpt,
          .example = stretches_of_text,
          .optimizer = "adamw",
          .learning_rate = 6e-4,
          .schedule = "cosine",
          .warmup_steps = 200,
          .train_batch_size = 16,
          .train_steps = 20000,
          .augmentation = Augmentation::none(),
          .flags = {{"param_set",
                     std::string("small"),
                     "layers, heads and hidden sizes of GPT-2",
                     0,
                     0,
                     {"tiny", "small", "medium", "large", "xl"}},
                    {"dropout", 0.1, "rate everywhere", 0, 0.999},
                    {"beta_2", 0.95, "of Adam and its kin: decay of the mean square of gradients", 0, 0.999999}},
      },
  };
}

}  // namespace

std::span<const ModelInfo> all_models() {
  static const auto* models = new std::vector<ModelInfo>(make_models());
  return *models;
}
const ModelInfo* find_model(std::string_view name) {
  return is_onnx_file(name) ? &onnx_model(std::string(name)) : find_in(all_models(), catalogue(), name);
}

}  // namespace tenon::models
