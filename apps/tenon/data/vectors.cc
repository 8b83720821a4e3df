// Vectors of numbers with one-hot labels, which are made up: what `tenon preflight` and benchmarks ask about.
#include <algorithm>

#include "data/model_data.h"
#include "output.h"

namespace tenon::runner {
namespace {

class VectorData : public ModelData {
 public:
  explicit VectorData(const DataContext& c) : length_(c.number("length")) {
    for (const char* name : {"height", "width", "channels", "transpose_input", "cache", "cache_file"})
      if (c.flags.has(name) && c.flags.given(name)) throw UsageError{format("--%s is for images; this model takes vectors", name)};
    classes_ = c.chosen("num_classes", c.number("num_classes"));
  }

  std::vector<FeatureSpec> features() const override {
    return {{"image", {DType::kF32, {length_}}}, {"label", {DType::kF32, {classes_}}}};
  }
  std::map<std::string, int64_t> numbers() const override { return {{"length", length_}, {"num_classes", classes_}}; }
  std::string text() const override {
    return format("vectors of %ld and %ld classes", static_cast<long>(length_), static_cast<long>(classes_));
  }

  ExampleFn random_example() const override {
    return [classes = static_cast<int>(classes_)](int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      for (float& x : out.get<float>(0)) x = random.uniform(-1, 1);
      const int label = random.below(classes);
      const std::span<float> row = out.get<float>(1);
      std::fill(row.begin(), row.end(), 0.0f);
      row[static_cast<size_t>(label)] = 1;
      return {};
    };
  }
  Dataset records(InputOptions) const override {
    throw UsageError{"--input is for vectors, which records of images are not; --synthetic makes them up"};
  }
  Dataset files(const std::vector<std::string>&, InputOptions) const override {
    throw UsageError{"this model takes vectors, which images are not"};
  }

 private:
  int64_t length_, classes_;
};

}  // namespace

const DataKind kVectors{
    .name = "vectors",
    .what = "vectors",
    .shape_flags = [](Flags& flags) { kImages.shape_flags(flags); },
    .train_flags = [](Flags& flags) { kImages.train_flags(flags); },
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<VectorData>(c); },
};

}  // namespace tenon::runner
