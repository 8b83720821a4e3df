// Keras's tables, character for character: tests/golden/printed.txt.
#include <gtest/gtest.h>

#include <fstream>

#include "model/display/summary_table.h"
#include "tenon/layer_classes.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

// The lines below "== TITLE", up to the next one.
std::string printed_by_keras(const std::string& title) {
  std::ifstream file(std::string(TENON_GOLDEN) + "/printed.txt");
  std::string out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      inside = line == "== " + title;
    } else if (inside) {
      out += line + "\n";
    }
  }
  EXPECT_FALSE(out.empty()) << title;
  return out;
}

Sequential small() {
  return Sequential({Input({28, 28, 1}), Conv2D({.filters = 8, .kernel = 3, .activation = relu}), BatchNormalization(),
                     MaxPooling2D(), Flatten(), Dropout(0.5), Dense({.units = 10})},
                    "small");
}

// With the names that Keras's counters had come to.
Model two() {
  const Symbol x = Input({4}, DType::kF32, "input_layer_1");
  return Model({x}, {Dense({.units = 3, .name = "dense_1"})(x) + Dense({.units = 3, .name = "dense_2"})(x)}, "two");
}

std::string last_lines(const std::string& text, int count) {
  size_t at = text.size() - 1;
  for (; count > 0 && at != std::string::npos; --count) at = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  return text.substr(at + 1);
}

std::string row_with(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  if (at == std::string::npos) return "none";
  const size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(Summary, OfASequentialModelAsKerasPrintsIt) {
  EXPECT_EQ(small().summary_text(), printed_by_keras("Keras 3 summary(), in a pipe (80 columns assumed, so 76 wide)"));
}

TEST(Summary, OfABranchingModelAsKerasPrintsIt) {
  EXPECT_EQ(two().summary_text(), printed_by_keras("branching model (Dense, Dense, Add), in a pipe"));
}

TEST(Summary, SaysWhatIsTrainedAsKerasDoes) {
  EXPECT_EQ(two().summary_text({.show_trainable = true}), printed_by_keras("the same, show_trainable=True"));
}

TEST(Summary, CountsTheOptimizerOnceItIsBuiltAsKerasDoes) {
  Sequential model = small();
  model.compile(
      {.optimizer = Adam(), .loss = SparseCategoricalCrossentropy({.from_logits = true}), .strategy = Strategy("cpu")});
  EXPECT_EQ(row_with(model.summary_text(), "Optimizer"), "none");
  model.train_on_batch(Array(Type{DType::kF32, {2, 28, 28, 1}}), Array({3, 4}));
  EXPECT_EQ(last_lines(model.summary_text(), 4), printed_by_keras("the last lines once the optimizer is built (Adam)"));
}

TEST(Summary, HasTheColoursOfKerasOnATerminal) {
  SummaryTable table{.model = "small",
                     .rows = {{"conv2d", "Conv2D", {{-1, 26, 26, 8}}, 80, "-", 'Y'}},
                     .trainable = {13626, 54504},
                     .other = {16, 64}};
  std::string text = to_text(table, {.columns = 120, .colours = true});
  for (size_t at = 0; (at = text.find('\x1b', at)) != std::string::npos;) text.replace(at, 1, "<ESC>");
  const size_t bottom = text.find("└"), totals = text.find('\n', bottom) + 1;
  EXPECT_EQ(text.substr(0, bottom) + "...\n" + text.substr(totals),
            printed_by_keras("Keras 3 summary() on a terminal of 120 columns (88 wide), first rows"));
}

TEST(Summary, IsThereBeforeAModelIsCompiled) {
  Sequential model({Input({4}), Dense({.units = 2})});
  const std::string text = model.summary_text();
  EXPECT_EQ(row_with(text, "Dense"), "│ dense (Dense)                   │ (None, 2)              │            10 │");
  EXPECT_EQ(row_with(text, "Total"), " Total params: 10 (40.00 B)");
}

TEST(Summary, OfAModelWithoutInputNeedsACall) {
  Sequential model({Dense({.units = 2})});
  model.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(message_of([&] { model.summary_text(); }),
            "summary: the shapes of the model's inputs are not known yet: begin it with Input(), or call fit or "
            "predict first");
  model.predict_on_batch(Array({1.0f, 2.0f, 3.0f}, {1, 3}));
  EXPECT_EQ(row_with(model.summary_text(), "Dense"),
            "│ dense (Dense)                   │ (None, 2)              │             8 │");
}

struct Twice : LayerOf<Twice> {
  Dense inner{{.units = 3}};
  Tensor call(Tensor x) override { return inner(inner(x)); }
};

struct Own : Model {
  Twice twice;
  Dense last{{.units = 1}};
  Tensor call(Tensor x) override { return last(twice(x)); }
};

TEST(Summary, OfAModelWithACallOfItsOwnListsWhatItCalled) {
  Own model;
  model.compile({.strategy = Strategy("cpu")});
  model.predict_on_batch(Array({1.0f, 2.0f, 3.0f}, {1, 3}));
  const std::string text = model.summary_text();
  EXPECT_EQ(row_with(text, "Twice"), "│ twice (Twice)                   │ (None, 3)              │            12 │");
  EXPECT_EQ(row_with(text, "last"), "none");
  EXPECT_EQ(row_with(text, " dense (Dense)"),
            "│ dense (Dense)                   │ (None, 1)              │             4 │");
  EXPECT_EQ(row_with(text, "Total"), " Total params: 16 (64.00 B)");
}

TEST(Summary, ExpandsModelsInModels) {
  const Symbol x = Input({2});
  const Sequential inner({Dense({.units = 2}), Dense({.units = 2})}, "inner");
  Model model({x}, {Dense({.units = 1})(AnyLayer(inner)(x))}, "outer");
  const std::string flat = model.summary_text(), whole = model.summary_text({.expand_nested = true});
  EXPECT_EQ(row_with(flat, "inner"), "│ inner (Sequential)              │ (None, 2)              │            12 │");
  EXPECT_EQ(row_with(flat, "└ "), "none");
  EXPECT_EQ(row_with(whole, "   └ dense_1"),
            "│    └ dense_1 (Dense)            │ (None, 2)              │             6 │");
  EXPECT_EQ(row_with(flat, "input_layer"),
            "│ input_layer (InputLayer)        │ (None, 2)              │             0 │");
}

TEST(Summary, ASharedLayerIsOneRowWithItsConnections) {
  const Symbol a = Input({2}), b = Input({2});
  const Dense tower({.units = 1});
  const Symbol first = tower(a), second = tower(b);
  Model siamese({a, b}, {first - second});
  const std::string text = siamese.summary_text({.line_length = 108});
  EXPECT_EQ(
      row_with(text, "dense (Dense)"),
      "│ dense (Dense)                 │ (None, 1)                 │               3 │ input_layer[0][0],         │");
  EXPECT_EQ(
      row_with(text, "subtract (Subtract)"),
      "│ subtract (Subtract)           │ (None, 1)                 │               0 │ dense[0][0], dense[1][0]   │");
  EXPECT_EQ(row_with(text, "Total"), " Total params: 3 (12.00 B)");
}

TEST(Summary, CountsWhatIsFrozenAsNotTrained) {
  Dense frozen({.units = 2});
  frozen.set_trainable(false);
  Sequential model({Input({4}), frozen, Dense({.units = 1})});
  const std::string text = model.summary_text({.show_trainable = true});
  EXPECT_EQ(row_with(text, "Non-trainable"), " Non-trainable params: 10 (40.00 B)");
  EXPECT_NE(row_with(text, " dense (Dense)").find("│   N   │"), std::string::npos) << text;
}

TEST(SequentialInput, HasItsPlaceAtTheBeginning) {
  EXPECT_EQ(message_of([] {
              Sequential({Dense({.units = 1}), Input({2})});
            }),
            "Input() has its place at the beginning of a model");
  const Symbol x = Input({2});
  EXPECT_EQ(message_of([&] { Sequential({x + x}); }),
            "a symbol that a layer gives is no layer; expected a layer or Input()");
}

TEST(SequentialInput, SaysWhatTheModelIsGiven) {
  Sequential model({Input({2}), Dense({.units = 1})});
  model.compile({.strategy = Strategy("cpu")});
  EXPECT_EQ(model.weights(), (Names{"dense/kernel", "dense/bias"}));
  EXPECT_EQ(model.strategy().read("dense/kernel").shape(), (Shape{2, 1}));
  EXPECT_EQ(message_of([&] {
              model.predict_on_batch(Array({1.0f, 2.0f, 3.0f}, {1, 3}));
            }),
            "model 'sequential': input 0 is f32[1,3], expected a batch of f32[2]");
}

}  // namespace
}  // namespace tenon
