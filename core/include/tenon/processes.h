// The processes of one job, which train one model together: those that mpirun or srun started.
//
//   mpirun -n 4 tenon train fashion --data_dir data --model_dir model
//
// A program needs no line for it. Each process has a device of its own, of which the units of all processes together
// are the replicas: they share each batch, their gradients are added up in the order of the ranks, and each computes
// the same weights. Results, losses, metrics and rows, are those of all. Process 0 alone writes: checkpoints, events,
// lines. What a program does beside Tenon it does in every process; it asks is_first_process() where one has to do it.
//
// All processes have to call the same functions in the same order: training, evaluating, reading results and saving are
// done together. Where one of them cannot go on, all end. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// This process's place in its job, as the launcher says; 0 of 1 without one.
int process_rank();
int process_count();
inline bool is_first_process() { return process_rank() == 0; }

// Meets the other processes, through lib/tenon/transport/mpi.so; a Strategy and an Estimator do it by themselves.
// Nothing where this process is alone.
Status join_processes();
// The machine that a process runs on. REQUIRED: join_processes() was ok, rank < process_count().
std::string process_host(int rank);

// An error, the same in all processes, where one of them has another value than process 0. All call it, after
// join_processes().
Status expect_same_in_processes(std::string_view what, const std::string& value);
// A text of each process, by rank, of up to 4,000 bytes. All call it; one process alone gives its own.
Result<std::vector<std::string>> gather_from_processes(const std::string& text);

// Whether what they exchange goes through memory of one machine that all of them see, and not by messages. After
// join_processes().
bool processes_share_memory();
// How many seconds each of so many sums of f32 numbers over all processes took; `bytes` of them.
Result<std::vector<double>> time_exchange(uint64_t bytes, int times);

// Before a process of several ends because of an error: tells the others, whom it meets for that where it has not yet,
// and who end too. True where this process is to say the line; false where another one says it. A process that ends by
// itself without this ends the job as well, within seconds. The transport is closed as the process exits, by exit() or main's
// return: the one that says the line is the first to go.
bool leave_processes(const std::string& error);

}  // namespace tenon
