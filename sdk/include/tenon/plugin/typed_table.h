// Entries of a kernel table by dtype: the types that an op has kernels for are named once, and decide what is
// accepted and which kernel is made. C++17, header only.
//
//   add_typed<Floats>(table, "exp", [](auto t, const NodeView& node) { return exp_kernel<decltype(t)>(node); });
#pragma once

#include <string>

#include "tenon/plugin/element.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

// The dtype that decides: that of operand `operand`, or of the result where the op has no operands.
inline int32_t deciding_dtype(const NodeView& node, int operand) {
  return node.operands() ? node.in(operand).dtype() : node.out(0).dtype();
}

// Takes nodes whose deciding dtype is one of Types and whose attribute `kind`, if kinds > 0, is below it.
template <class Types>
Accept takes(int operand = 0, int kinds = 0) {
  return [=](const NodeView& node) {
    const int32_t dtype = deciding_dtype(node, operand), kind = node.enumerator("kind");
    const std::string op(node.op());
    if (!contains(Types{}, dtype)) return refuse(op + ": no kernel for " + dtype_name(dtype));
    if (kinds > 0 && (kind < 0 || kind >= kinds)) return refuse(op + ": no kernel for kind " + std::to_string(kind));
    return take();
  };
}

// make(T{}, node) makes the kernel of a node whose operand 0 has elements of T.
template <class Types, class Make>
void add_typed(KernelTable& table, const char* op, Make make, int kinds = 0) {
  table.add(op, takes<Types>(0, kinds), [=](const NodeView& node, const Env&) {
    return dispatch(Types{}, deciding_dtype(node, 0), [&](auto t) { return make(t, node); });
  });
}

// For ops that move elements without looking at them: T is an unsigned integer of the result's width.
template <class Make>
void add_by_width(KernelTable& table, const char* op, Make make, int operand = 0) {
  table.add(op, takes<All>(operand), [=](const NodeView& node, const Env&) {
    return dispatch_width(dtype_bytes(node.out(0).dtype()), [&](auto t) { return make(t, node); });
  });
}

}  // namespace tenon::plugin
