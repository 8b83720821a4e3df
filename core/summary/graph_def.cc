// GraphDef (tensorflow/core/framework/graph.proto), as far as TensorBoard shows it.
#include "summary/event_proto.h"
#include "summary/summary_values.h"
#include "tenon/tensorflow_types.h"

namespace tenon {
namespace {

using event_proto::put_number;

// Fields of GraphDef, NodeDef and AttrValue.
constexpr uint32_t kNode = 1, kVersions = 4, kProducer = 1;
constexpr uint32_t kName = 1, kOp = 2, kInput = 3, kAttr = 5, kKey = 1, kAttrValue = 2;
constexpr uint32_t kList = 1, kType = 6, kListShape = 7;
constexpr int64_t kTensorFlow2 = 1087;  // a version of graphs

void put_attr(std::string& node, std::string_view name, std::string_view value) {
  std::string entry;
  wire::put_bytes(entry, kKey, name);
  wire::put_bytes(entry, kAttrValue, value);
  wire::put_bytes(node, kAttr, entry);
}

std::string node_def(const GraphNode& node) {
  std::string out, shapes, list, type;
  wire::put_bytes(out, kName, node.name);
  wire::put_bytes(out, kOp, node.op);
  for (const std::string& input : node.inputs) wire::put_bytes(out, kInput, input);
  if (node.results.empty()) return out;
  for (const Type& result : node.results) wire::put_bytes(shapes, kListShape, event_proto::shape(result.shape.dims()));
  wire::put_bytes(list, kList, shapes);
  put_attr(out, "_output_shapes", list);
  put_number(type, kType, tensorflow_number(node.results[0].dtype));
  put_attr(out, "T", type);
  return out;
}

}  // namespace

std::string graph_def(const std::vector<GraphNode>& nodes) {
  std::string out, versions;
  for (const GraphNode& node : nodes) wire::put_bytes(out, kNode, node_def(node));
  put_number(versions, kProducer, kTensorFlow2);
  wire::put_bytes(out, kVersions, versions);
  return out;
}

}  // namespace tenon
