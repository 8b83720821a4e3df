#include "train/background_save.h"

#include <system_error>
#include <utility>

namespace tenon {

void BackgroundSave::start(int64_t step, Write write) {
  saved_ = {.step = step};
  const auto run = [this, write = std::move(write)] { return write(saved_); };
  try {
    future_ = std::async(std::launch::async, run);
  } catch (const std::system_error&) {
    std::promise<Status> here;
    here.set_value(run());
    future_ = here.get_future();
  }
}

Result<bool> BackgroundSave::collect(SavedCheckpoint* saved) {
  if (!running()) return false;
  const Status status = future_.get();
  *saved = saved_;
  TENON_TRY(status);
  return true;
}

}  // namespace tenon
