// Evaluation and prediction.
#include <cmath>
#include <cstdio>

#include "tenon/processes.h"
#include "train/estimator_impl.h"
#include "train/estimator_log.h"
#include "train/inference_run.h"

namespace tenon {
namespace {

// Sums over batches: the loss weighted by rows, and those of the metrics.
class Totals {
 public:
  explicit Totals(EvalMetrics metrics) : metrics_(std::move(metrics)), sums_(metrics_.size()) {}

  void add(const Results& batches) {
    const double rows = static_cast<double>(batches.examples()) / static_cast<double>(batches.steps());
    for (float v : batches["loss"].to<float>()) loss_ += static_cast<double>(v) * rows;
    rows_ += batches.examples();
    for (size_t i = 0; i < metrics_.size(); ++i) {
      const auto& [name, metric] = metrics_[i];
      sums_[i].resize(metric.sums.size());
      for (size_t k = 0; k < metric.sums.size(); ++k)
        add_rows(batches[sum_name(name, k)].to<float>(), static_cast<size_t>(batches.steps()), sums_[i][k]);
    }
  }

  EvalResult result(int64_t step) const {
    EvalResult out{{"loss", rows_ ? loss_ / static_cast<double>(rows_) : 0},
                   {"global_step", static_cast<double>(step)}};
    for (size_t i = 0; i < metrics_.size(); ++i) out[metrics_[i].first] = metrics_[i].second.value(sums_[i]);
    out.examples = rows_;
    return out;
  }
  // The same without the step, which is no result to callbacks.
  Logs logs() const {
    const EvalResult all = result(0);
    Logs out(all.begin(), all.end());
    out.erase("global_step");
    return out;
  }
  int64_t rows() const { return rows_; }

 private:
  static void add_rows(const std::vector<float>& values, size_t rows, std::vector<double>& sum) {
    sum.resize(values.size() / rows);
    for (size_t i = 0; i < values.size(); ++i) sum[i % sum.size()] += values[i];
  }

  EvalMetrics metrics_;
  std::vector<MetricOp::Sums> sums_;  // nothing before the first batch
  double loss_ = 0;
  int64_t rows_ = 0;
};

Status expect_finite_loss(const EvalResult& result) {
  const double loss = result.at("loss");
  if (std::isfinite(loss)) return {};
  return invalid("evaluation: the loss is ", std::isnan(loss) ? "nan" : "infinite", " at global step ",
                 static_cast<int64_t>(result.at("global_step")), ", expected a finite number");
}

// Those rows of a call whose place is among the first `most` examples.
Status emit_rows(const Results& call, const BatchFeed& feed, int64_t most, const PredictRow& row) {
  std::map<std::string, std::vector<float>> values;
  for (const auto& [result, value] : call.all()) {
    const std::string name = prediction_name(result);
    if (value.shape().rank() == 0) return invalid("prediction '", name, "' is a scalar, expected one value a row");
    values[name] = value.to<float>();
  }
  for (int64_t i = 0; i < call.examples() && feed.position(i) < most; ++i) {
    std::map<std::string, std::span<const float>> one;
    for (const auto& [name, all] : values) {
      const size_t n = all.size() / static_cast<size_t>(call.examples());
      one[name] = std::span<const float>(all).subspan(static_cast<size_t>(i) * n, n);
    }
    TENON_TRY(row(feed.position(i), one));
  }
  return {};
}

}  // namespace

// A pass over the input with the states of one checkpoint; a batch with fewer rows runs in programs of its size.
class Estimator::Inference {
 public:
  Inference(Impl& m, StepInput data, Mode mode, Remainder remainder)
      : m_(m), data_(std::move(data)), mode_(mode), remainder_(remainder) {}

  Status prepare(const std::string& checkpoint, int64_t most) {
    TENON_TRY(expect_same_in_processes("the data", data_.data_text()));
    TENON_ASSIGN(function_,
                 m_.function(data_.specs(), data_.batch_size, mode_, static_cast<int>(most), true, remainder_));
    TENON_ASSIGN(at_, m_.provide(function_->executable().graph, checkpoint));
    if (!m_.on_tpu()) m_.log("Running local_init_op.");
    TENON_TRY(function_->bind(*at_.states));
    if (!m_.on_tpu()) m_.log("Done running local_init_op.");
    const auto start = Clock::now();
    TENON_TRY(function_->open(data_, {}, [this] { return m_.interrupted(); }));
    if (m_.on_tpu())
      m_.before_feed = cat("Initialized dataset iterators in ", static_cast<int64_t>(seconds_since(start)), " seconds");
    return {};
  }

  // Up to n batches, or the smaller one that comes next. No steps: the input has ended.
  Result<Results> run(uint32_t n) {
    TENON_TRY(m_.interruption());
    const Result<StepCall> taken = function_->take(n);
    if (!taken.ok()) return behind_steps(taken.status(), batches_);
    const StepCall& call = *taken;
    if (!m_.before_feed.empty()) m_.log(std::exchange(m_.before_feed, {}));
    TENON_TRY(feed().status());
    if (feed().stopped()) return m_.interrupted_here();
    left_out_ += call.left_out;
    TENON_TRY(function_->show_watched(call, std::exchange(batches_, batches_ + call.steps)));
    return function_->results(call);
  }

  // It ends behind so many examples more.
  void limit(int64_t examples) { function_->feed()->limit(examples); }

  bool ended() const { return feed().ended(); }
  const BatchFeed& feed() const { return *function_->feed(); }
  int64_t step() const { return at_.step; }
  const InferenceStates& states() const { return at_; }
  // Whether there may be another batch: callbacks are told before it is taken.
  bool more() const { return feed().stopped() || function_->feed()->more(); }
  // Why no batch came.
  Status nothing_evaluated() const {
    const std::string passed_over = m_.passed_over(feed().pipeline());
    if (left_out_ == 0) return invalid("evaluation: the input has no batch of ", data_.batch_size, passed_over);
    return invalid("evaluation: the input has fewer than ", m_.device->replicas(), " examples, one for each unit",
                   passed_over);
  }
  void report() const {
    m_.report_corrupt(feed().pipeline());
    if (left_out_ > 0)
      m_.info(cat("left out ", left_out_, left_out_ == 1 ? " example" : " examples", ": the ", m_.device->replicas(),
                  " units of ", m_.device->name(), " take a multiple of their number"));
  }

 private:
  Impl& m_;
  StepInput data_;
  Mode mode_;
  Remainder remainder_;
  InferenceStates at_;
  std::unique_ptr<TracedFunction> function_;
  int64_t left_out_ = 0, batches_ = 0;
};

Result<EvalResult> Estimator::evaluate(const EvalOptions& options) {
  const Impl::Listening listening(*impl_);
  const auto start = Clock::now();
  Result<EvalResult> result = evaluate_on_device(options);
  const Impl& m = *impl_;
  if (!m.estimator_log()) return result;
  const Status closed = impl_->close();
  if (!result.ok()) return result;
  TENON_TRY(closed);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.5f", seconds_since(start));
  m.log(cat("Inference Time : ", seconds, "s"));
  m.log(cat("Finished evaluation at ", estimator_log::now('-')));
  m.log(estimator_log::saving(*result));
  if (!m.dirty && !m.loaded.empty())
    m.log(cat("Saving 'checkpoint_path' summary for global step ", m.step, ": ", m.loaded));
  m.log("evaluation_loop marked as finished");
  return result;
}

Result<EvalResult> Estimator::evaluate_on_device(const EvalOptions& options) {
  Impl& m = *impl_;
  m.bad_loss = false;
  TENON_TRY(Impl::check(options));
  TENON_ASSIGN(const StepInput input, m.step_input(options.input, Mode::kEval));
  const int64_t batch = input.batch_size, most = batches_per_call(m.config);
  Inference pass(m, input, Mode::kEval, options.drop_remainder ? Remainder::kDrop : Remainder::kWhole);
  TENON_TRY(pass.prepare(options.checkpoint, most));
  if (options.examples > 0) pass.limit(options.examples);
  const int64_t known = options.steps > 0 ? options.steps : options.examples / batch + (options.examples % batch != 0);
  InferenceRun run(m, options.hooks, "evaluation");
  run.begin(pass.states(), known > 0 ? known : input.datasets[0].batches());
  TENON_TRY(run.call([&](Callback& c) { c.on_test_begin(run); }));
  Totals totals(m.metrics);
  CallLength length(m.config, most);
  int64_t done_so_far = 0;
  const auto count = [&](int64_t batches) {
    if (m.estimator_log())
      for (const std::string& line : estimator_log::evaluations(done_so_far, done_so_far + batches, known)) m.log(line);
    done_so_far += batches;
  };
  for (int64_t left = options.steps > 0 ? options.steps : INT64_MAX; left > 0 && !pass.ended() && !run.stopped();) {
    if (!run.empty() && !pass.more()) break;
    TENON_TRY(run.call([&](Callback& c) { c.on_test_batch_begin(run, done_so_far); }));
    const auto n = static_cast<uint32_t>(std::min(left, length.batches()));
    const auto start = Clock::now();
    TENON_ASSIGN(const Results done, pass.run(n));
    if (!done) break;
    length.took(n, seconds_since(start));
    totals.add(done);
    left -= done.steps();
    count(done.steps());
    if (!run.empty()) {
      const Logs logs = totals.logs();
      TENON_TRY(run.call([&](Callback& c) { c.on_test_batch_end(run, done_so_far - 1, logs); }));
    }
  }
  if (totals.rows() == 0) return pass.nothing_evaluated();
  pass.report();
  const EvalResult result = totals.result(pass.step());
  const Status finite = expect_finite_loss(result);
  m.bad_loss = !finite.ok();
  TENON_TRY(finite);
  TENON_TRY(run.call([&](Callback& c) { c.on_test_end(run, totals.logs()); }));
  m.warn(m.summaries.evaluated(m.config, options.name, pass.step(), result));
  if (m.events.on_evaluate) m.events.on_evaluate(pass.step(), result);
  return result;
}

Status Estimator::predict(const TrainInput& input, const PredictRow& row, const std::string& checkpoint,
                          int64_t examples, const Callbacks& hooks) {
  const Impl::Listening listening(*impl_);
  Status status = predict_on_device(input, row, checkpoint, examples, hooks);
  if (!impl_->estimator_log()) return status;
  const Status closed = impl_->close();
  return status.ok() ? closed : status;
}

Status Estimator::predict_on_device(const TrainInput& input, const PredictRow& row, const std::string& checkpoint,
                                    int64_t examples, const Callbacks& hooks) {
  TENON_TRY(Impl::check_examples(examples));
  TENON_ASSIGN(const StepInput data, impl_->step_input(input, Mode::kPredict));
  Inference pass(*impl_, data, Mode::kPredict, Remainder::kPad);
  TENON_TRY(pass.prepare(checkpoint, 1));
  const int64_t most = examples > 0 ? examples : INT64_MAX;
  InferenceRun run(*impl_, hooks, "prediction");
  run.begin(pass.states(), examples > 0 ? (examples - 1) / data.batch_size + 1 : data.datasets[0].batches());
  TENON_TRY(run.call([&](Callback& c) { c.on_predict_begin(run); }));
  int64_t batch = 0;
  for (int64_t next = 0; next < most && !run.stopped(); ++batch) {
    if (!run.empty() && !pass.more()) break;
    TENON_TRY(run.call([&](Callback& c) { c.on_predict_batch_begin(run, batch); }));
    TENON_ASSIGN(const Results done, pass.run(1));
    if (!done) break;
    TENON_TRY(emit_rows(done, pass.feed(), most, row));
    next = pass.feed().position(done.examples() - 1) + 1;
    TENON_TRY(run.call([&](Callback& c) { c.on_predict_batch_end(run, batch); }));
  }
  pass.report();
  return run.call([&](Callback& c) { c.on_predict_end(run); });
}

}  // namespace tenon
