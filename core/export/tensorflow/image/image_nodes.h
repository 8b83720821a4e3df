// Nodes of functions that read images, written with all their attributes: some readers of functions add none that are missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/tensorflow/graph_def.h"

namespace tenon::tensorflow {

// Arguments and results of a function.
struct FunctionArgument {
  const char* name;
  DataType type;
};
FunctionDef& add_function(FunctionDefLibrary& library, const char* name, const std::vector<FunctionArgument>& in,
                          const std::vector<FunctionArgument>& out);

class ImageNodes {
 public:
  explicit ImageNodes(NodeWriter& nodes) : nodes_(nodes) {}
  NodeWriter& nodes() { return nodes_; }

  Ref number(double value) { return nodes_.scalar(DType::kF32, value); }
  // All operands have one type.
  Ref binary(std::string_view op, const Ref& a, const Ref& b, DataType type = DT_FLOAT);
  Ref cast(const Ref& x, DataType from, DataType to);
  Ref reshape(const Ref& x, DataType type, const Ref& shape);
  Ref shape_of(const Ref& x, DataType type);
  // Elements of a list of i32; end 0: all from `begin` on.
  Ref part(const Ref& list, int64_t begin, int64_t end);
  Ref concat(const Ref& a, const Ref& b, DataType type, int64_t axis);
  Ref gather(const Ref& x, DataType type, const Ref& indices, int64_t axis);
  // f32 of as many numbers.
  Ref vector(const std::vector<float>& values);

 private:
  NodeWriter& nodes_;
};

}  // namespace tenon::tensorflow
