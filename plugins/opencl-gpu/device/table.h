// Which op runs which kernels.
#pragma once

#include "tenon/plugin/kernel.h"

namespace opencl_gpu {

using tenon::plugin::decompose;
using tenon::plugin::dtype_bytes;
using tenon::plugin::dtype_name;
using tenon::plugin::is_float;
using tenon::plugin::KernelTable;
using tenon::plugin::refuse;
using tenon::plugin::take;
using tenon::plugin::Verdict;

void fill_table(KernelTable& table);

// Each file's part of it.
void add_elementwise(KernelTable& table);     // maps: arithmetic, compare, select, cast
void add_movement(KernelTable& table);        // iota, reshape, transpose, broadcast, slice, pad, concat, reverse
void add_indexing(KernelTable& table);        // gather, scatter, sort
void add_random(KernelTable& table);          // random, dropout
void add_reductions(KernelTable& table);      // reduce, global_norm
void add_products(KernelTable& table);        // dot
void add_convolutions(KernelTable& table);    // conv and its gradients
void add_collectives(KernelTable& table);     // all_gather, replica_id
void add_updates(KernelTable& table);         // X_update
void add_softmax(KernelTable& table);         // softmax, log_softmax, softmax_cross_entropy and their gradients
void add_normalizations(KernelTable& table);  // batch_norm, activation, bias_act_grad, and their gradients
void add_layer_norm(KernelTable& table);      // layer_norm and its gradient
void add_attention(KernelTable& table);       // attention and its gradient
void add_images(KernelTable& table);          // crop_flip, resize, affine_image
void add_lines(KernelTable& table);           // argmax, cumsum
void add_recurrent(KernelTable& table);       // lstm, gru and their gradients

}  // namespace opencl_gpu
