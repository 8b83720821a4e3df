// Gradients: against the reference's, and those of the backend against central differences of the loss in f64.
#include <algorithm>
#include <cmath>

#include "conformance/host/lowering.h"
#include "conformance/suites/values/cases.h"

namespace tenon::conformance {
namespace {

using reference::Tensor;
using Tensors = std::vector<Tensor>;

constexpr int kDirections = 3;
constexpr double kStep = 1e-5;

// splitmix64, in [-1, 1).
double uniform(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

double loss_at(const Case& c, const Tensors& inputs) {
  Tensors results;
  const std::string wrong = reference::evaluate_graph(*c.forward.graph(), inputs, reference::Rounding::kExact, results);
  if (!wrong.empty()) fail("the reference cannot evaluate " + wrong);
  return results.at(0).f.at(0);
}

// The inputs moved by `step` along a direction.
Tensors along(Tensors inputs, const Tensors& direction, double step) {
  for (size_t k = 0; k < direction.size(); ++k)
    for (size_t e = 0; e < direction[k].f.size(); ++e) inputs[k].f[e] += step * direction[k].f[e];
  return inputs;
}

// How far a derivative along a direction may be from the difference: what the gradient's elements may err by, the
// difference's own error, and, where inputs are narrow, nothing more, since the loss is exact.
void check_direction(const Case& c, const Tensors& inputs, const Tensors& gradient, const Expected& expected,
                     uint64_t seed) {
  Tensors direction;
  double derivative = 0, tolerance = 0, size = 0;
  for (size_t k = 0; k < gradient.size(); ++k) {
    direction.push_back(inputs.at(k));
    for (size_t e = 0; e < gradient[k].f.size(); ++e) {
      const double d = direction[k].f[e] = uniform(seed);
      derivative += d * gradient[k].f[e];
      tolerance += std::fabs(d) * expected.tolerances[k].f[e];
      size += std::fabs(d * gradient[k].f[e]);
    }
  }
  const double above = loss_at(c, along(inputs, direction, kStep)),
               below = loss_at(c, along(inputs, direction, -kStep));
  const double difference = (above - below) / (2 * kStep);
  // The difference's own error: its cut is of order step^2, and the losses are rounded to 2^-53 of themselves.
  tolerance += 1e-6 * (1 + size) + std::fabs(above) * 0x1p-50 / kStep;
  if (std::fabs(derivative - difference) <= tolerance) return;
  const auto text = [](double x) {
    char b[32];
    std::snprintf(b, sizeof b, "%.9g", x);
    return std::string(b);
  };
  fail("along a random direction the gradient is " + text(derivative) + ", central differences of the loss give " +
       text(difference) + ", expected within " + text(tolerance));
}

void check_gradient(Subject& subject, const Case& c) {
  const plugin::FlatGraph graph = lowered_for(subject, subject.device(), c);
  const Tensors inputs = inputs_of(c, subject.seed());
  const Expected expected = expect_of(c, inputs);
  check_graph(subject, *graph.graph(), inputs, expected);
  const Tensors gradient = run_graph(subject, *graph.graph(), inputs);
  for (int k = 0; k < kDirections; ++k) check_direction(c, inputs, gradient, expected, static_cast<uint64_t>(k) + 1);
}

}  // namespace

void add_gradient_tests(Tests& tests) {
  for (const Case* c : cases_of(Case::kGradient)) {
    const bool primitive = reference::is_primitive(c->op);
    tests.push_back(test_of("gradient", *c, primitive ? 2 : 3, primitive && is_plain(*c->lowered.graph()),
                            [c](Subject& s) { check_gradient(s, *c); }));
  }
}

}  // namespace tenon::conformance
