// Nodes of TensorFlow's graph, written one after another; what they share (names, constants) is here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "saved_model.pb.h"
#include "tenon/types.h"

namespace tenon::tensorflow {

// A tensor, as an input of another node names it: "node", "node:1"; in a function "node:result:0".
using Ref = std::string;

DataType data_type(DType dtype);
// -1 in a dimension: any.
TensorShapeProto shape_proto(const std::vector<int64_t>& dims);

// An attribute of a node.
using Field = std::pair<std::string, AttrValue>;
using Fields = std::vector<Field>;
Field type_field(std::string name, DataType type);
Field type_field(std::string name, DType dtype);
Field flag_field(std::string name, bool value);
Field number_field(std::string name, int64_t value);
Field real_field(std::string name, double value);
Field text_field(std::string name, std::string_view value);
Field list_field(std::string name, const std::vector<int64_t>& values);
Field shape_field(std::string name, const std::vector<int64_t>& dims);
Field function_field(std::string name, std::string_view function);

// Elements as bytes, or one element's bytes that fill the shape. REQUIRED: as many as that.
TensorProto tensor_proto(DType dtype, const std::vector<int64_t>& dims, std::string_view bytes);
TensorProto string_proto(const std::vector<std::string>& values);
TensorProto string_scalar(std::string_view value);

// Without the characters that no name of a node has.
std::string node_name(std::string_view text);

class NodeWriter {
 public:
  using Nodes = google::protobuf::RepeatedPtrField<NodeDef>;
  // Writes into a graph or a function, which must stay.
  explicit NodeWriter(Nodes* nodes, bool in_function = false) : nodes_(nodes), in_function_(in_function) {}

  // What names of new nodes begin with: "dense/".
  void set_scope(std::string_view scope);

  // A node named by its op in the scope, or by `name` alone; its first result. `result` is that one's name, which counts in functions.
  Ref add(std::string_view op, const std::vector<Ref>& inputs, Fields fields, std::string_view result = "output");
  Ref add_named(std::string_view name, std::string_view op, const std::vector<Ref>& inputs, Fields fields,
                std::string_view result = "output");
  // Result k of a node of which `first` is result 0.
  Ref result(const Ref& first, int k, std::string_view name) const;
  // The node's name, as control inputs and signatures want it.
  static std::string node_of(const Ref& ref) { return ref.substr(0, ref.find(':')); }

  Ref constant(TensorProto value);
  // i32, one for all that want the same.
  Ref ints(const std::vector<int64_t>& values);
  Ref whole(int64_t value);  // rank 0
  Ref scalar(DType dtype, double value);

 private:
  std::string unique(std::string name);
  Ref shared(const std::string& key, const TensorProto& value);

  Nodes* nodes_;
  bool in_function_;
  std::string scope_;
  std::set<std::string> names_;  // in lower case, as some readers ask for
  std::map<std::string, int> next_;
  std::map<std::string, Ref> shared_;
};

}  // namespace tenon::tensorflow
