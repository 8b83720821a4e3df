// The primitives, one function each. Private to this folder; reference.cc has the table.
#pragma once

#include "conformance/reference/loops.h"

namespace tenon::reference {

#define TENON_REFERENCE_OP(name) void name(const NodeView& node, const Operands& in, Results& out)

// elementwise.cc
TENON_REFERENCE_OP(neg);
TENON_REFERENCE_OP(abs);
TENON_REFERENCE_OP(floor);
TENON_REFERENCE_OP(round);
TENON_REFERENCE_OP(exp);
TENON_REFERENCE_OP(expm1);
TENON_REFERENCE_OP(log);
TENON_REFERENCE_OP(log1p);
TENON_REFERENCE_OP(sqrt);
TENON_REFERENCE_OP(sin);
TENON_REFERENCE_OP(cos);
TENON_REFERENCE_OP(tanh);
TENON_REFERENCE_OP(erf);
TENON_REFERENCE_OP(add);
TENON_REFERENCE_OP(sub);
TENON_REFERENCE_OP(mul);
TENON_REFERENCE_OP(div);
TENON_REFERENCE_OP(max);
TENON_REFERENCE_OP(min);
TENON_REFERENCE_OP(pow);
TENON_REFERENCE_OP(atan2);
TENON_REFERENCE_OP(compare);
TENON_REFERENCE_OP(select);
TENON_REFERENCE_OP(cast);

// movement.cc
TENON_REFERENCE_OP(iota);
TENON_REFERENCE_OP(reshape);
TENON_REFERENCE_OP(transpose);
TENON_REFERENCE_OP(broadcast);
TENON_REFERENCE_OP(slice);
TENON_REFERENCE_OP(pad);
TENON_REFERENCE_OP(concat);
TENON_REFERENCE_OP(reverse);
TENON_REFERENCE_OP(gather);
TENON_REFERENCE_OP(scatter);

// reduction.cc
TENON_REFERENCE_OP(sort);
TENON_REFERENCE_OP(reduce);

// contraction.cc
TENON_REFERENCE_OP(dot);
TENON_REFERENCE_OP(conv);
TENON_REFERENCE_OP(conv_grad_input);
TENON_REFERENCE_OP(conv_grad_filter);

// random.cc
TENON_REFERENCE_OP(random);

// collective.cc
TENON_REFERENCE_OP(all_gather);
TENON_REFERENCE_OP(replica_id);

#undef TENON_REFERENCE_OP

}  // namespace tenon::reference
