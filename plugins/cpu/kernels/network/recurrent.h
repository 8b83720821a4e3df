// What the recurrent cells and their gradients share.
#pragma once

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

void add_recurrent_grad(KernelTable& table);  // lstm_grad, gru_grad

}  // namespace tenon::cpu::TENON_CPU_ISA
