#include "tenon/plugin/op_attributes.h"

namespace tenon::plugin {
namespace {

struct OpAttributes {
  std::string_view op, attributes;  // separated by blanks
};

// Version 1 of each op.
constexpr OpAttributes kOps[] = {
    {"iota", "shape axis dtype"},
    {"random", "stream shape per_replica"},
    {"neg", ""},
    {"abs", ""},
    {"floor", ""},
    {"round", ""},
    {"exp", ""},
    {"expm1", ""},
    {"log", ""},
    {"log1p", ""},
    {"sqrt", ""},
    {"sin", ""},
    {"cos", ""},
    {"tanh", ""},
    {"erf", ""},
    {"add", ""},
    {"sub", ""},
    {"mul", ""},
    {"div", ""},
    {"max", ""},
    {"min", ""},
    {"pow", ""},
    {"atan2", ""},
    {"compare", "kind"},
    {"select", ""},
    {"cast", "to"},
    {"reshape", "shape"},
    {"transpose", "perm"},
    {"broadcast", "shape dims"},
    {"slice", "start limit stride"},
    {"pad", "low high interior value"},
    {"concat", "axis"},
    {"reverse", "axes"},
    {"gather", "axis batch"},
    {"scatter", "axis batch kind"},
    {"sort", "k descending"},
    {"reduce", "axes kind"},
    {"dot", "ta tb precision out"},
    {"conv", "strides low high dilation groups precision out"},
    {"conv_grad_input", "size strides low high dilation groups precision out"},
    {"conv_grad_filter", "size strides low high dilation groups precision out"},
    {"all_gather", "axis group replicas"},
    {"replica_id", ""},
    {"activation", "act alpha"},
    {"activation_grad", "act alpha"},
    {"dot_bias_act", "act alpha ta tb precision out"},
    {"conv_bias_act", "act alpha strides low high dilation groups precision out"},
    {"bias_act_grad", "act alpha"},
    {"max_pool", "window strides low high"},
    {"max_pool_grad", "window strides low high"},
    {"avg_pool", "window strides low high count_pad"},
    {"avg_pool_grad", "size window strides low high count_pad"},
    {"batch_norm", "eps act alpha group"},
    {"batch_norm_grad", "eps act alpha group residual"},
    {"batch_norm_apply", "eps act alpha"},
    {"softmax", "axis"},
    {"softmax_grad", "axis"},
    {"log_softmax", "axis"},
    {"log_softmax_grad", "axis"},
    {"softmax_cross_entropy", "on off ignore"},
    {"softmax_cross_entropy_grad", "on off ignore"},
    {"dropout", "rate stream"},
    {"argmax", "axis kind"},
    {"cumsum", "axis exclusive reverse"},
    {"layer_norm", "eps axes center"},
    {"layer_norm_grad", "eps axes center beta"},
    {"attention", "scale causal rate stream"},
    {"attention_grad", "scale causal rate stream dbias"},
    {"lstm", ""},
    {"lstm_grad", ""},
    {"gru", ""},
    {"gru_grad", ""},
    {"global_norm", ""},
    {"all_reduce", "kind group replicas"},
    {"reduce_scatter", "axis group replicas"},
    {"resize", "h w method coords"},
    {"affine_image", "h w method fill"},
    {"crop_flip", "h w"},
    {"sgd_update", "l2"},
    {"momentum_update", "l2 mu nesterov"},
    {"adam_update", "l2 b1 b2 eps amsgrad"},
    {"adamw_update", "l2 b1 b2 eps amsgrad wd"},
    {"adamax_update", "l2 b1 b2 eps"},
    {"nadam_update", "l2 b1 b2 eps"},
    {"adagrad_update", "l2 eps"},
    {"rmsprop_update", "l2 rho mu eps centered"},
    {"adadelta_update", "l2 rho eps"},
    {"ftrl_update", "l2 lr_power l1 l2_reg shrink beta"},
    {"lamb_update", "l2 b1 b2 eps wd"},
    {"lion_update", "l2 b1 b2 wd"},
    {"adafactor_update", "l2 eps1 eps2"},
};

bool contains_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
  return false;
}

struct EnumAttribute {
  std::string_view op, attribute;  // no op: of any
  int32_t least, most;
};

constexpr EnumAttribute kEnums[] = {
    {"compare", "kind", TENON_EQ, TENON_GE},
    {"scatter", "kind", TENON_SCATTER_ADD, TENON_SCATTER_SET},
    {"argmax", "kind", TENON_MAX, TENON_MIN},
    {"", "kind", TENON_SUM, TENON_MIN},
    {"", "precision", TENON_PRECISION_DEFAULT, TENON_PRECISION_HIGHEST},
    {"", "act", TENON_ACT_NONE, TENON_ACT_HARD_SWISH},
    {"", "method", TENON_NEAREST, TENON_BILINEAR},
    {"", "coords", TENON_LEGACY, TENON_ALIGN_CORNERS},
    {"", "fill", TENON_FILL_CONSTANT, TENON_FILL_WRAP},
};

bool is_enumerator(std::string_view op, std::string_view attribute, int64_t value) {
  for (const EnumAttribute& e : kEnums)
    if (e.attribute == attribute && (e.op.empty() || e.op == op)) return value >= e.least && value <= e.most;
  return true;
}

bool is_dtype(int64_t dtype) { return dtype >= TENON_F32 && dtype <= TENON_BOOL; }

bool is_hint(std::string_view name) { return name.substr(0, 6) == "tenon."; }

}  // namespace

bool is_published(std::string_view op) {
  for (const OpAttributes& o : kOps)
    if (o.op == op) return true;
  return false;
}

std::string_view attributes_of(std::string_view op) {
  for (const OpAttributes& o : kOps)
    if (o.op == op) return o.attributes;
  return {};
}

std::string_view unknown_attribute(const NodeView& node) {
  if (!is_published(node.op()) || node.version() != 1) return {};
  const std::string_view known = attributes_of(node.op());
  for (int i = 0; i < node.attributes(); ++i)
    if (const std::string_view name = node.attribute_name(i); !is_hint(name) && !contains_word(known, name))
      return name;
  return {};
}

std::string unknown_value(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i) && !is_dtype(node.in(i).dtype())) return "dtype " + std::to_string(node.in(i).dtype());
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i) && !is_dtype(node.out(i).dtype())) return "dtype " + std::to_string(node.out(i).dtype());
  for (int i = 0; i < node.attributes(); ++i) {
    const std::string_view name = node.attribute_name(i);
    const int32_t type = node.find(name)->type;
    const int64_t value = type == TENON_ATTR_ENUM || type == TENON_ATTR_DTYPE ? node.i64(name) : 0;
    const bool none = name == "out" && value == 0;  // the operands'
    if (type == TENON_ATTR_DTYPE && !is_dtype(value) && !none)
      return std::string(name) + " = dtype " + std::to_string(value);
    if (type == TENON_ATTR_ENUM && !is_hint(name) && !is_enumerator(node.op(), name, value))
      return std::string(name) + " = " + std::to_string(value);
  }
  return {};
}

}  // namespace tenon::plugin
