// Reverse-mode differentiation: adds the gradient's nodes to the graph (tenon/gradients.h). They carry phase kBackward and
// forward_of. Composites without a gradient rule, or whose rule passes, are differentiated through their decomposition.
#pragma once

#include "op/op.h"
#include "tenon/gradients.h"
