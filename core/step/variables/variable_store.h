// The variables of a model on one device, by name: shared by the programs of all modes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "checkpoint/model_directory.h"
#include "checkpoint/tensor_file.h"
#include "graph/graph.h"
#include "step/variables/starting_weights.h"
#include "step/variables/stored_variable.h"
#include "tenon/array.h"

namespace tenon {

class VariableStore {
 public:
  VariableStore(std::shared_ptr<Device> device, Queue& queue, uint64_t seed)
      : device_(std::move(device)), queue_(queue), seed_(seed) {}

  // Makes the variables of `graph` that are not here yet: from the checkpoint when there is one (each weight must be in it,
  // and what is in it have its type), else by what waits for them, a warm start or their initializers. NaN and infinity are
  // refused. Slots and counters that the checkpoint does not have begin anew; `anew` gets their names.
  // While a file's values wait, a variable that is not in the file is an error.
  Status provide(const Graph& graph, const TensorFile* checkpoint, std::vector<std::string>* anew = nullptr);
  // Variables that are here take what the checkpoint has for them, all or none; those that are made from now on begin with
  // it, unless a value waits for them, until load(), or another warm start takes its place.
  Status warm_start(WarmStart from);
  const WarmStart* warm_started() const { return warm_ ? &*warm_ : nullptr; }
  void end_warm_start() { warm_.reset(); }

  // A value for a variable that need not be here yet: then it waits, and the first graph that has the variable takes it.
  // `from` is the file that it is from, "": none. An error when the variable is here with another type.
  Status give(const std::string& name, Array value, const std::string& from = {});
  struct Waiting {
    Array value;
    std::string from;
  };
  const std::map<std::string, Waiting, std::less<>>& waiting() const { return waiting_; }
  // What waits is no longer all that a file has to say: variables that it does not have may begin anew.
  void no_longer_whole();
  // Whether slots and counters that it does not have may.
  void let_optimizers_begin_anew(bool may) { optimizers_begin_anew_ = may; }

  // Variables, and values that wait, are here no more. Programs that have such variables keep them for themselves.
  void drop(const std::vector<std::string>& names);
  // The same of what objects had that are gone: all, or where the graph has others of these names.
  void drop_dead();
  void drop_dead(const Graph& graph);

  // REQUIRED: provide() was called with a graph that has it.
  using Shared = std::shared_ptr<const StoredVariable>;
  const Shared& variable(const std::string& name) const { return variables_.at(name); }
  bool empty() const { return variables_.empty(); }
  const std::map<std::string, Shared, std::less<>>& all() const { return variables_; }
  // Whether it is one of a model's weights, moving averages among them. REQUIRED: it is here.
  bool is_weight(const std::string& name) const { return roles_.at(name).kind == VariableKind::kWeight; }
  // Whether read() has a value of that name.
  bool has(std::string_view name) const { return variables_.contains(name) || waiting_.contains(name); }

  // By name; errors say what there is when there is none of that name, and when a value's type is not the variable's.
  Result<Array> read(std::string_view name) const;
  Status write(std::string_view name, const Array& value);

  // The first variable, by name, that holds NaN or infinity; "" when there is none.
  Result<std::string> not_finite() const;
  // Adds every variable to a checkpoint, in pieces. NaN and infinity are refused: a checkpoint with them would fail for
  // ever. *finite becomes false then.
  Status save(BundleWriter& writer, bool* finite) const;
  // What save() writes, and the values that wait; or those of `only`. The store has to outlive it.
  std::vector<TensorSource> sources(const std::vector<std::string>* only = nullptr) const;
  // All variables, dense, and back: for the time in which there is no device. REQUIRED of put: empty().
  struct Kept {
    Array value;
    VariableRole role;
    bool dealt = false;
  };
  using AllKept = std::map<std::string, Kept>;
  Result<AllKept> keep() const;
  Status put(const AllKept& kept);
  // FNV-1a over names and bytes, in the order of names.
  Result<std::string> hash() const;

 private:
  Result<const StoredVariable*> find(std::string_view name) const;
  static FillBytes bytes_of(const std::string& name, const StoredVariable& variable, bool* finite);
  Status check_waiting(const Graph& graph) const;
  Status make(const Variable& variable, const Type& type, const TensorFile* checkpoint);
  static Status check_restores(const Graph& graph, const TensorFile& checkpoint, std::vector<std::string>* anew);
  Status begin(const Variable& variable, const StoredVariable& stored);
  Status check_warm(const Graph& graph) const;
  Status fill(const Variable& variable, const StoredVariable& stored, const TensorFile* file = nullptr,
              const std::string& tensor = {});

  std::shared_ptr<Device> device_;
  Queue& queue_;
  uint64_t seed_;
  bool is_dead(const std::string& name) const;
  void drop_with_slots(const std::vector<std::string>& names);
  std::map<std::string, Shared, std::less<>> variables_;
  std::map<std::string, VariableRole, std::less<>> roles_;
  std::map<std::string, Waiting, std::less<>> waiting_;
  bool optimizers_begin_anew_ = false;
  std::optional<WarmStart> warm_;
  std::vector<std::byte> scratch_;  // of fill(): fresh memory for each variable would cost more than its numbers
};

// The error of a variable that may not be saved.
Status not_finite_variable(const std::string& name);

}  // namespace tenon
