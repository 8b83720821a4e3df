// What a model directory remembers of its model, in MODEL_DIR/model.json: `tenon train` writes it, what works on the directory
// later takes from it what its flags do not say.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/models.h"

namespace tenon::runner {

struct ModelRecord {
  std::string path;                            // of the file
  std::string model;                           // "flowers"
  std::map<std::string, Params::Value> flags;  // the model's own, and dtype_policy
  std::map<std::string, int64_t> numbers;      // of an example, as its kind of data names them
  std::vector<std::string> labels;             // class names; empty: unknown
  std::string vocabulary;                      // the mark of that of a model of text (data/vocabulary.h); empty: unknown
  std::map<std::string, std::string> reading = {};  // how examples are read, as its kind of data says it (ModelData::words)
};

// The record of a model directory, or of a checkpoint's directory; none where it has no such file. Throws Error where the file is
// damaged (which names line and column), or says what the model does not have or in another kind (which names the key).
std::optional<ModelRecord> read_model_record(const std::string& place);
// Whole or not at all; a file that says the same is left as it is. Throws Error.
void write_model_record(const std::string& model_dir, const ModelRecord& record);

}  // namespace tenon::runner
