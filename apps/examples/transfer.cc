// What was learnt from many images of some classes helps where there are few of others: a backbone learns every other class,
// then keeps its weights under a new head, which learns the other half from a few images; then all but its first layers go on with
// smaller steps. The same network, from nothing, learns the same few. DIR has records as `tenon convert idx` writes them.
#include <cstdio>
#include <utility>

#include "examples/example_program.h"
#include "tenon/dataset.h"
#include "tenon/element_maps.h"
#include "tenon/layer_classes.h"

using namespace tenon;

// The first so many images of every other class, from the first or the second on; these classes are counted anew.
FitData read(const examples::Flags& flags, const std::string& split, int from, int64_t most) {
  const int64_t size = flags.whole("size", 1024);
  std::vector<std::string> files;
  for (const Element& file : Dataset::list_files(flags["data_dir"] + "/" + split + "-*", false))
    files.emplace_back(text_of(file.at("path")));
  const ExampleFeature image{.dtype = DType::kU8, .shape = {size, size, 1}, .name = "image/encoded"};
  const ExampleFeature label{.dtype = DType::kI32, .name = "image/class/label", .offset = 1};
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
  for (const Element& e : Dataset::from_records(files).map(parse_example({{"image", image}, {"label", label}}))) {
    const auto number = static_cast<int32_t>(e.at("label").item());
    if (number % 2 != from || std::ssize(labels) == most) continue;
    labels.push_back(number / 2);
    for (const uint8_t pixel : e.at("image").to<uint8_t>()) pixels.push_back(pixel);
  }
  return FitData(Array(pixels, {std::ssize(labels), size, size, 1}), Array(labels));
}

Model backbone(int64_t size, const std::string& name) {
  const Symbol image = Input({size, size, 1});
  Symbol x = Rescaling(1 / 127.5, -1)(image);
  for (const int64_t filters : {16, 32, 64}) {
    x = Conv2D({.filters = filters, .kernel = 3, .strides = 2, .padding = same, .use_bias = false})(x);
    x = relu(BatchNormalization({.momentum = 0.9})(x));
  }
  return Model({image}, {GlobalAveragePooling2D()(x)}, name);
}

void compile(Model& model, const Strategy& strategy, double rate, double base_rate = 1) {
  model.compile({.optimizer = Adam({.learning_rate = rate, .learning_rate_multipliers = {{"^backbone/", base_rate}}}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .strategy = strategy});
}

examples::Figures train(const examples::Flags& flags) {
  const int64_t size = flags.whole("size", 1024);
  const int epochs = static_cast<int>(flags.whole("epochs", 1000));
  const int64_t half = flags.whole("classes", 1000) / 2;
  const Strategy strategy = flags.strategy();
  const FitData many = read(flags, "train", 0, 1 << 24);
  const FitData few = read(flags, "train", 1, flags.whole("examples", 1 << 24)),
                test = read(flags, "validation", 1, 2000);
  FitOptions fit{.batch_size = 16, .epochs = epochs, .verbose = Verbose::kSilent, .validation_data = test};
  fit.validation_batch_size = 512;

  const Symbol image = Input({size, size, 1}, DType::kF32, "image");
  Model base = backbone(size, "backbone");
  Model first({image}, {Dense(half)(base(image))}, "first");
  compile(first, strategy, 2e-3);
  first.fit(many, {.batch_size = 64, .epochs = 6, .verbose = flags.verbose()});

  base.set_trainable(false);
  Model second({image}, {Dense(half)(base(image, {.training = false}))}, "second");
  compile(second, strategy, 0.03);
  History tuned = second.fit(few, fit);
  const double frozen = tuned["val_accuracy"].back();

  base.set_trainable(true);
  for (int i = 0; i < 5; ++i) base.get_layer(i)->set_trainable(false);  // up to the first convolution's activation
  compile(second, strategy, 5e-3, 0.5);
  fit.initial_epoch = std::exchange(fit.epochs, 2 * epochs);
  tuned = second.fit(few, fit);

  Model nothing({image}, {Dense(half)(backbone(size, "anew")(image))}, "nothing");
  compile(nothing, strategy, 2e-3);
  fit.initial_epoch = 0;
  const History anew = nothing.fit(few, fit);
  for (size_t i = 0; !flags.json && i < tuned.epoch.size(); ++i)
    std::printf("epoch %d  tuned %.4f  from nothing %.4f\n", tuned.epoch[i] + 1, tuned["val_accuracy"][i],
                anew["val_accuracy"][static_cast<size_t>(tuned.epoch[i])]);
  return {{"frozen", frozen}, {"tuned", tuned["val_accuracy"].back()}, {"from_nothing", anew["val_accuracy"].back()}};
}

int main(int argc, char** argv) {
  return examples::run(
      argc, argv, train,
      {.own = {{"data_dir", "data"}, {"size", "28"}, {"classes", "10"}, {"examples", "50"}, {"epochs", "30"}},
       .help = {{"data_dir", "records as `tenon convert idx` writes them"}}});
}
