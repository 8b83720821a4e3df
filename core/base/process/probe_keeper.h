// The process between this one and a child in which something is tried: nothing that the child starts outlives it.
#pragma once

#include <sys/types.h>

namespace tenon {

// Signals as they are in a program that was just started.
void default_signals();

// REQUIRED: this is a forked child of `host`, of one thread, which leads a process group. Forks, and returns in its child
// alone, with 0; where no process can be had it returns here, with errno. It waits until the child ends, or until SIGTERM comes
// or `host` ends, then kills what is left of the child and of all that it started, whatever session or group that took, and
// ends as the child did. `report` is the child's alone: it is closed here.
int fork_kept(pid_t host, int report);

}  // namespace tenon
