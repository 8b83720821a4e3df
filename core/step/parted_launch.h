// Runs the programs of a graph that was cut: step by step, in each part by part.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "compile/parted_program.h"
#include "exchange/world.h"
#include "step/exchange_groups.h"

namespace tenon {

// As Launch: the arguments of a run, laid out once and changed in place; buffers are borrowed. Weights stay on the device;
// nodes on the host get copies, of those that the step changes before each step, of others once a call. Exchanges between processes
// go on beside the device's work until something needs them.
class PartedLaunch {
 public:
  // REQUIRED: executable.parted; it outlives this.
  static Result<std::unique_ptr<PartedLaunch>> create(const Executable& executable);

  void set_input(int slot, const Buffer& buffer);
  void set_result(int r, const Buffer& buffer) { results_[r] = &buffer; }
  template <class Number>
  void set_scalar(int iteration, int scalar, Number value) {
    scalars_[iteration * executable_.n_scalars + scalar] = value;
  }
  // Steps are done, batches taken and results kept as Queue::run does. The queue is one of the executable's device.
  Result<uint32_t> run(Queue& queue, uint32_t iterations, Feed* feed);

 private:
  // Where a value of the whole graph lies between parts.
  struct Place {
    uint64_t bytes = 0;  // of one unit
    Shape shape;         // the same
    bool split = false;  // each unit has its own
    bool from_host = false;
    bool exchanged = false;  // processes read or write it: in memory that the device sees, where it has some
    std::shared_ptr<const Buffer> device = {};  // null: not there; or it is a state or a feed, which is borrowed
    std::vector<Buffer> host = {};  // none; one a unit, or one for all
  };
  // What processes do together: a group of arrays, by their places.
  struct Together {
    ExchangeGroup does;
    std::vector<int> from = {}, to = {};
    std::vector<ReducedArray> arrays = {};
  };
  struct Part {
    const PlacedPart& placed;
    std::vector<Launch> launches;                // one a unit on the host, if they differ; else one
    std::vector<std::pair<int, int>> scalars{};  // the program's, the whole's
    std::vector<int> crossing{};                 // places of what the other side needs of it
    std::vector<Together> together{};            // of an exchange
    int awaits = -1;                             // the last of the parts before it that it needs an exchange of
    World::Ticket ticket = 0;                    // of an exchange that is under way
    bool on_device() const { return placed.kind == PartKind::kDevice; }
    bool on_host() const { return placed.kind == PartKind::kHost; }
    bool exchanges() const { return placed.kind == PartKind::kExchange; }
  };
  struct Use {
    Launch* launch;
    int index;
  };
  // An input that is no scalar.
  struct Argument {
    const Buffer* buffer = nullptr;
    std::vector<Use> inputs{}, updates{};  // of parts on the device; results that update it in place
    int place = -1;                        // of its copy on the host
    bool feed = false, updated = false;
  };
  // An output of the whole graph: it goes from `place` to the result, or to the state whose next value it is.
  struct Output {
    int place, result;
  };

  explicit PartedLaunch(const Executable& executable);
  Status lay_out();
  Status lay_out(Part& part);
  Status bind_input(Part& part, size_t i);
  Status bind_result(Part& part, size_t r);
  void find_outputs();
  int place_of(ValueId v);
  Type joined(const Place& place, const Type& type) const;  // of all replicas' parts
  Status allocate(Place& place, const Type& type, bool host);

  void take(const std::vector<Buffer*>& feeds);
  Status send(Queue& queue, const Argument& argument);
  Status iterate(Queue& queue, uint32_t i);
  Status run_part(Queue& queue, Part& part);
  Status lay_out_exchange(Part& part);
  void find_awaited();
  Status allocate_exchanged();
  Status begin_exchange(Queue& queue, Part& part);
  static uint64_t bytes_of(const Part& exchange);
  Status await(Queue& queue, int part);
  Status exchange(Wire& wire, Reducer& reducer, const Together& together);
  Status gather_parts(Wire& wire, const Together& together);
  Status cross(Queue& queue, const Place& place, bool from_host);
  Status keep(Queue& queue, const Output& output, uint32_t i);
  Status update(Queue& queue, const Output& output);
  Result<bool> stops(Queue& queue);

  const Executable& executable_;
  const Graph& graph_;
  const size_t units_;  // of the device, in this process
  const std::vector<bool> varying_;
  std::shared_ptr<Device> host_;
  Queue host_queue_;
  std::vector<Part> parts_;
  std::vector<Argument> arguments_;  // by slot
  std::vector<Place> places_;
  std::vector<int> place_;  // of each value; -1: none
  std::vector<Output> each_, last_, until_, next_;
  std::vector<const Buffer*> results_;
  std::vector<std::variant<double, int64_t>> scalars_;
  std::vector<Buffer*> feeds_;
  std::vector<std::byte> row_;       // of a result that units on the host made
  std::vector<std::byte> gathered_;  // of an exchange: all processes' parts
  std::map<int, std::vector<std::byte>> staged_;  // by place: what processes see, where they do not see the device's memory
  int begun_ = -1, awaited_ = -1;    // the last part of this step whose exchange was begun, and was awaited
};

}  // namespace tenon
