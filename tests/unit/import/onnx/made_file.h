// ONNX files made by hand.
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "onnx.pb.h"
#include "unit/data/temporary_directory.h"

namespace tenon {

class MadeFile {
 public:
  explicit MadeFile(int64_t opset = 18) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "") {
    onnx::NodeProto& out = *graph().add_node();
    out.set_op_type(op);
    out.set_name(name);
    for (const std::string& input : inputs) out.add_input(input);
    for (const std::string& output : outputs) out.add_output(output);
    return out;
  }

  // -1: any size, called "batch".
  void input(const std::string& name, const std::vector<int64_t>& dims, int type = 1) {
    value(*graph().add_input(), name, dims, type);
  }
  void output(const std::string& name, const std::vector<int64_t>& dims, int type = 1) {
    value(*graph().add_output(), name, dims, type);
  }

  onnx::TensorProto& floats(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<float>& values) {
    onnx::TensorProto& out = *graph().add_initializer();
    out.set_name(name);
    out.set_data_type(1);
    for (const int64_t dim : dims) out.add_dims(dim);
    out.set_raw_data(values.data(), values.size() * sizeof(float));
    return out;
  }

  onnx::TensorProto& ints(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<int64_t>& values) {
    onnx::TensorProto& out = *graph().add_initializer();
    out.set_name(name);
    out.set_data_type(7);
    for (const int64_t dim : dims) out.add_dims(dim);
    for (const int64_t value : values) out.add_int64_data(value);
    return out;
  }

  static void attr(onnx::NodeProto& node, const std::string& name, int64_t value) {
    onnx::AttributeProto& out = *node.add_attribute();
    out.set_name(name);
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(value);
  }
  static void attr(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto& out = *node.add_attribute();
    out.set_name(name);
    out.set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) out.add_ints(value);
  }

  std::string bytes() const { return model.SerializeAsString(); }
  std::string write(const std::string& directory, const std::string& name = "model.onnx") const {
    const std::string path = directory + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes();
    return path;
  }

  onnx::ModelProto model;

 private:
  static void value(onnx::ValueInfoProto& out, const std::string& name, const std::vector<int64_t>& dims, int type) {
    out.set_name(name);
    onnx::TypeProto::Tensor& tensor = *out.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const int64_t dim : dims) {
      auto& one = *tensor.mutable_shape()->add_dim();
      if (dim < 0)
        one.set_dim_param("batch");
      else
        one.set_dim_value(dim);
    }
  }
};

}  // namespace tenon
