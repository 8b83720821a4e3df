// From a graph to a program of a device.
#pragma once

#include <memory>

#include "backend/device.h"
#include "graph/graph.h"

namespace tenon {

struct PartedProgram;

// A program and how its arguments are laid out.
struct Executable {
  std::shared_ptr<Device> device;
  Graph graph;                                // as the device got it: lowered, simplified
  Program program;                             // none where it is `parted`
  std::shared_ptr<const PartedProgram> parted;  // the programs of a graph of which the device does not run all nodes
  // For each input of `graph`: its index among the buffers that a Launch takes, or among its scalars.
  std::vector<int> slot;
  int n_buffers = 0;
  int n_scalars = 0;
  int n_feeds = 0;
  int max_iterations = 1;

  // What is known of the program, or of all parts together.
  const ProgramInfo& info() const;
  // Index in graph.inputs or graph.results; -1 when there is none of that name.
  int find_input(std::string_view name) const;
  int find_result(std::string_view name) const;
  // REQUIRED: not `parted`.
  Launch make_launch() const {
    return Launch(program, n_buffers, static_cast<int>(graph.results.size()), n_scalars, max_iterations, n_feeds);
  }
};

// Sets slots and numbers of `executable` by its graph.
void lay_out_arguments(Executable& executable);

// What is known of a graph that the device did not compile.
struct Untaken {
  Graph graph;       // as the device got it; without nodes where one of them was refused
  ProgramInfo info;  // on kOutOfMemory what would be needed
};

// Verifies, simplifies, lowers what the device does not take whole, and compiles. The graph's results
// decide what is computed. An op that the device cannot do is an error listing op, node and reason of
// every one; with options.soft_placement it runs on cpu.so, if that can. `untaken` is set when there is no program.
Result<Executable> compile(const Graph& graph, const std::shared_ptr<Device>& device,
                           const ProgramOptions& options = {}, Untaken* untaken = nullptr);

// The lowered graph without compiling it: what `tenon inspect graph --device` shows.
Result<Graph> lower(const Graph& graph, Device& device, const ProgramOptions& options = {});

// Every composite replaced by primitives, as a device that knows nothing else would get it.
Graph lower_to_primitives(const Graph& graph);

GraphImage flatten(const Graph& graph);
// The nodes of that image, by the numbers that a device knows them by: constants are values there.
std::vector<NodeId> image_nodes(const Graph& graph);

}  // namespace tenon
