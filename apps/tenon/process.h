// What the runner makes of its process before a subcommand runs.
#pragma once

#include <cstdio>
#include <string>

#include "tenon/status.h"

namespace tenon::runner {

// Takes the numbers 0 to 2 where they are closed, so that no file that is opened later gets what is printed: reading and
// writing them fails as before. False when not even that can be had. First in main().
bool keep_standard_files();

// Keeps standard output for what the runner itself prints: whatever backends and what they start print there goes to standard
// error. False when that cannot be had. After keep_standard_files().
bool take_standard_output();
// Where the runner prints; stdout before that. Never null.
std::FILE* standard_output();

// Meets the other processes of the job, if there are others. They have to have the same arguments, which are told first: "train fashion
// --data_dir data".
void set_arguments(const std::string& arguments);
void meet_processes();

// SIGPIPE and SIGXFSZ do not end the program: the write that they come from fails, and is told as other failed writes are.
void let_writes_fail();

// From now on SIGINT, SIGTERM, SIGHUP, SIGXCPU (a soft limit of processor time) and SIGUSR1 and SIGUSR2 (batch systems, before
// they kill) ask the subcommand to end in order. A second SIGINT or SIGTERM ends it at once; the others do not, as a terminal
// that closes may send several, and are left ignored where they were (nohup).
void watch_interrupts();
bool interrupted();

// The exit code of a subcommand that ended with `error`: 128 + the signal's number when it is what was asked for, else 1.
int exit_code_of(const Status& error);

}  // namespace tenon::runner
