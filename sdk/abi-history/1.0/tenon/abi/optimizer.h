/* Tenon plugin ABI: the optimizer interface.
 *
 * An optimizer is a composite op, `X_update@1`, asked for through `supports` as any other op; there
 * is no separate entry. Operands, in order (absent optional ones are TENON_NONE):
 *
 *   p      F[..]      the variable
 *   g      F[..]      its gradient; with rows, F[n, ..]: gradients of those rows
 *   lr     f32[]      learning rate
 *   step   i64[]      updates done before this one: t = step + 1
 *   scale  f32[]      optional: G = scale * g; absent = 1
 *   gate   bool[]     optional: false returns every input unchanged
 *   rows   I[n]       optional: g's rows in p; repeated rows add, rows out of range are dropped
 *   slots  F[..]      of the kind's slots, below
 *
 * Results: p', then each slot's new value. All of them are states that the graph aliases, so that an
 * update runs in place. Hyperparameters are f64 attributes, booleans bool attributes. A backend that
 * decomposes an update gets primitives with the same meaning.
 */
#ifndef TENON_ABI_OPTIMIZER_H
#define TENON_ABI_OPTIMIZER_H

#include "tenon/abi/op.h"

/* Positions of the operands that every update has. */
enum {
  TENON_UPDATE_P = 0,
  TENON_UPDATE_G = 1,
  TENON_UPDATE_LR = 2,
  TENON_UPDATE_STEP = 3,
  TENON_UPDATE_SCALE = 4,
  TENON_UPDATE_GATE = 5,
  TENON_UPDATE_ROWS = 6,
  TENON_UPDATE_SLOTS = 7
};

/* op              slots                      attributes
 * sgd_update      -                          -
 * momentum_update m                          mu nesterov
 * adam_update     m v [vmax]                 b1 b2 eps amsgrad
 * adamw_update    m v [vmax]                 b1 b2 eps amsgrad wd
 * adamax_update   m u                        b1 b2 eps
 * nadam_update    m v q(rank 0)              b1 b2 eps
 * adagrad_update  s                          eps
 * rmsprop_update  v [u] [a]                  rho mu eps centered
 * adadelta_update s e                        rho eps
 * ftrl_update     n z                        lr_power l1 l2_reg shrink beta
 * lamb_update     m v                        b1 b2 eps
 * lion_update     m                          b1 b2
 * adafactor_update r c (rank >= 2) or v      eps1 eps2
 */

#endif
