// Inputs of an ONNX file that the runner has no data for, made up: what `tenon preflight`, `inspect` and --synthetic ask about.
#include "data/model_data.h"
#include "output.h"

namespace tenon::runner {
namespace {

class MadeUpInputs : public ModelData {
 public:
  explicit MadeUpInputs(const DataContext& c) : inputs_(c.model.inputs(c.params)), no_data_(c.model.no_data) {}

  std::vector<FeatureSpec> features() const override {
    std::vector<FeatureSpec> out;
    for (const models::BenchFeature& f : inputs_)
      out.push_back({f.name, {f.below > 0 ? DType::kI32 : DType::kF32, f.example}});
    return out;
  }
  std::map<std::string, int64_t> numbers() const override { return {}; }
  std::string text() const override {
    std::string out;
    for (const FeatureSpec& f : features()) out += (out.empty() ? "" : ", ") + f.name + " " + f.type.str();
    return out;
  }
  ExampleFn random_example() const override {
    return [inputs = inputs_](int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      for (size_t f = 0; f < inputs.size(); ++f) {
        const int place = static_cast<int>(f);
        if (inputs[f].below > 0)
          for (int32_t& x : out.get<int32_t>(place)) x = random.below(inputs[f].below);
        else
          for (float& x : out.get<float>(place)) x = random.uniform(-1, 1);
      }
      return {};
    };
  }
  Dataset records(InputOptions) const override { throw Error(no_data_); }
  Dataset files(const std::vector<std::string>&, InputOptions) const override { throw Error(no_data_); }

 private:
  std::vector<models::BenchFeature> inputs_;
  Status no_data_;
};

}  // namespace

const DataKind kInputs{
    .name = "inputs",
    .what = "inputs that no data are for",
    .shape_flags = [](Flags&) {},
    .train_flags = [](Flags&) {},
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<MadeUpInputs>(c); },
};

}  // namespace tenon::runner
