#include "checkpoint/keras/keras_writer.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "checkpoint/keras/hdf5_file.h"
#include "checkpoint/keras/keras_names.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

KerasPlace place_of(const std::string& scope, const KerasPlaces& places) {
  if (const auto found = places.find(scope); found != places.end()) return found->second;
  if (scope.empty()) return {};
  std::string path = "layers";
  for (const std::string& part : parts_of(scope)) append(path, cat("/", part_of_name(part, "")));
  return {path, std::string(leaf_of_weight(scope))};
}

// What the objects on the way are called, by where Keras notes it.
void note_names(const std::string& scope, const std::string& path, std::map<std::string, std::string>& names) {
  const std::vector<std::string> parts = parts_of(scope);
  std::vector<std::string> ways;
  std::string way;
  for (const std::string& part : parts_of(path)) {
    append(way, way.empty() ? part : cat("/", part));
    if (!name_of_part(part).empty()) ways.push_back(way);
  }
  if (ways.size() != parts.size()) return;  // a name with a slash
  for (size_t i = 0; i < ways.size(); ++i) names.emplace(ways[i] + "/vars", parts[i]);
}

// A dataset and a group of one name, or two datasets of one, are an error of the names.
Status check_paths(const std::string& path, const std::vector<Hdf5Source>& datasets) {
  std::set<std::string_view> all;
  for (const Hdf5Source& d : datasets)
    if (!all.insert(d.dataset.path).second)
      return invalid(path, ": two weights would be '", abbreviated(d.dataset.path), "'; give their layers names");
  return {};
}

}  // namespace

Status write_keras_weights(const std::string& path, const std::vector<TensorSource>& tensors,
                           const KerasPlaces& places) {
  return within_memory("write", path, [&]() -> Status {
    std::map<std::string, std::vector<const TensorSource*>> scopes;
    for (const TensorSource& t : tensors) {
      scopes[std::string(scope_of_weight(t.name))].push_back(&t);
    }
    std::map<std::string, std::string> names;  // by group
    std::vector<Hdf5Names> groups;
    std::vector<Hdf5Source> datasets;
    for (auto& [scope, weights] : scopes) {
      const KerasPlace place = place_of(scope, places);
      const std::string group = cat(place.path, place.path.empty() ? "" : "/", "vars");
      note_names(scope, place.path, names);
      if (!place.name.empty()) names.emplace(group, place.name);
      std::stable_sort(weights.begin(), weights.end(), [](const TensorSource* a, const TensorSource* b) {
        return rank_of_weight(leaf_of_weight(a->name)) < rank_of_weight(leaf_of_weight(b->name));
      });
      std::vector<std::string> leaves;  // which Keras passes over
      for (const TensorSource* weight : weights) leaves.emplace_back(leaf_of_weight(weight->name));
      if (leaves[0] != "0") groups.push_back({group, "weight_names", std::move(leaves)});  // else they have none
      for (size_t i = 0; i < weights.size(); ++i) {
        const Type& type = weights[i]->type;
        Hdf5Dataset d{.path = cat(group, "/", i), .type = hdf5_type(type.dtype)};
        if (d.type == Hdf5Type::kOther)
          return invalid(path, ": tensor '", abbreviated(weights[i]->name), "' is ", type.str(),
                         ", which the format does not have");
        d.dims.assign(type.shape.begin(), type.shape.end());
        d.bytes = type.bytes();
        datasets.push_back({std::move(d), weights[i]->fill});
      }
    }
    TENON_TRY(check_paths(path, datasets));
    for (const auto& [group, name] : names) groups.push_back({group, "name", {name}});
    return write_hdf5(path, std::move(groups), datasets);
  });
}

}  // namespace tenon
