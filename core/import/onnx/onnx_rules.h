// Which op is built how. Each family of ops is a file of rules/.
#pragma once

#include <span>
#include <string_view>

#include "import/onnx/call.h"

namespace tenon::onnx {

struct Rule {
  const char* op;
  void (*build)(Call&);
  const char* domain = "";
  int64_t since = 1;  // the first opset
};

// nullptr: there is none.
const Rule* find_rule(std::string_view domain, std::string_view op, int64_t opset);

// Whether an operand is a weight: a floating initializer there is a variable, unless it stands somewhere where it is none.
bool takes_weight(const NodeData& node, size_t operand);

using Rules = std::span<const Rule>;
Rules elementwise_rules();
Rules binary_rules();
Rules conversion_rules();
Rules quantization_rules();
Rules shape_rules();
Rules movement_rules();
Rules index_rules();
Rules order_rules();
Rules reduction_rules();
Rules product_rules();
Rules convolution_rules();
Rules pooling_rules();
Rules normalization_rules();
Rules resize_rules();
Rules sampling_rules();
Rules recurrent_rules();
Rules attention_rules();
Rules loss_rules();
Rules tabular_rules();
Rules support_vector_rules();
Rules control_rules();
Rules signal_rules();
Rules host_rules();

}  // namespace tenon::onnx
