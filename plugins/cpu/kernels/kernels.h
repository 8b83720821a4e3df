// The kernels of cpu.so, by family. Each .cc of this folder is compiled once for each instruction set
// (TENON_CPU_ISA: baseline, avx2, avx512), in a namespace of its own; the loader-visible part of cpu.so chooses
// one at run time. A family registers its ops in the table.
#pragma once

#include "tenon/plugin/kernel.h"

#ifndef TENON_CPU_ISA
#define TENON_CPU_ISA baseline
#endif

// Stands before a loop whose iterations do not touch what others write. clang finds that out by itself.
#ifdef __clang__
#define TENON_INDEPENDENT
#else
#define TENON_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace tenon::cpu::TENON_CPU_ISA {

using plugin::Call;
using plugin::Env;
using plugin::Kernel;
using plugin::KernelTable;
using plugin::NodeView;
using plugin::Slice;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// A kernel whose threads and scratch memory are those that `work` asks for, without its run().
template <class Work>
Kernel kernel_of(const Work& work) {
  Kernel kernel;
  kernel.threads = work->threads();
  kernel.scratch_bytes = work->scratch_bytes();
  kernel.thread_scratch_bytes = work->thread_scratch_bytes();
  if constexpr (requires { work->algorithm(); }) kernel.algorithm = work->algorithm();
  return kernel;
}

void add_elementwise(KernelTable& table);    // M primitives, select, compare, cast, activation
void add_movement(KernelTable& table);       // V primitives, gather, scatter, crop_flip, affine_image, resize
void add_reduction(KernelTable& table);      // reduce, sort, argmax, cumsum, global_norm
void add_matmul(KernelTable& table);         // dot, dot_bias_act
void add_convolution(KernelTable& table);    // conv, conv_bias_act, both gradients, with pools and norms
void add_pooling(KernelTable& table);        // max_pool, avg_pool and gradients
void add_normalization(KernelTable& table);  // batch_norm* and its gradient
void add_layer_norm(KernelTable& table);     // layer_norm and its gradient
void add_softmax(KernelTable& table);        // softmax, log_softmax, logsumexp, softmax_cross_entropy, gradients
void add_attention(KernelTable& table);      // attention, attention_grad
void add_recurrent(KernelTable& table);      // lstm, gru and gradients
void add_random(KernelTable& table);         // random, dropout
void add_update(KernelTable& table);         // the *_update ops
void add_collective(KernelTable& table);     // replica_id and the collectives of one replica

// All of them.
void fill_table(KernelTable& table);

}  // namespace tenon::cpu::TENON_CPU_ISA
