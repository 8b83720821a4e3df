#include "base/strings.h"
#include "tenon/input.h"

namespace tenon {

Dataset Dataset::from_arrays(Arrays features, InputOptions options) {
  std::vector<MemoryFeature> all;
  for (auto& [name, array] : features) {
    if (array.shape().rank() < 1)
      throw Error(invalid("from_arrays: feature '", name, "' is ", array.type().str(), ", expected an example a row"));
    if (array.dim(0) == 0) throw Error(invalid("from_arrays: feature '", name, "' has no examples"));
    const Type example{array.dtype(), Shape(array.shape().dims().subspan(1))};
    all.push_back({{name, example}, std::move(array).take_bytes()});
  }
  return from_memory(std::move(all), std::move(options)).take();
}

}  // namespace tenon
