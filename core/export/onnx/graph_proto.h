// Nodes of ONNX's graph, written one after another; what they share (names, constants) is here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx.pb.h"
#include "tenon/types.h"

namespace tenon::onnx::out {

// A tensor, as nodes name it; "": an operand that is absent.
using Ref = std::string;

using Field = AttributeProto;
using Fields = std::vector<Field>;
Field number_field(std::string name, int64_t value);
Field real_field(std::string name, double value);
Field text_field(std::string name, std::string_view value);
Field list_field(std::string name, const std::vector<int64_t>& values);
Field reals_field(std::string name, const std::vector<double>& values);

int32_t data_type(DType dtype);
// Elements as bytes, or one element's bytes that fill the shape.
TensorProto tensor_proto(DType dtype, const std::vector<int64_t>& dims, std::string_view bytes);

class NodeWriter {
 public:
  explicit NodeWriter(GraphProto* graph) : graph_(graph) {}

  // What names of new nodes begin with: "dense/".
  void set_scope(std::string_view scope);
  // A name that nothing has yet, and from now on that.
  Ref unique(std::string name);

  // A node named by its op in the scope, and its results, named after it.
  std::vector<Ref> add_all(std::string_view op, const std::vector<Ref>& inputs, Fields fields, int results);
  Ref add(std::string_view op, const std::vector<Ref>& inputs, Fields fields = {}) {
    return add_all(op, inputs, std::move(fields), 1)[0];
  }
  // A node of that name, and its result.
  void add_named(const Ref& name, std::string_view op, const std::vector<Ref>& inputs, Fields fields = {});

  Ref constant(TensorProto value);  // under a name of the scope
  void initializer(const Ref& name, TensorProto value);
  Ref ints(const std::vector<int64_t>& values);  // i64[n], one for all that want the same
  Ref whole(int64_t value);                      // i64, rank 0
  Ref scalar(DType dtype, double value);

 private:
  Ref shared(const std::string& name, TensorProto value);  // of that name and value once

  GraphProto* graph_;
  std::string scope_;
  std::set<std::string> names_;
  std::map<std::string, int> next_;
  std::map<std::string, Ref> shared_;  // by their messages
};

}  // namespace tenon::onnx::out
