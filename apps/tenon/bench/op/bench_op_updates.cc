// What optimizers do to a variable: each with its defaults, and momentum of 0.9.
#include "bench/op/bench_op_case.h"

namespace tenon::runner {
namespace {

Shape vector(const Sizes& s) { return {s[0]}; }

// Its gradient is the first operand itself.
Tensors loss_of(Tensor g, const Sizes&, Operands& more) {
  more.take(g.shape(), 3);  // slots
  return {reduce_sum(g * more.weights("p", g.shape()))};
}

OpCase update(const char* op, Optimizer (*optimizer)()) {
  return {op, "ELEMENTS", {}, vector, loss_of, "10000,1000000,16000000", nullptr, optimizer};
}

const OpCase kUpdates[] = {
    update("sgd_update", [] { return SGD(); }),
    update("momentum_update", [] { return SGD({.momentum = 0.9}); }),
    update("adam_update", [] { return Adam(); }),
    update("adamw_update", [] { return AdamW(); }),
    update("adamax_update", [] { return Adamax(); }),
    update("nadam_update", [] { return Nadam(); }),
    update("adagrad_update", [] { return Adagrad(); }),
    update("adadelta_update", [] { return Adadelta(); }),
    update("rmsprop_update", [] { return RMSprop(); }),
    update("ftrl_update", [] { return Ftrl(); }),
    update("lamb_update", [] { return Lamb(); }),
    update("lion_update", [] { return Lion(); }),
    // Its means are of rows and columns.
    {"adafactor_update",
     "ROWSxC",
     {},
     matrix,
     loss_of,
     "100x100,1000x1000,4000x4000",
     nullptr,
     [] { return Adafactor(); }},
};

}  // namespace

std::span<const OpCase> update_cases() { return kUpdates; }

}  // namespace tenon::runner
