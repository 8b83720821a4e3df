// Numbers that depend on how many rows there are, as arithmetic on the shape of an input. What does not is a constant.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "export/node_reader.h"
#include "export/onnx/graph_proto.h"

namespace tenon::onnx::out {

class RowNumbers {
 public:
  explicit RowNumbers(NodeWriter* nodes) : nodes_(nodes) {}

  // Rows are read from this input, unless an earlier one tells them in a simpler way. One without such a dimension tells nothing.
  void take_input(const Ref& input, const PortableValue& value);

  Ref number(const PerRows& number);  // i64[1]; throws Lacking where no input tells the rows
  Ref list(const Dims& numbers);      // i64[n]

 private:
  Ref made(const PerRows& number);
  Ref rows();

  NodeWriter* nodes_;
  Ref input_;
  int axis_ = -1;
  PerRows dim_;
  Ref rows_;
  std::map<std::pair<int64_t, int64_t>, Ref> numbers_;
  std::map<std::string, Ref> lists_;
};

}  // namespace tenon::onnx::out
