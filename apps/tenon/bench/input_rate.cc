#include "bench/input_rate.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "tenon/input.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

// Slots in the host's memory, as many as a training has.
struct Memory {
  Memory(const Dataset& data, int64_t batch_bytes) {
    for (int i = 0; i < 4; ++i) {
      BatchSlot& slot = slots.emplace_back();
      for (const FeatureSpec& spec : data.specs()) {
        const int64_t most = batch_bytes > 0 ? batch_bytes : spec.batch_type(data.options().batch_size).bytes();
        bytes.emplace_back(static_cast<size_t>(most));
        slot.features.push_back(bytes.back().data());
      }
    }
  }
  std::vector<std::vector<std::byte>> bytes;
  std::vector<BatchSlot> slots;
};

}  // namespace

Rate rate_of(const Dataset& data, double seconds, int64_t batch_bytes, InputWork::Seconds* work) {
  Memory memory(data, batch_bytes);
  auto pipeline = InputPipeline::create(data, process_pool(), memory.slots).take();
  const auto take = [&] {
    const Batch batch = pipeline->next().take();
    pipeline->release(batch.slot);
    return batch.rows;
  };
  for (size_t i = 0; i < memory.slots.size() + 2; ++i) take();  // every slot once
  std::optional<InputWork> counted;
  if (work) counted.emplace();
  Meter meter;
  while (meter.seconds() < seconds) meter.add(take());
  if (work) {
    const InputWork::Seconds all = counted->seconds();
    const auto examples = static_cast<double>(meter.examples());
    *work = {all.read / examples, all.decode / examples, all.change / examples};
  }
  return meter.rate();
}

}  // namespace tenon::runner
