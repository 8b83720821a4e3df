// What the kernels of X_update have in common (kernels/element/update_shared.cl).
#pragma once

#include <string>
#include <vector>

#include "device/launch.h"
#include "device/table.h"
#include "tenon/abi/optimizer.h"

namespace opencl_gpu {

// Whether an update's operands are what kernels take; slots: elements of each that it must have. Others have p's.
Verdict accept_update(const NodeView& node, const std::vector<int64_t>& slots);

// The text of kernels/element/NAME.cl behind what it shares with others, and its options.
std::string update_text(const char* name);
std::string update_dtypes(int32_t dtype, int32_t gradient);

// Where the gradient is given by rows: launches that add them up at the start of the scratch, as one of the variable's
// shape in sum_dtype; and the bytes of that.
void add_rows(std::vector<Launch>& launches, Driver& driver, const NodeView& node);
uint64_t bytes_of_rows(const NodeView& node);

// Gives a launch UPDATE_SHARES. `from`: what is added to the places of lr, step, scale and gate in X_update; `any`: an
// operand, in the place of an absent one.
void add_shared(Launch& launch, const NodeView& node, int from, int any);

// Those of several passes: nadam, lamb, adafactor.
void add_update_passes(KernelTable& table);

}  // namespace opencl_gpu
