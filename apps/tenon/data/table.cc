// Rows of a table: records as `tenon convert table` writes them, with "numbers", "categories" and "label". An example is these; a kind of
// column that the table has not is absent.
#include <algorithm>

#include "data/info_file.h"
#include "data/model_data.h"
#include "output.h"
#include "tenon/example.h"
#include "tenon/text_file.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

Status wrong_values(const char* name, size_t expected, const Feature* found) {
  return Status(Code::kInvalid,
                format("%s: expected %zu values, found %zu", name, expected, found ? found->size() : 0));
}

class TableData : public ModelData {
 public:
  // The model directory first, which the data must fit, then the data, then the model.
  explicit TableData(const DataContext& c) : skip_corrupt_(c.flags.get_or("skip_corrupt", false)) {
    const std::string dir = c.flags.get_or("data_dir", std::string());
    const InfoFile info(dir);
    const bool said = info.text("kind") == "table";
    if (!dir.empty() && !said && !c.flags.get_or("synthetic", false))
      throw UsageError{"--data_dir: '" + dir + "' has no records of a table; `tenon convert table` makes them"};
    const auto number = [&](const char* name) {
      if (said) return info.number(name, 0);
      const bool has = c.record && c.record->numbers.contains(name);
      return has ? c.record->numbers.at(name) : c.number(name);
    };
    numbers_ = number("num_numbers"), categories_ = number("num_categories"), places_ = number("num_places");
    if (const std::string path = file_in(dir, "labels.txt"); !path.empty()) labels_ = read_class_names(path).take();
    const bool remembered = c.record && c.record->numbers.contains("num_classes");
    classes_ = !labels_.empty() ? static_cast<int64_t>(labels_.size())
               : remembered     ? c.record->numbers.at("num_classes")
                                : c.number("num_classes");
    if (labels_.empty() && c.record) labels_ = c.record->labels;
    mark_ = said ? info.text("mark") : c.record ? c.record->vocabulary : "";
    if (said && c.record && !c.record->vocabulary.empty() && c.record->vocabulary != mark_)
      throw UsageError{dir + "/info.json has other columns than those that " + c.record->path +
                       " remembers; `tenon convert table --like` makes records of the same"};
    if (numbers_ + categories_ < 1 || (categories_ > 0 && places_ < 1) || classes_ < 2)
      throw UsageError{dir + "/info.json: expected columns and two classes, found none"};
  }

  std::vector<FeatureSpec> features() const override {
    std::vector<FeatureSpec> out;
    if (numbers_ > 0) out.push_back({"numbers", {DType::kF32, {numbers_}}});
    if (categories_ > 0) out.push_back({"categories", {DType::kI32, {categories_}}});
    out.push_back({"label", {DType::kI32, {}}});
    return out;
  }
  std::map<std::string, int64_t> numbers() const override {
    return {
        {"num_numbers", numbers_}, {"num_categories", categories_}, {"num_places", places_}, {"num_classes", classes_}};
  }
  std::string text() const override {
    return format("rows of %ld numbers and %ld categories, %ld classes", static_cast<long>(numbers_),
                  static_cast<long>(categories_), static_cast<long>(classes_));
  }
  const std::vector<std::string>& labels() const override { return labels_; }
  std::string vocabulary() const override { return mark_; }

  ExampleFn random_example() const override {
    return [n = numbers_, c = categories_, places = static_cast<int>(places_), classes = static_cast<int>(classes_)](
               int64_t i, const Sample& sample, Slots& out) -> Status {
      SampleRandom random(sample.seed, 1, static_cast<uint64_t>(i));
      size_t at = 0;
      if (n > 0)
        for (float& x : out.get<float>(at++)) x = random.uniform(-1, 1);
      if (c > 0)
        for (int32_t& x : out.get<int32_t>(at++)) x = random.below(places);
      out.get<int32_t>(at)[0] = random.below(classes);
      return {};
    };
  }
  Dataset records(InputOptions how) const override {
    how.skip_corrupt = skip_corrupt_;
    const MapFn map = [n = numbers_, c = categories_, places = places_, classes = classes_](
                          std::string_view record, const Sample&, Slots& out) -> Status {
      thread_local Example example;
      TENON_TRY(example.parse(record));
      size_t at = 0;
      if (n > 0) TENON_TRY(copy_numbers(example, out.get<float>(at++)));
      if (c > 0) TENON_TRY(copy_places(example, places, out.get<int32_t>(at++)));
      TENON_ASSIGN(const int64_t label, example.int64("label"));
      if (label < 0 || label >= classes)
        return Status(Code::kInvalid, format("label: %ld, expected 0 to %ld", static_cast<long>(label),
                                             static_cast<long>(classes - 1)));
      out.get<int32_t>(at)[0] = static_cast<int32_t>(label);
      return {};
    };
    return Dataset::from_records(how, features(), map, &process_pool()).take();
  }
  Dataset files(const std::vector<std::string>&, InputOptions) const override {
    throw UsageError{"this model takes rows of a table, which images are not"};
  }

 private:
  static Status copy_numbers(const Example& example, std::span<float> out) {
    const Feature* found = example.find("numbers");
    if (!found || found->kind() != Feature::Kind::kFloat || found->size() != out.size())
      return wrong_values("numbers", out.size(), found);
    found->copy(out.data());
    return {};
  }
  static Status copy_places(const Example& example, int64_t places, std::span<int32_t> out) {
    const Feature* found = example.find("categories");
    if (!found || found->kind() != Feature::Kind::kInt64 || found->size() != out.size())
      return wrong_values("categories", out.size(), found);
    thread_local std::vector<int64_t> values;
    values.resize(out.size());
    found->copy(values.data());
    for (size_t i = 0; i < out.size(); ++i) {
      if (values[i] < 0 || values[i] >= places)
        return Status(Code::kInvalid, format("categories: place %ld, expected 0 to %ld", static_cast<long>(values[i]),
                                             static_cast<long>(places - 1)));
      out[i] = static_cast<int32_t>(values[i]);
    }
    return {};
  }

  int64_t numbers_, categories_, places_, classes_;
  std::vector<std::string> labels_;
  std::string mark_;
  bool skip_corrupt_;
};

}  // namespace

const DataKind kTable{
    .name = "table",
    .what = "rows of a table",
    .shape_flags = [](Flags&) {},
    .train_flags = [](Flags&) {},
    .open = [](const DataContext& c) -> std::unique_ptr<ModelData> { return std::make_unique<TableData>(c); },
};

}  // namespace tenon::runner
