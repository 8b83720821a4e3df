// The callbacks of one call of fit() or train(), called in their order.
#pragma once

#include <functional>
#include <string>

#include "tenon/callback.h"

namespace tenon {

// "EarlyStopping": the name of a callback's class, without namespaces.
std::string callback_name(const Callback& callback);

// What a callback throws is an error of one line that begins with its name; those behind it are not called any more. One
// thread.
class CallbackList {
 public:
  explicit CallbackList(Callbacks callbacks);  // throws Error where one is null
  bool empty() const { return all_.empty(); }
  bool needs_logs() const;

  Result<int64_t> most_steps(int64_t step) const;  // 1 or more
  Result<bool> ends_at_bad_loss() const;

  // Calls each: `list.each([&](Callback& c) { c.on_epoch_begin(run, epoch); })`.
  Status each(const std::function<void(Callback&)>& call) const;
  // Tells all of them, whatever they throw.
  void on_train_error(TrainingRun& run, const Status& why) const;

 private:
  Callbacks all_;
};

}  // namespace tenon
