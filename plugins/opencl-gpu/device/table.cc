#include "device/table.h"

#include "fuse/fuse_chains.h"

namespace opencl_gpu {

void fill_table(KernelTable& table) {
  add_chains(table);
  add_elementwise(table);
  add_movement(table);
  add_indexing(table);
  add_random(table);
  add_reductions(table);
  add_products(table);
  add_convolutions(table);
  add_collectives(table);
  add_updates(table);
  add_softmax(table);
  add_normalizations(table);
  add_layer_norm(table);
  add_attention(table);
  add_images(table);
  add_lines(table);
  add_recurrent(table);
}

}  // namespace opencl_gpu
