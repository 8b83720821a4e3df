#include "model/for_outputs.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {
namespace {

// To which output each of the given belongs. Those without a name stand in order; one alone is for all.
template <class T>
std::vector<std::vector<T>> dealt(const std::vector<std::pair<std::string, T>>& given,
                                  const std::vector<std::string>& outputs, const char* what) {
  std::vector<std::vector<T>> out(outputs.size());
  const bool in_order = std::all_of(given.begin(), given.end(), [](const auto& entry) { return entry.first.empty(); });
  if (in_order && given.size() > 1 && given.size() != outputs.size())
    fail("compile: ", what, " has ", given.size(), " entries, and the model ",
         outputs.size() == 1 ? std::string("one output") : cat(outputs.size(), " outputs"));
  for (size_t i = 0; i < given.size(); ++i) {
    if (in_order && given.size() == 1) {
      for (auto& of_output : out) of_output.push_back(given[0].second);
      continue;
    }
    const auto at = in_order ? outputs.begin() + static_cast<std::ptrdiff_t>(i)
                             : std::find(outputs.begin(), outputs.end(), given[i].first);
    if (at == outputs.end())
      fail("compile: ", what, " names the output '", given[i].first, "'; the model has ",
           outputs == std::vector<std::string>{""} ? "one, which has no name" : join(outputs));
    out[static_cast<size_t>(at - outputs.begin())].push_back(given[i].second);
  }
  return out;
}

template <class T>
std::vector<std::optional<T>> one_each(const ForOutputs<T>& given, const std::vector<std::string>& outputs,
                                       const char* what) {
  std::vector<std::optional<T>> out;
  for (const std::vector<T>& of_output : dealt(given.all(), outputs, what)) {
    if (of_output.size() > 1) fail("compile: ", what, " names an output of the model twice");
    out.push_back(of_output.empty() ? std::nullopt : std::optional<T>(of_output[0]));
  }
  return out;
}

}  // namespace

std::vector<std::string> output_names(const Model& model, size_t outputs) {
  std::vector<std::string> names = model.output_names();
  names.resize(outputs);
  for (size_t i = 0; i < outputs; ++i)
    if (names[i].empty() && outputs > 1) names[i] = cat("output_", i + 1);
  for (size_t i = 0; i < outputs; ++i) {  // a layer that gives two outputs
    const std::string base = names[i];
    const auto before = names.begin() + static_cast<std::ptrdiff_t>(i);
    for (int n = 1; std::find(names.begin(), before, names[i]) != before; ++n) names[i] = cat(base, "_", n);
  }
  return names;
}

std::vector<std::optional<Loss>> for_outputs(const ForOutputs<Loss>& given, const std::vector<std::string>& outputs,
                                             const char* what) {
  return one_each(given, outputs, what);
}

std::vector<std::optional<double>> for_outputs(const ForOutputs<double>& given, const std::vector<std::string>& outputs,
                                               const char* what) {
  return one_each(given, outputs, what);
}

std::vector<std::vector<Metric>> for_outputs(const MetricList& given, const std::vector<std::string>& outputs,
                                             const char* what) {
  std::vector<std::vector<Metric>> out(outputs.size());
  const auto& all = given.all();
  if (outputs.size() > 1 && all.size() == 1 && all[0].first.empty()) {  // in their order
    const std::vector<Metric>& metrics = all[0].second;
    if (!metrics.empty() && metrics.size() != outputs.size())
      fail("compile: ", what, " has ", metrics.size(), metrics.size() == 1 ? " entry" : " entries", ", and the model ",
           outputs.size(), " outputs; expected one each, or those of each output by its name");
    for (size_t i = 0; i < metrics.size(); ++i) out[i] = {metrics[i]};
    return out;
  }
  const auto found = dealt(all, outputs, what);
  for (size_t i = 0; i < outputs.size(); ++i)
    for (const auto& list : found[i]) out[i].insert(out[i].end(), list.begin(), list.end());
  return out;
}

}  // namespace tenon
