#include "model/labels.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "output.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

size_t label_feature(const std::vector<FeatureSpec>& specs) {
  const Type one{DType::kI32, {}};
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const FeatureSpec& s) { return s.name == "label" && s.type == one; });
  if (found == specs.end())
    throw Error(Status(Code::kUnsupported, "--labels: the data have no class for each example"));
  return static_cast<size_t>(found - specs.begin());
}

}  // namespace

std::map<int64_t, int> read_labels(const Dataset& data, int64_t examples) {
  const std::vector<FeatureSpec>& specs = data.specs();
  const size_t label = label_feature(specs);
  constexpr size_t kSlots = 2;
  std::vector<std::vector<std::byte>> memory;
  std::vector<BatchSlot> slots(kSlots);
  for (BatchSlot& slot : slots)
    for (const FeatureSpec& spec : specs) {
      memory.emplace_back(static_cast<size_t>(spec.batch_type(data.options().batch_size).bytes()));
      slot.features.push_back(memory.back().data());
    }
  const std::unique_ptr<InputPipeline> pipeline = InputPipeline::create(data, process_pool(), slots).take();
  std::map<int64_t, int> out;
  for (;;) {
    const Batch batch = pipeline->next().take();
    if (batch.end() || (examples > 0 && std::ssize(out) >= examples)) return out;
    const auto* labels = static_cast<const int32_t*>(slots[static_cast<size_t>(batch.slot)].features[label]);
    for (int64_t row = 0; row < batch.rows; ++row) out[pipeline->position(batch, row)] = labels[row];
    pipeline->release(batch.slot);
  }
}

}  // namespace tenon::runner
