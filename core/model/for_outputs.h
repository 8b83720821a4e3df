// What compile() was given for the outputs of a model, each output's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/model.h"

namespace tenon {

// "output_1", .. where a model of several outputs has no names for them; {""} of a model with one.
std::vector<std::string> output_names(const Model& model, size_t outputs);

// None for an output that nothing was given for. One alone is for all outputs. Throws Error.
std::vector<std::optional<Loss>> for_outputs(const ForOutputs<Loss>& given, const std::vector<std::string>& outputs,
                                             const char* what);
std::vector<std::optional<double>> for_outputs(const ForOutputs<double>& given, const std::vector<std::string>& outputs,
                                               const char* what);
std::vector<std::vector<Metric>> for_outputs(const MetricList& given, const std::vector<std::string>& outputs,
                                             const char* what);

}  // namespace tenon
