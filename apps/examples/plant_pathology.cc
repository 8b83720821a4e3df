// Which disease a leaf has, as in the contest Plant Pathology 2020: from JPEGs on disk to pictures of what was learnt. DIR/train.csv
// has a column image_id and one for each class, of which one is 1; images are DIR/images/ID.jpg (or .png). share/plant_pathology.sh makes
// such data. LOG_DIR gets learning curves and predictions.csv, which `tenon plot` draws.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "examples/example_program.h"
#include "tenon/class_balance.h"
#include "tenon/element_maps.h"
#include "tenon/image_maps.h"
#include "tenon/layer_classes.h"
#include "tenon/predictions.h"

using namespace tenon;

struct Leaves {
  std::vector<std::string> classes, paths;
  std::vector<int32_t> labels;
  Dataset files() const { return Dataset::from_files(paths, labels); }
};

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(Status(Code::kInvalid, file + ": " + why));
}

Leaves read_table(const std::string& directory) {
  const std::string file = directory + "/train.csv";
  CsvOptions options{.types = {{"image_id", DType::kU8}}};
  Leaves leaves;
  for (const Element& first : Dataset::from_csv({file}, options).take(1))
    for (const auto& [column, value] : first)
      if (options.types.emplace(column, DType::kBool).second) leaves.classes.push_back(column);
  for (const Element& row : Dataset::from_csv({file}, options)) {
    const std::string id(text_of(row.at("image_id")));
    int32_t label = 0, ones = 0;
    for (size_t c = 0; c < leaves.classes.size(); ++c)
      if (row.at(leaves.classes[c]).item() != 0) label = static_cast<int32_t>(c), ++ones;
    if (ones != 1) refuse(file, "image_id '" + id + "' is of " + std::to_string(ones) + " classes, expected one");
    const std::string image = directory + "/images/" + id;
    leaves.paths.push_back(std::filesystem::exists(image + ".png") ? image + ".png" : image + ".jpg");
    leaves.labels.push_back(label);
  }
  if (leaves.paths.empty()) refuse(file, "expected rows of images, found none");
  return leaves;
}

template <class Places>
Leaves picked(const Leaves& all, const Places& places) {
  Leaves out{all.classes, {}, {}};
  for (const auto i : places) {
    out.paths.push_back(all.paths[static_cast<size_t>(i)]);
    out.labels.push_back(all.labels[static_cast<size_t>(i)]);
  }
  return out;
}

// Those whose images can be read.
Leaves without_bad(const Leaves& all, const std::string& directory) {
  const Dataset numbered = Dataset::zip({all.files(), Dataset::range(0, std::ssize(all.paths))});
  const std::vector<int32_t> good = labels_of(numbered.map(read_image()).ignore_errors(), "x");
  if (good.empty()) refuse(directory, "none of " + std::to_string(all.paths.size()) + " images can be read");
  size_t first = 0;
  while (first < good.size() && good[first] == static_cast<int32_t>(first)) ++first;
  if (first < all.paths.size())
    std::fprintf(stderr, "%s: passed over %zu of %zu images, which cannot be read, the first %s\n", directory.c_str(),
                 all.paths.size() - good.size(), all.paths.size(), all.paths[first].c_str());
  return picked(all, good);
}

// Classes with one image cannot be trained on and held out.
void note_single_images(const Leaves& leaves, const examples::Flags& flags) {
  std::string names;
  for (size_t c = 0; c < leaves.classes.size(); ++c) {
    if (std::ranges::count(leaves.labels, static_cast<int32_t>(c)) != 1) continue;
    if (!flags.is_set("keep_single_images"))
      refuse(flags["data_dir"], "class '" + leaves.classes[c] +
                                    "' has one image, expected two or more (--keep_single_images trains on it)");
    names += (names.empty() ? "" : ", ") + leaves.classes[c];
  }
  if (!names.empty())
    std::fprintf(stderr, "%s: none is held out of classes with one image: %s\n", flags["data_dir"].c_str(),
                 names.c_str());
}

Symbol norm(const Symbol& x) { return BatchNormalization({.momentum = 0.9})(x); }

Symbol conv_norm(const Symbol& x, int64_t filters, int64_t kernel = 1, int64_t strides = 1) {
  return norm(
      Conv2D({.filters = filters, .kernel = kernel, .strides = strides, .padding = same, .use_bias = false})(x));
}

struct Stage {
  int64_t filters, expand, kernel, strides;
  double blocks;
};

Symbol block(const Symbol& x, int64_t before, int64_t filters, int64_t strides, const Stage& s) {
  const int64_t wide = before * s.expand;
  Symbol y = s.expand == 1 ? x : silu(conv_norm(x, wide));
  y = silu(norm(DepthwiseConv2D({.kernel = s.kernel, .strides = strides, .padding = same, .use_bias = false})(y)));
  const Symbol all = Conv2D({.filters = before / 4, .activation = silu})(GlobalAveragePooling2D(true)(y));
  y = conv_norm(y * Conv2D({.filters = wide, .activation = sigmoid})(all), filters);
  return strides == 1 && before == filters ? x + y : y;
}

// EfficientNet-B0, or less or more of it (Tan and Le 2019), without its random depth.
Model efficient_net(int64_t size, int64_t classes, double width, double depth) {
  const auto scaled = [&](double filters) { return std::max<int64_t>(8, std::llround(filters * width / 8) * 8); };
  const Symbol image = Input({size, size, 3});
  int64_t before = scaled(32);
  Symbol x = silu(conv_norm(image, before, 3, 2));
  for (const Stage& s : {Stage{16, 1, 3, 1, 1}, Stage{24, 6, 3, 2, 2}, Stage{40, 6, 5, 2, 2}, Stage{80, 6, 3, 2, 3},
                         Stage{112, 6, 5, 1, 3}, Stage{192, 6, 5, 2, 4}, Stage{320, 6, 3, 1, 1}})
    for (int64_t i = 0, filters = scaled(s.filters); i < std::ceil(s.blocks * depth); ++i, before = filters)
      x = block(x, before, filters, i == 0 ? s.strides : 1, s);
  x = Dropout(0.2)(GlobalAveragePooling2D()(silu(conv_norm(x, scaled(1280)))));
  return Model({image}, {Dense({.units = classes, .activation = "softmax"})(x)});
}

examples::Figures train(const examples::Flags& flags) {
  const int64_t size = flags.whole("image_size", 4096), larger = size * 9 / 8;
  Leaves leaves = read_table(flags["data_dir"]);
  if (flags.is_set("skip_bad_images")) leaves = without_bad(leaves, flags["data_dir"]);
  note_single_images(leaves, flags);
  const SplitIndices split = stratified_split(leaves.labels, 0.2, flags.seed, SingleExamples::kTrain);
  const Leaves learnt = picked(leaves, split.train), held = picked(leaves, split.held_out);

  const Strategy strategy = flags.strategy();
  const int64_t replicas = strategy.num_replicas_in_sync(), batch = flags.whole("batch_size", 65536) * replicas;
  const int64_t classes = std::ssize(leaves.classes), examples = std::ssize(learnt.paths);
  const auto decoded = [&](const Leaves& of) {
    return of.files()
        .map(read_image(
            {.height = larger, .width = larger, .alpha = Alpha::kBlend, .scale_decode = true, .dtype = DType::kU8}))
        .map(one_hot("label", classes))
        .cache();  // before anything random
  };
  const Dataset training = decoded(learnt)
                               .shuffle(2048, {.seed = flags.seed})
                               .repeat()
                               .map(random_crop({size, size}), flags.seed)
                               .map(random_flip(), flags.seed)
                               .map(random_brightness({.factor = 0.1}), flags.seed)
                               .map(random_contrast({.factor = 0.1}), flags.seed)
                               .map(rescale(1 / 127.5, -1))
                               .batch(batch)
                               .prefetch();
  const Dataset validation =
      decoded(held).map(center_crop({size, size})).map(rescale(1 / 127.5, -1)).batch(batch).prefetch();

  Model model = efficient_net(size, classes, flags.number("width", 0.1, 10), flags.number("depth", 0.1, 10));
  model.compile({.optimizer = Adam(1e-3 * static_cast<double>(replicas)),
                 .loss = CategoricalCrossentropy(),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 32,
                 .strategy = strategy});
  EarlyStopping stop({.patience = 20, .restore_best_weights = true});
  const History h = model.fit(training, {.epochs = static_cast<int>(flags.whole("epochs", 1000000)),
                                         .verbose = flags.verbose(),
                                         .callbacks = {stop, TensorBoard({.log_dir = flags["log_dir"]})},
                                         .validation_data = validation,
                                         .class_weight = class_weights(class_counts(learnt.labels, classes)),
                                         .steps_per_epoch = (examples + batch - 1) / batch});
  const Logs best = model.evaluate(validation, {.verbose = Verbose::kSilent});
  write_predictions(flags["log_dir"] + "/predictions.csv",
                    {model.predict(validation)[0], held.labels, leaves.classes, held.paths});
  return {{"loss", best.at("loss")},
          {"accuracy", best.at("accuracy")},
          {"epochs", h.epoch.size()},
          {"best_epoch", stop.best_epoch() + 1},
          {"parameters", model.count_params()}};
}

int main(int argc, char** argv) {
  return examples::run(
      argc, argv, train,
      {.about = "Which disease a leaf has, as in the contest Plant Pathology 2020.",
       .own = {{"data_dir", "data"},
               {"log_dir", "logs"},
               {"image_size", "224"},
               {"batch_size", "128"},
               {"epochs", "100"},
               {"width", "1"},
               {"depth", "1"},
               {"keep_single_images", "false"},
               {"skip_bad_images", "false"}},
       .help = {{"data_dir", "train.csv, with image_id and a column of 0 and 1 for each class, and images/ID.jpg"},
                {"log_dir", "for learning curves and predictions.csv, which tenon plot draws"},
                {"batch_size", "of each replica"},
                {"epochs", "at most"},
                {"width", "of the network, 1: EfficientNet-B0's"},
                {"depth", "of the network, 1: EfficientNet-B0's"},
                {"keep_single_images", "train on the image of a class that has one"},
                {"skip_bad_images", "pass over and count images that cannot be read"}}});
}
