// First values of variables, with Keras's names, defaults and formulas.
//
// An initializer is plain data: the trainer fills a variable from it once, with random numbers keyed by
// (seed, crc32c of the variable's name), so that a variable's first value depends on neither the order
// in which layers are made nor the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenon/types.h"

namespace tenon {

// First values that lie elsewhere, as in a model's file: read when the variable is made, and never copied before.
// Thread safe.
class InitialValues {
 public:
  virtual ~InitialValues() = default;
  // Row-major, in the dtype of `type`. REQUIRED: `out` has the size of the type.
  virtual Status read(const Type& type, std::span<std::byte> out) const = 0;
};

struct Initializer {
  enum class Kind : uint8_t {
    kConstant,         // a
    kUniform,          // [a, b)
    kNormal,           // mean a, standard deviation b
    kTruncatedNormal,  // mean a, generator's deviation b, redrawn beyond 2 b
    kOrthogonal,       // gain a
    kValues,           // values, row-major
    kRead,             // what `source` reads
  };
  Kind kind = Kind::kConstant;
  double a = 0;
  double b = 0;
  std::vector<float> values;
  std::shared_ptr<const InitialValues> source = {};
};

Initializer zeros();
Initializer ones();
Initializer constant_initializer(double value = 0);
// The numbers themselves, row-major; their count must be the variable's.
Initializer values_initializer(std::vector<float> values);
// Throws Error where there is no source.
Initializer read_initializer(std::shared_ptr<const InitialValues> source);
Initializer random_uniform(double low = -0.05, double high = 0.05);
Initializer random_normal(double mean = 0, double stddev = 0.05);
Initializer truncated_normal(double mean = 0, double stddev = 0.05);
Initializer orthogonal(double gain = 1);
// gain on the diagonal of a matrix, 0 elsewhere. Throws Error for another rank.
Initializer identity_initializer(const Shape& matrix, double gain);
Initializer identity_initializer(const Shape& matrix);  // of gain 1

// VarianceScaling: variance scale / fan. fan_in and fan_out of a kernel whose last two axes are
// (in, out) are those times the product of the axes before them.
enum class FanMode { kFanIn, kFanOut, kFanAvg };
enum class Distribution { kUniform, kTruncatedNormal, kUntruncatedNormal };
Initializer variance_scaling(double scale, FanMode mode, Distribution distribution, const Shape& kernel);
Initializer glorot_uniform(const Shape& kernel);
Initializer glorot_normal(const Shape& kernel);
Initializer he_uniform(const Shape& kernel);
Initializer he_normal(const Shape& kernel);
Initializer lecun_uniform(const Shape& kernel);
Initializer lecun_normal(const Shape& kernel);

}  // namespace tenon
