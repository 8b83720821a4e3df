#include "optimizer/schedule_free.h"

#include "base/number.h"
#include "optimizer/averages.h"
#include "optimizer/update.h"

namespace tenon {
namespace {

constexpr std::string_view kSteps = "ScheduleFreeAdamW", kSquares = "ScheduleFreeAdamW_1",
                           kWeights = "ScheduleFreeAdamW_2";

Tensor warmed_up(const ScheduleFreeAdamWOptions& o, Tensor rate, Tensor t) {
  return o.warmup_steps > 0 ? rate * minimum(t / static_cast<double>(o.warmup_steps), scalar_like(t, 1)) : rate;
}

}  // namespace

void check_schedule_free(const ScheduleFreeAdamWOptions& o) {
  expect_number("ScheduleFreeAdamW: beta_1", o.beta_1, 0, 1);
  expect_number("ScheduleFreeAdamW: beta_2", o.beta_2, 0, 1);
  if (o.beta_2 == 1) fail("ScheduleFreeAdamW: beta_2 is 1, expected less than 1");
  expect_number("ScheduleFreeAdamW: epsilon", o.epsilon, 0);
  expect_number("ScheduleFreeAdamW: warmup_steps", o.warmup_steps, 0);
  if (o.use_ema) fail("ScheduleFreeAdamW: use_ema is set, and it keeps an average of its own");
}

void update_schedule_free(const ScheduleFreeAdamWOptions& o, Update& u) {
  Update::Inside& in = u.inside();
  const NameScope scope(in.graph, cat(u.name(), "/update"));
  const Tensor g = u.gradient(), y = u.variable(), t = u.step() + 1;
  const Tensor first = compare(t, scalar_like(t, 1), CompareKind::kEq);
  const DType wide = y.dtype();  // f32 for variables of 16 bits, in which small steps of x and of the weights are lost
  const Tensor z = select(first, y, u.slot(kSteps));
  const Tensor x = select(first, y, in.slot(kAverage, {wide, y.shape()}, 0));
  const Tensor v = o.beta_2 * u.slot(kSquares) + (1 - o.beta_2) * square(g);
  const Tensor corrected = v / (1.0 - pow(scalar_like(t, o.beta_2), t));
  const Tensor rate = warmed_up(o, u.learning_rate(), t);
  Tensor step = g / (sqrt(corrected) + o.epsilon);
  if (in.decays && o.weight_decay > 0) step = step + o.weight_decay * y;
  const Tensor next = z - rate * step;

  const Tensor weight = square(rate), sum = in.slot(kWeights, {wide, {}}, 0) + weight;
  const Tensor some = compare(sum, scalar_like(sum, 0), CompareKind::kGt);
  const Tensor share = select(some, weight / select(some, sum, scalar_like(sum, 1)), scalar_like(sum, 0));
  const Tensor average = (1.0 - share) * x + share * next;
  u.assign(kSteps, next);
  u.assign(kSquares, v);
  u.assign(kWeights, sum);
  u.assign(kAverage, average);
  u.assign((1 - o.beta_1) * next + o.beta_1 * average);
}

}  // namespace tenon
