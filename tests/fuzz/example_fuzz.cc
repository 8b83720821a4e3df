// tf.train.Example: whatever parses can be read in every way, alike.
#include <cstdlib>
#include <string>
#include <vector>

#include "tenon/example.h"

using namespace tenon;

static void read_all(const Feature& feature) {
  const size_t size = feature.size();
  const size_t last = size == 0 ? 0 : size - 1;
  if (feature.kind() == Feature::Kind::kInt64) {
    std::vector<int64_t> values(size);
    feature.copy(values.data());
    if (size > 0 && feature.int64(last) != values[last]) std::abort();
  } else if (feature.kind() == Feature::Kind::kFloat) {
    std::vector<float> values(size);
    feature.copy(values.data());
    if (size > 0 && feature.float32(last) != values[last] && values[last] == values[last]) std::abort();
  } else if (feature.kind() == Feature::Kind::kBytes) {
    std::vector<std::string_view> values(size);
    feature.copy(values.data());
    if (size > 0 && feature.bytes(last) != values[last]) std::abort();
  } else if (size != 0) {
    std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Example example;
  const Status status = example.parse({reinterpret_cast<const char*>(data), size});
  if (!status.ok() && !example.features().empty()) std::abort();
  for (const Example::Named& named : example.features()) {
    read_all(named.feature);
    if (example.find(named.name) == nullptr) std::abort();
  }
  (void)example.int64("a");
  (void)example.bytes("a");
  return 0;
}
