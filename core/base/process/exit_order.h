// The guard of tenon/exit_guard.h, inside core.
#pragma once

#include "tenon/exit_guard.h"

namespace tenon {

// Exit handlers run last in, first out, and those of others destroy what is in use: where there is a guard, it goes first
// again.
void renew_exit_guard();

}  // namespace tenon
