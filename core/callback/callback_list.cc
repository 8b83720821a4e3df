#include "callback/callback_list.h"

#include <algorithm>
#include <typeinfo>

#include "base/caught.h"
#include "base/names/class_name.h"
#include "base/strings.h"
#include "tenon/graph_node.h"
#include "tenon/text.h"

namespace tenon {

std::vector<GraphNode> TrainingRun::graph() const { return {}; }
namespace {

Status named(const Status& status, const Callback& callback) {
  const std::string name = callback_name(callback), text = terminal_text(status.message());
  if (text.starts_with(name + ":")) return Status(status.code(), text);
  return Status(status.code(), cat(name, ": ", text));
}

}  // namespace

std::string callback_name(const Callback& callback) { return class_name(typeid(callback)); }

Status CallbackList::each(const std::function<void(Callback&)>& call) const {
  for (const AnyCallback& callback : all_) {
    const Status status = caught([&] { return call(*callback), Status(); });
    if (!status.ok()) return named(status, *callback);
  }
  return {};
}

CallbackList::CallbackList(Callbacks callbacks) : all_(std::move(callbacks)) {
  for (size_t i = 0; i < all_.size(); ++i)
    if (all_[i].operator->() == nullptr) fail("callback ", i, " is null");
}

bool CallbackList::needs_logs() const {
  return std::any_of(all_.begin(), all_.end(), [](const AnyCallback& c) { return c->needs_logs(); });
}

Result<int64_t> CallbackList::most_steps(int64_t step) const {
  int64_t most = std::numeric_limits<int64_t>::max();
  TENON_TRY(each([&](const Callback& c) { most = std::min(most, c.most_steps(step)); }));
  return std::max<int64_t>(most, 1);
}

Result<bool> CallbackList::ends_at_bad_loss() const {
  bool any = false;
  TENON_TRY(each([&](const Callback& c) { any = any || c.ends_at_bad_loss(); }));
  return any;
}

void CallbackList::on_train_error(TrainingRun& run, const Status& why) const {
  for (const AnyCallback& callback : all_)
    (void)caught([&] { return callback->on_train_error(run, why), Status(); }).ok();
}

}  // namespace tenon
