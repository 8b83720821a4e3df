#include "tenon/run_writer.h"

#include <utility>

#include "base/strings.h"

namespace tenon {

void RunWriter::open(TrainingRun& run, const std::string& folder) {
  try {
    const std::string place = folder.empty() ? directory_ : cat(directory_, "/", folder);
    const std::string& notice = writers_.try_emplace(folder, place, options_).first->second.notice();
    if (!notice.empty() && !std::exchange(noticed_, true)) run.say(cat(owner_, ": ", notice));
  } catch (const Error& e) {
    throw Error(Status(e.status().code(), cat(owner_, ": ", e.status().message())));
  }
}

void RunWriter::scalars(TrainingRun& run, const std::string& folder, const Logs& by_name, int64_t step) {
  if (!by_name.empty()) write(run, folder, [&](SummaryWriter& writer) { writer.scalars(by_name, step); });
}

void RunWriter::tell(TrainingRun& run, const std::string& folder, const std::string& why) {
  const bool told = !failing_.empty();
  failing_.insert(folder);
  if (told) return;
  run.say(cat(why.starts_with(owner_ + ": ") ? "" : owner_ + ": ", why,
              "; training goes on without what was to be written"));
}

}  // namespace tenon
