// Training and evaluation in turn.
#include <climits>

#include "train/estimator_impl.h"
#include "train/estimator_run.h"
#include "train/export/exports.h"

namespace tenon {

Result<TrainAndEvaluateResult> train_and_evaluate(Estimator& estimator, const TrainSpec& train, const EvalSpec& eval) {
  TENON_TRY(Estimator::Impl::check(train, eval));
  std::optional<InterruptWatch> watch;
  estimator.impl_->watch_signals(watch);
  TrainAndEvaluateResult result;
  TENON_ASSIGN(int64_t step, estimator.global_step());
  const int64_t between = train.steps_between_evals;
  const int64_t epochs = step < train.max_steps ? (train.max_steps - step - 1) / between + 1 : 1;
  Estimator::Run run(*estimator.impl_, train.hooks, static_cast<int>(std::min<int64_t>(epochs, INT_MAX)), eval.name);
  const auto failed = [&](const Status& why) { return run.failed(why); };
  Estimator::Exports exports(*estimator.impl_, eval);
  TENON_TRY(exports.prepare());
  do {
    const int64_t target =
        step < train.max_steps - std::min(between, train.max_steps) ? step + between : train.max_steps;
    TENON_ASSIGN(result.train, estimator.train({.input = train.input, .max_steps = target}, run));
    if (run.diverged()) return result;
    Result<EvalResult> evaluated = estimator.evaluate({.input = eval.input,
                                                       .steps = eval.steps,
                                                       .examples = eval.examples,
                                                       .drop_remainder = eval.drop_remainder,
                                                       .name = eval.name,
                                                       .hooks = eval.hooks});
    if (!evaluated.ok()) return failed(estimator.with_cause(evaluated.status(), train.input));
    result.eval = evaluated.take();
    if (const Status status = run.evaluated(result.eval); !status.ok()) return failed(status);
    step = result.train.global_step;
    const bool last = run.stopped() || step < target || step >= train.max_steps;
    if (const Status status = exports.after_evaluation(result.eval, last); !status.ok()) return failed(status);
    if (last) break;
  } while (true);
  if (const Status status = run.end_training(); !status.ok()) return failed(status);
  TENON_TRY(estimator.save_changes());
  return result;
}

}  // namespace tenon
