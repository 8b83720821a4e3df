#include "base/text.h"
#include "tenon/input.h"

namespace tenon {

Dataset Dataset::from_arrays(const Arrays& features, InputOptions options) {
  std::vector<MemoryFeature> all;
  for (const auto& [name, array] : features) {
    if (array.shape().rank() < 1)
      throw Error(invalid("from_arrays: feature '", name, "' is ", array.type().str(), ", expected an example a row"));
    const auto bytes = array.bytes();
    all.push_back({{name, {array.dtype(), Shape(array.shape().dims().subspan(1))}}, {bytes.begin(), bytes.end()}});
  }
  return from_memory(std::move(all), std::move(options)).take();
}

}  // namespace tenon
