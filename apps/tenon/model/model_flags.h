// The flags of the commands that take a model: the model's own, those of training, of data, of evaluation and of devices.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "models/models.h"
#include "tenon/estimator.h"

namespace tenon::runner {

std::vector<std::string> model_names();
// For messages: all but the catalogue's, which are many.
std::string listed_models();

// The flags of the model that `words` name (none: the first model's are left out), with its defaults.
void add_model_flags(Flags& flags, const std::vector<std::string>& words);
void add_training_flags(Flags& flags, const std::vector<std::string>& words);
void add_dtype_flag(Flags& flags);     // part of them
void add_replica_flags(Flags& flags);  // part of them: of several units or processes
DType all_reduce_dtype_of(const Flags& flags);
std::string given_replica_flag(const Flags& flags);                              // one of them that was given; "": none
std::string of_one_replica(const std::string& flag, const std::string& device);  // why it does nothing there
void add_data_flags(Flags& flags, const std::vector<std::string>& words);
void add_data_dir_flags(Flags& flags, const std::vector<std::string>& words);    // part of them: data_dir and
void add_shape_flags(Flags& flags, const std::vector<std::string>& words);       // numbers of an example
void add_batch_flags(Flags& flags, const std::vector<std::string>& words);       // part of them: of a batch
void add_train_data_flags(Flags& flags, const std::vector<std::string>& words);  // of what trains
// STEM_images, or STEM_examples of a model that takes no images; the other one is the same.
void add_count_flag(Flags& flags, const std::vector<std::string>& words, const std::string& stem, const char* help);
void add_eval_flags(Flags& flags);  // of what evaluates
void add_run_flags(Flags& flags);
void add_trained_flags(Flags& flags);  // --model_dir and --checkpoint, of what uses a model that was trained
void add_device_flags(Flags& flags);   // part of them
// "Models:" and a line for each, "Applications:" and a line for each family; for --help.
std::string list_of_models(const std::vector<std::string>& words = {});  // whatever they are
std::string list_of_applications();                                      // part of them
// The value of --per_host_input_for_training.
InputPipelineConfig input_pipelines(const std::string& name);
// Whether the model says an epsilon for its optimizer.
bool has_own_epsilon(const models::ModelInfo& model);

// A file of weights is no model: throws UsageError that says what takes it.
void expect_no_weights(const std::string& word);

}  // namespace tenon::runner
