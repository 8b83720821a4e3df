// Tenon's part of an exported model: either the file is refused, or its graph is built by ops that refuse a node by name or give the
// types that the file says.
#include <cstdlib>
#include <string_view>

#include "export/model_file.h"
#include "graph/graph.h"
#include "op/op.h"

using namespace tenon;

namespace {

constexpr int64_t kRows = 2;

void build_in(Graph& graph, const PortableGraph& portable) {
  Features features;
  for (const PortableInput& input : portable.inputs) {
    if (input.variable) continue;
    const Type type = portable.values[static_cast<size_t>(input.value)].at(kRows);
    features.set(input.name, Tensor(&graph, graph.add_input(type, Role::kFeed, input.name)));
  }
  const Outputs outputs = build(portable, features);
  for (const auto& [name, output] : outputs.all()) graph.results.push_back({output.tensor.id()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<ModelFile> file = parse_model_file({reinterpret_cast<const char*>(data), size});
  if (!file.ok()) {
    if (file.status().message().size() > 4096) std::abort();
    return 0;
  }
  if (!parse_model_file(to_bytes(*file)).ok()) std::abort();  // what is read can be written
  Graph graph;
  graph.mode = Mode::kPredict;
  try {
    const Building building(graph);
    build_in(graph, file->graph);
  } catch (const Error& e) {
    if (e.status().message().size() > 4096) std::abort();
    return 0;
  }
  if (!verify(graph).ok()) std::abort();
  return 0;
}
