// The kinds of data that models are trained on. A model names one of them (models/models.h); the runner's subcommands work on
// the interface, so that a kind brings its flags, its examples, its files and what model.json remembers of it, in one file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flags.h"
#include "model/model_record.h"
#include "models/models.h"
#include "tenon/export.h"
#include "tenon/input.h"

namespace tenon::runner {

// What becomes of a flag that says another thing than the model directory remembers.
enum class Contradiction : uint8_t { kRefuse, kOverride };

// From which a kind makes what one run needs.
struct DataContext {
  const Flags& flags;
  const models::ModelInfo& model;
  const Params& params;               // the model's, as far as its flags say them
  const models::ExampleInfo example;  // of the model with these parameters
  const ModelRecord* record;          // what the model directory remembers; nullptr: nothing
  Contradiction contradiction;

  // The flag of that name as it was given, else what the model directory remembers, else `value`. 0 is neither.
  int64_t chosen(const std::string& name, int64_t value) const;
  int64_t number(const std::string& name) const { return example.numbers.at(name); }
};

// The data of one run.
class ModelData {
 public:
  virtual ~ModelData() = default;

  // An example's features, in the order of what random_example() fills; what the model sees.
  virtual std::vector<FeatureSpec> features() const = 0;
  // What model.json remembers, and the model finds among its parameters.
  virtual std::map<std::string, int64_t> numbers() const = 0;
  // How examples are read, where that is not as usual: model.json remembers it too. By flag.
  virtual std::map<std::string, std::string> words() const { return {}; }
  // "images of 28x28x1 and 10 classes"
  virtual std::string text() const = 0;
  // Class names; empty: unknown.
  virtual const std::vector<std::string>& labels() const;
  // The mark of a text's vocabulary (data/vocabulary.h); empty: unknown.
  virtual std::string vocabulary() const { return {}; }
  // Files that the model directory needs beside model.json, written once training begins.
  virtual void remember(const std::string& /*model_dir*/) const {}
  // How files of images become its examples, where they do; none: it takes no files.
  virtual std::optional<ExportedImages> exported_images() const { return {}; }
  // What is measured at each evaluation beside the model's own metrics, of the newest checkpoint, and its step; empty: nothing.
  using Measure = std::function<std::vector<std::pair<std::string, double>>(int64_t step)>;
  virtual Measure measure(const Flags& /*flags*/, const Params& /*params*/) const { return {}; }
  // Examples in a step of training; 0: as --train_batch_size says.
  virtual int64_t train_batch() const { return 0; }
  // What the names of a data directory's files begin with, as `tenon convert` writes them.
  virtual const char* split(bool training) const { return training ? "train" : "validation"; }
  // Examples that are made up: shapes without data.
  virtual ExampleFn random_example() const = 0;
  // `how` has the files, the batch, the seed and the part; the kind adds what its examples need.
  virtual Dataset records(InputOptions how) const = 0;
  // Files that were named one by one, in order, without labels. Throws UsageError where the kind has no such files.
  virtual Dataset files(const std::vector<std::string>& paths, InputOptions how) const = 0;
};

struct DataKind {
  const char* name;
  const char* what;                   // "pairs of sentences"
  void (*shape_flags)(Flags& flags);  // numbers of an example
  void (*train_flags)(Flags& flags);  // of training alone
  std::unique_ptr<ModelData> (*open)(const DataContext& context);
  void (*batch_flags)(Flags& flags) =
      nullptr;  // of a batch that trains, beside --train_batch_size; none: there are none
  void (*record_flags)(Flags& flags) = nullptr;  // of how records are read; none: there are none
};
extern const DataKind kAnswers, kIds, kImages, kInputs, kPairs, kTable, kText, kVectors;

// REQUIRED: there is one.
const DataKind& data_kind(const std::string& name);
// That of the records in a directory, as its info.json says; nullptr where it says none.
const DataKind* kind_of_directory(const std::string& directory);

}  // namespace tenon::runner
