// What the models of the catalogue are made of: tests/golden/models.csv has what Keras counts.
#include "graph/object_names.h"
#include "model/model_trace.h"
#include "tenon/applications.h"
#include "unit/layer/golden.h"

namespace tenon::applications {
namespace {

struct Counts {
  int64_t parameters = 0, trainable = 0;
  size_t layers = 0;
  Shape result;
};

// Counts in a trace: no weight is drawn.
Counts counts_of(Model model, int64_t size) {
  Counts out;
  const ModelTrace trace = trace_model(model, {{DType::kF32, {size, size, 3}}},
                                       {.objects = std::make_shared<ObjectNames>(), .what = "the test"});
  for (const auto& [name, weight] : trace.weights) {
    out.parameters += weight.type.shape.elements();
    if (weight.trainable) out.trainable += weight.type.shape.elements();
  }
  out.layers = model.layers().size();
  std::vector<int64_t> last = trace.layers.at(trace.layers.size() - 2).shapes.at(0);  // the last is the model
  last.erase(last.begin());
  out.result = Shape(last);
  return out;
}

void expect_counts(const golden::Row& row, const std::string& which, const Counts& counts) {
  EXPECT_EQ(std::to_string(counts.parameters), row.at("params_" + which));
  EXPECT_EQ(std::to_string(counts.trainable), row.at("trainable_" + which));
  EXPECT_EQ(std::to_string(counts.layers), row.at("layers_" + which));
}

TEST(Applications, HaveKerasParametersAndLayers) {
  for (const golden::Row& row : golden::rows("models.csv")) {
    SCOPED_TRACE(row.at("model"));
    const Application* application = find(row.at("model"));
    ASSERT_TRUE(application);
    EXPECT_EQ(application->name, row.at("model"));
    const int64_t size = application->size;
    const std::vector<int64_t> input = golden::integers(row.at("input"));
    if (input.size() == 3) {
      EXPECT_EQ(input, (std::vector<int64_t>{size, size, 3}));
    }
    Model whole = application->build({});
    const Counts with = counts_of(whole, size);
    expect_counts(row, "top", with);
    EXPECT_EQ(with.result, Shape({1000}));
    EXPECT_EQ(whole.name(), row.at("model_name"));
    const Counts without = counts_of(application->build({.include_top = false, .input_shape = {size, size, 3}}), size);
    expect_counts(row, "notop", without);
    EXPECT_EQ(std::to_string(without.result[2]), row.at("features"));
  }
}

}  // namespace
}  // namespace tenon::applications
