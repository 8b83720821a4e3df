#include "device/sources.h"

#include <algorithm>

namespace opencl_gpu {

using tenon::plugin::dtype_bytes;
using tenon::plugin::dtype_name;

namespace {

std::string number(size_t i) { return std::to_string(i); }

std::string dense_load(size_t k, const std::string& d, const std::string& at) {
  return "const W_" + d + " x" + number(k) + " = LOAD(" + d + ", a" + number(k) + ", " + at + "); ";
}

}  // namespace

Sources::Sources(const NodeView& node, uint64_t elements, const std::string& body, int first) : first_(first) {
  find_operands(node, elements);
  for (int k = first; k < node.results(); ++k) results_.push_back(node.out(k).dtype());
  int64_t most = static_cast<int64_t>(elements);
  for (int k = 0; k < node.operands(); ++k) most = std::max(most, node.in(k).elements());
  write(body, most < UINT32_MAX);
}

void Sources::find_operands(const NodeView& node, uint64_t elements) {
  axes_ = node.list("axes").vec();
  const auto strides = node.list("strides"), starts = node.list("starts");
  if (strides.empty()) axes_ = {static_cast<int64_t>(elements)};
  std::vector<int64_t> dense(axes_.size(), 1);
  for (size_t d = axes_.size() - 1; d-- > 0;) dense[d] = dense[d + 1] * axes_[d + 1];
  for (int k = 0; k < node.operands(); ++k) {
    Operand o{node.in(k).dtype(), false, false, {}};
    if (strides.empty())
      o.stride = {node.in(k).elements() == 1 ? 0 : 1};
    else
      o.stride.assign(strides.begin() + static_cast<size_t>(k) * axes_.size(),
                      strides.begin() + static_cast<size_t>(k + 1) * axes_.size());
    if (!starts.empty()) o.start = starts[static_cast<size_t>(k)];
    o.dense = o.start == 0 && (elements == 1 || o.stride == dense);
    o.once =
        !o.dense && o.start == 0 && std::all_of(o.stride.begin(), o.stride.end(), [](int64_t s) { return s == 0; });
    any_indexed_ |= is_indexed(o);
    operands_.push_back(std::move(o));
  }
}

// The place along each axis of the element `from_`: i0, i1, ..
std::string Sources::indices() const {
  std::string text, rest = "from_";
  for (size_t d = axes_.size(); d-- > 0;) {
    const std::string n = "(INDEX)axes.n[" + number(d) + "]", i = "i" + number(d);
    text += "const INDEX " + i + " = " + (d > 0 ? rest + " % " + n : rest) + "; ";
    if (d > 0) text += "const INDEX rest" + number(d) + " = " + rest + " / " + n + "; ";
    rest = "rest" + number(d);
  }
  return text;
}

void Sources::write(const std::string& body, bool narrow) {
  std::string parameters, pointers, bases, values, stores;
  size_t indexed = 0;
  for (size_t k = 0; k < results_.size(); ++k) {
    const std::string i = number(k), d = dtype_name(results_[k]);
    parameters += ", MEM(r" + i + ")";
    pointers += "__global S_" + d + "* r" + i + " = POINTER(S_" + d + ", r" + i + "); ";
    stores += "STORE(" + d + ", r" + i + ", (i) + (k), y" + i + "); ";
  }
  for (size_t k = 0; k < operands_.size(); ++k) {
    const Operand& o = operands_[k];
    const std::string i = number(k), d = dtype_name(o.dtype);
    parameters += ", MEM(a" + i + ")";
    pointers += "const __global S_" + d + "* a" + i + " = POINTER(const S_" + d + ", a" + i + "); ";
    if (o.once) pointers += dense_load(k, d, "0");
    if (o.dense) values += dense_load(k, d, "(i) + (k)");
    if (!is_indexed(o)) continue;
    std::string at = "(INDEX)axes.start[" + number(indexed) + "]";
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      if (o.stride[axis])
        at += " + i" + number(axis) + " * (INDEX)axes.stride[" + number(indexed * axes_.size() + axis) + "]";
    bases += "const ulong b" + i + " = " + at + "; ";
    (o.stride.back() ? values : bases) += dense_load(k, d, o.stride.back() ? "b" + i + " + (k)" : "b" + i);
    ++indexed;
  }
  if (any_indexed_) {
    parameters += ", Axes axes";
    bases = "const INDEX from_ = (INDEX)(i); " + indices() + bases;
    text_ = "typedef struct { ulong n[" + number(axes_.size()) + "], stride[" + number(indexed * axes_.size()) +
            "], start[" + number(indexed) + "]; } Axes;\n#define INDEX " + (narrow ? "uint" : "ulong") +
            "\n#define RUN(at, left) min((ulong)(left), axes.n[" + number(axes_.size() - 1) + "] - (at) % axes.n[" +
            number(axes_.size() - 1) + "])\n";
  } else {
    text_ = "#define RUN(at, left) (left)\n";
  }
  std::string line = body;
  std::replace(line.begin(), line.end(), '\n', ' ');
  text_ += "#define PARAMETERS " + parameters.substr(2) + "\n#define POINTERS " + pointers + "\n#define BASES(i) " +
           bases + "\n#define VALUES(i, k) " + values + line + "\n#define STORES(i, k) " + stores + "\n";
}

void Sources::add(Launch& launch) const {
  for (size_t k = 0; k < results_.size(); ++k) launch.out(first_ + static_cast<int>(k));
  for (size_t k = 0; k < operands_.size(); ++k) launch.in(static_cast<int>(k));
  if (!any_indexed_) return;
  std::vector<cl_ulong> axes(axes_.begin(), axes_.end());
  for (const Operand& o : operands_)
    if (is_indexed(o)) axes.insert(axes.end(), o.stride.begin(), o.stride.end());
  for (const Operand& o : operands_)
    if (is_indexed(o)) axes.push_back(static_cast<cl_ulong>(o.start));
  launch.bytes(axes.data(), axes.size() * sizeof(cl_ulong));
}

void Sources::allow_in_place(Kernel& kernel) const {
  for (size_t k = 0; k < operands_.size(); ++k)
    for (size_t r = 0; r < results_.size(); ++r)
      if (operands_[k].dense && dtype_bytes(operands_[k].dtype) == dtype_bytes(results_[r]))
        kernel.in_place.push_back({static_cast<int>(k), first_ + static_cast<int>(r)});
}

}  // namespace opencl_gpu
