#include "bench/op/bench_op_case.h"

#include "output.h"
#include "tenon/threads.h"
#include "tenon/variables.h"

namespace tenon::runner {

void Operands::take(const Shape& shape, int copies) {
  double bytes = 4.0 * copies;
  for (const int64_t d : shape) bytes *= static_cast<double>(d);
  bytes_ += bytes;
  const auto memory = static_cast<double>(process_memory());
  if (bytes_ > memory)
    throw Error(Status(Code::kOutOfMemory, format("--shapes: '%s' takes %s or more; there are %s", shape_.c_str(),
                                                  bytes_text(bytes_).c_str(), bytes_text(memory).c_str())));
}

Tensor Operands::operator()(const char* name, const Shape& shape) {
  take(shape);
  return variable(first_, name, shape, random_uniform(-1, 1), false);
}

Tensor Operands::positive(const char* name, const Shape& shape) {
  take(shape);
  return variable(first_, name, shape, random_uniform(0.5, 1), false);
}

Tensor Operands::indices(const char* name, const Shape& shape, int64_t below) {
  take(shape, 2);
  return cast(variable(first_, name, shape, random_uniform(0, static_cast<double>(below)), false), DType::kI32);
}

Tensor Operands::weights(const char* name, const Shape& shape) {
  take(shape);
  return variable(first_, name, shape, glorot_uniform(shape));
}

Shape image(const Sizes& s) { return {s[0], s[1], s[2], s[3]}; }
Shape matrix(const Sizes& s) { return {s[0], s[1]}; }

std::string wrong_rate(const Sizes& s) {
  if (s.back() < 100) return "";
  return format("a rate of %lld percent; expected less than 100", static_cast<long long>(s.back()));
}

}  // namespace tenon::runner
