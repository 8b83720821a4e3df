// The variables of a model on one device, by name: shared by the programs of all modes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "graph/graph.h"
#include "train/checkpoint.h"

namespace tenon {

class StateStore {
 public:
  StateStore(std::shared_ptr<Device> device, Queue& queue, uint64_t seed)
      : device_(std::move(device)), queue_(queue), seed_(seed) {}

  // Makes the variables of `graph` that are not here yet: from the checkpoint when there is one
  // (each must be in it with the same type), else by their initializers. NaN and infinity are refused.
  Status provide(const Graph& graph, const BundleReader* checkpoint);
  // Reads every variable that is here again from the checkpoint.
  Status reload(const BundleReader& checkpoint);

  // REQUIRED: provide() was called with a graph that has it.
  const Buffer& buffer(const std::string& name) const { return variables_.at(name); }
  bool empty() const { return variables_.empty(); }

  // The first variable, by name, that holds NaN or infinity; "" when there is none.
  Result<std::string> not_finite() const;
  // Adds every variable to a checkpoint, in pieces. NaN and infinity are refused: a checkpoint with them would fail for
  // ever. *finite becomes false then.
  Status save(BundleWriter& writer, bool* finite) const;
  // All values, dense, and back: for the time in which there is no device. REQUIRED of put: empty().
  struct Kept {
    Type type;
    std::vector<std::byte> bytes;
  };
  Result<std::map<std::string, Kept>> keep() const;
  Status put(const std::map<std::string, Kept>& kept);
  // FNV-1a over names and bytes, in the order of names.
  Result<std::string> hash() const;

 private:
  Status fill(const std::string& name, const Buffer& buffer, const Variable* variable, const BundleReader* checkpoint);

  std::shared_ptr<Device> device_;
  Queue& queue_;
  uint64_t seed_;
  std::map<std::string, Buffer> variables_;
  std::vector<std::byte> scratch_;  // of fill(): fresh memory for each variable would cost more than its numbers
};

}  // namespace tenon
