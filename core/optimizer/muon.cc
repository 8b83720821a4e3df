#include "optimizer/muon.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/number.h"
#include "optimizer/update.h"

namespace tenon {
namespace {

bool is_embedding(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("embedding") != std::string::npos;
}

// The polynomial a x + b x^3 + c x^5 of the singular values, some times, which brings them all near 1.
Tensor orthogonalized(const MuonOptions& o, Tensor x) {
  const DotOptions exact{.precision = MathPrecision::kHighest};
  DotOptions by_transposed = exact;
  by_transposed.tb = true;
  const bool tall = x.dim(0) > x.dim(1);
  if (tall) x = transpose(x, {1, 0});
  x = x / (sqrt(reduce_sum(square(x))) + 1e-7);
  for (int i = 0; i < o.ns_steps; ++i) {
    const Tensor a = dot(x, x, by_transposed);
    x = o.muon_a * x + dot(o.muon_b * a + o.muon_c * dot(a, a, exact), x, exact);
  }
  return tall ? transpose(x, {1, 0}) : x;
}

double step_size(const MuonOptions& o, const Shape& shape) {
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  return o.rms_rate ? *o.rms_rate * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
}

}  // namespace

void check_muon(const MuonOptions& o) {
  expect_number("Muon: momentum", o.momentum, 0, 1);
  expect_number("Muon: ns_steps", o.ns_steps, 0, 100);  // each is a node of the graph
  expect_number("Muon: adam_beta_1", o.adam_beta_1, 0, 1);
  expect_number("Muon: adam_beta_2", o.adam_beta_2, 0, 1);
  expect_number("Muon: adam_weight_decay", o.adam_weight_decay, 0);
  expect_number("Muon: adam_lr_ratio", o.adam_lr_ratio, 0);
  expect_number("Muon: rms_rate", o.rms_rate.value_or(0), 0);
  expect_number("Muon: muon_a", o.muon_a);
  expect_number("Muon: muon_b", o.muon_b);
  expect_number("Muon: muon_c", o.muon_c);
  any_found(o.exclude_layers, "", "Muon: exclude_layers");
}

bool takes_muon(const MuonOptions& o, const Update& u) {
  if (u.inside().shape().rank() != 2 || (o.exclude_embeddings && is_embedding(u.name()))) return false;
  return !any_found(o.exclude_layers, u.name(), "Muon: exclude_layers");
}

void update_by_muon(const MuonOptions& o, Update& u) {
  if (u.inside().dealt) fail_at_parts("Muon", cat("'", u.name(), "' gets a step that is orthogonal as a whole"));
  const NameScope scope(u.inside().graph, cat(u.name(), "/update"));
  const Tensor g = u.gradient(), lr = u.learning_rate(), w = u.variable();
  const Tensor m = o.momentum * u.slot("Muon") + g;
  const Tensor step = orthogonalized(o, o.nesterov ? g + o.momentum * m : m);
  const double decay = u.inside().decays ? o.weight_decay : 0;
  u.assign("Muon", m);
  u.assign((decay > 0 ? w - lr * decay * w : w) - lr * step_size(o, w.shape()) * step);
}

}  // namespace tenon
