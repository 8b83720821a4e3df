// Rules of weights, and what they make of names; the index that the child process gives of an HDF5 file.
#include <cstdlib>
#include <string>

#include "checkpoint/keras/hdf5_index.h"
#include "checkpoint/keras/keras_names.h"
#include "checkpoint/weight_rules.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto index = index_of(text); index && !index_of(bytes_of(*index))) std::abort();
  (void)name_of_legacy("dense", text);
  const Result<WeightRules> rules = WeightRules::parse(text, "r");
  if (!rules.ok()) {
    if (rules.status().message().size() > 4096 || rules.status().message().find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  (void)rules->taken(
      {{"layer1.0.conv1.weight", {DType::kF32, {4, 3, 2, 2}}}, {"fc.weight", {DType::kF32, {2, 3}}}, {"n", {}}});
  return 0;
}
