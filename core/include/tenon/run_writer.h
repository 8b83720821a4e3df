// The summaries of a training, for a callback of one's own:
//
//   RunWriter board("MyCallback", "logs");
//   board.open(run);                                                                       // in on_train_begin
//   board.write(run, "train", [&](SummaryWriter& writer) { writer.scalar("norm", norm, run.step()); });
#pragma once

#include <map>
#include <set>
#include <string>

#include "tenon/callback.h"
#include "tenon/summary.h"

namespace tenon {

// Writes into a directory and folders of it. Training goes on where they cannot be written: the run says so, once until
// all that could not be written to can be again. That another run writes to them is said once for all.
class RunWriter {
 public:
  RunWriter(std::string owner, std::string directory, SummaryWriterOptions options = {})
      : owner_(std::move(owner)), directory_(std::move(directory)), options_(std::move(options)) {}

  // Begins a file. Throws Error that begins with the owner where nothing can be written from the start.
  void open(TrainingRun& run, const std::string& folder = {});
  void close() { writers_.clear(); }

  // Calls write(SummaryWriter&), opening a file before where there is none.
  template <class Write>
  void write(TrainingRun& run, const std::string& folder, const Write& write) {
    try {
      if (!writers_.contains(folder)) open(run, folder);
      write(writers_.at(folder));
      failing_.erase(folder);
    } catch (const Error& e) {
      tell(run, folder, e.status().message());
    }
  }
  void scalars(TrainingRun& run, const std::string& folder, const Logs& by_name, int64_t step);

 private:
  void tell(TrainingRun& run, const std::string& folder, const std::string& why);
  std::string owner_, directory_;
  SummaryWriterOptions options_;
  std::map<std::string, SummaryWriter> writers_;  // by folder
  std::set<std::string> failing_;
  bool noticed_ = false;  // that another run writes there
};

}  // namespace tenon
