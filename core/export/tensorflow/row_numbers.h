// Numbers that depend on how many rows there are, as arithmetic on the shape of a feature. What does not is a constant.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/node_reader.h"
#include "export/tensorflow/graph_def.h"

namespace tenon::tensorflow {

class RowNumbers {
 public:
  explicit RowNumbers(NodeWriter* nodes) : nodes_(nodes) {}

  // Rows are read from this tensor, unless an earlier one tells them in a simpler way. One without such a dimension tells nothing.
  void take_feature(const Ref& feature, const PortableValue& value);

  // An i32 scalar, made once. Throws Lacking where no feature tells the rows.
  Ref number(const PerRows& number);
  // i32[n]
  Ref list(const std::vector<PerRows>& numbers);

 private:
  Ref rows();
  Ref made(const PerRows& number);

  NodeWriter* nodes_;
  Ref feature_;
  DType dtype_ = DType::kNone;
  int axis_ = -1;
  PerRows dim_;
  Ref rows_;
  std::map<std::pair<int64_t, int64_t>, Ref> numbers_;
  std::map<std::string, Ref> lists_;
};

}  // namespace tenon::tensorflow
