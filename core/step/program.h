// The program of one step: a traced function, compiled, with the buffers of its results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "step/parted_launch.h"
#include "step/trace.h"
#include "step/variables/variable_store.h"

namespace tenon {

// Steps of one call of the device: it keeps a row of results, and the host scalars, for each.
inline constexpr int kMostStepsPerCall = 1 << 20;

// The error of a step that failed behind `before` others: its place is counted from the first of them. Others are as they are.
Status behind_steps(const Status& status, int64_t before);

class StepProgram {
 public:
  // For at most options.max_iterations steps a call. `seed` keys what is drawn at random.
  static Result<std::unique_ptr<StepProgram>> create(const Trace& trace, const std::shared_ptr<Device>& device,
                                                     const ProgramOptions& options, uint64_t seed);

  const Executable& executable() const { return executable_; }
  const std::vector<IndexRange>& indices() const { return indices_; }
  // Names the variables' buffers; before the first run.
  void bind(const VariableStore& states);
  // A float that the host gives each step from now on, as a fixed learning rate; does nothing where there is none of that name.
  void set_number(const std::string& scalar, double value);
  // Sets the dynamic sizes of every step from now on.
  void set_sizes(const DimensionSizes& sizes);
  const DimensionSizes& sizes() const { return sizes_; }
  // The function's, which come first among the graph's.
  const std::vector<TracedResult>& results() const { return function_results_; }
  // Feeds that are given instead of pulled, in the order of FEED inputs.
  void bind_feeds(const std::vector<const Buffer*>& feeds);

  // A failure's status has its place (Status::place()), whose step counts from this call's first, 1.
  Result<uint32_t> run(Queue& queue, uint32_t iterations, Feed* feed);

  // Result r of the graph, of a call that did `steps` steps: of mode EACH [steps, ..].
  // Where each unit has rows of its own, those of all processes: all read it.
  Result<Array> read(Queue& queue, size_t r, uint32_t steps) const;
  // After a call that did `steps` steps behind step `before`: what print() shows of each; an error of check_numerics().
  Status show_watched(Queue& queue, uint32_t steps, int64_t before) const;

 private:
  StepProgram(Executable executable, const Trace& trace);
  Status failed(const Status& status, const QueueFailure& where) const;
  bool spans_processes() const;
  Result<Array> rows_of_all(const Array& own) const;
  Status allocate_results();
  const Buffer& borrow(const VariableStore& states, const std::string& variable);
  void set_scalars(uint64_t seed);
  // set(launch): one of the two.
  template <class Set>
  void set_arguments(Set set) {
    if (parted_)
      set(*parted_);
    else
      set(*launch_);
  }

  Executable executable_;
  std::vector<IndexRange> indices_;
  std::vector<Watched> watched_;
  std::vector<TracedResult> function_results_;
  DimensionSizes sizes_;
  std::optional<Launch> launch_;
  std::unique_ptr<PartedLaunch> parted_;             // in its place, where a graph was cut
  std::vector<VariableStore::Shared> states_;        // that it is bound to: a store may drop them
  std::vector<Buffer> results_;                      // empty for aliased ones
};

}  // namespace tenon
