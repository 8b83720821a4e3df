// Images with a class each: records as `tenon convert images` and `idx` write them, or JPEG and PNG files.
#include "data/image_reading.h"
#include "data/info_file.h"
#include "data/model_data.h"
#include "output.h"
#include "tenon/text_file.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

class ImageData : public ModelData {
 public:
  // Flags first, then what the data say of themselves, then the model.
  explicit ImageData(const DataContext& c)
      : skip_corrupt_(c.flags.get_or("skip_corrupt", false)),
        transpose_(c.flags.get_or("transpose_input", false)),
        flat_(c.example.flat),
        augmentation_(c.flags.get_or("augment", true) ? c.model.augmentation : Augmentation::none()),
        records_(image_reading(c)) {
    records_.image_feature = c.flags.get_or("image_feature", records_.image_feature);
    records_.format_feature = c.flags.get_or("format_feature", records_.format_feature);
    records_.label_feature = c.flags.get_or("label_feature", records_.label_feature);
    records_.label_offset = c.flags.get_or("label_offset", records_.label_offset);
    const std::string dir = c.flags.get_or("data_dir", std::string());
    const InfoFile info(dir);
    if (const std::string path = file_in(dir, "labels.txt"); !path.empty()) labels_ = read_class_names(path).take();
    const auto size_of = [&](const char* name) {
      const int64_t said = info.number(name, c.number(name));
      return static_cast<int>(c.chosen(name, said < 1 << 14 ? said : c.number(name)));
    };
    height_ = size_of("height"), width_ = size_of("width"), channels_ = size_of("channels");
    if (records_.alpha == Alpha::kKeep) channels_ = 4;
    int64_t classes = labels_.empty() ? c.number("num_classes") : static_cast<int64_t>(labels_.size());
    if (const int64_t output = c.params.get<int64_t>("output", 0); output > 0) classes = output;
    classes_ = static_cast<int>(c.chosen("num_classes", classes));
    if (labels_.empty() && c.record) labels_ = c.record->labels;
    if (labels_.size() != static_cast<size_t>(classes_)) labels_.clear();
  }

  std::vector<FeatureSpec> features() const override {
    return {{"image", {DType::kF32, {height_, width_, channels_}}, transpose_}, {"label", {DType::kI32, {}}}};
  }
  std::map<std::string, int64_t> numbers() const override {
    return {{"height", height_}, {"width", width_}, {"channels", channels_}, {"num_classes", classes_}};
  }
  std::map<std::string, std::string> words() const override { return reading_words(records_); }
  std::string text() const override {
    if (flat_) return format("vectors of %d and %d classes", height_ * width_ * channels_, classes_);
    return format("images of %dx%dx%d and %d classes", height_, width_, channels_, classes_);
  }
  const std::vector<std::string>& labels() const override { return labels_; }

  std::optional<ExportedImages> exported_images() const override {
    return ExportedImages{.height = height_,
                          .width = width_,
                          .channels = channels_,
                          .resize = records_.resize,
                          .alpha = records_.alpha,
                          .background = records_.background};
  }

  ExampleFn random_example() const override {
    return [classes = classes_](int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      for (float& x : out.get<float>(0)) x = random.uniform(-1, 1);
      out.get<int32_t>(1)[0] = random.below(classes);
      return {};
    };
  }
  Dataset records(InputOptions how) const override { return Dataset::images(shaped(how), &process_pool()).take(); }
  Dataset files(const std::vector<std::string>& paths, InputOptions how) const override {
    return Dataset::image_files(paths, shaped(how)).take();
  }

 private:
  InputOptions shaped(InputOptions o) const {
    if (o.training) o.cache = records_.cache;
    o.resize = records_.resize;
    o.alpha = records_.alpha;
    o.background = records_.background;
    o.scale_decode = records_.scale_decode;
    o.deep_pixels = records_.deep_pixels;
    o.height = height_;
    o.width = width_;
    o.channels = channels_;
    o.num_classes = classes_;
    o.skip_corrupt = skip_corrupt_;
    o.transpose = transpose_;
    o.augmentation = augmentation_;
    o.image_feature = records_.image_feature;
    o.format_feature = records_.format_feature;
    o.label_feature = records_.label_feature;
    o.label_offset = records_.label_offset;
    return o;
  }

  int height_ = 0, width_ = 0, channels_ = 0, classes_ = 0;
  std::vector<std::string> labels_;
  bool skip_corrupt_, transpose_, flat_;
  Augmentation augmentation_;
  InputOptions records_;  // how they are read, and names of their features
};

}  // namespace

const DataKind kImages{
    .name = "images",
    .what = "images",
    .shape_flags =
        [](Flags& flags) {
          flags.integer("height", 0, "of the images; 0: as the data or the model say", 0, 1 << 14);
          flags.integer("width", 0, "of the images", 0, 1 << 14);
          flags.integer("channels", 0, "3 or 1; 4 with --alpha keep", 0, 4);
          flags.integer("num_classes", 0, "0: as labels.txt or the model say", 0, 1 << 24);
          flags.boolean(
              "transpose_input", false,
              "hand batches of images over as [height, width, channels, batch], as TPUs keep them; the numbers stay");
        },
    .train_flags =
        [](Flags& flags) {
          flags.boolean("augment", true, "augment training images as the model asks; --noaugment does not");
          add_image_cache_flags(flags);
        },
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<ImageData>(c); },
    .record_flags =
        [](Flags& flags) {
          const InputOptions d;
          flags.text("image_feature", d.image_feature, "the feature of a record that has the image");
          flags.text("format_feature", d.format_feature, "the one that says whether it is RAW, where there is one");
          flags.text("label_feature", d.label_feature, "the one that has its class");
          flags.integer("label_offset", d.label_offset, "what the first class is called in records", -1e9, 1e9);
          add_image_reading_flags(flags);
        },
};

}  // namespace tenon::runner
