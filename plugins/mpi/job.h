// One process's place in a job that MPI started: joined once, left once. All of it belongs to the thread that joined.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/plugin/entry.h"

namespace tenon::mpi {

// What MPI says of a failure, in one line: "WHAT: its words". Does nothing for MPI_SUCCESS.
void check(int code, const std::string& what);

class Job {
 public:
  // Throws plugin::Error: TENON_UNAVAILABLE where no launcher started this process or MPI cannot begin, TENON_UNSUPPORTED
  // where launcher and library do not fit, or MPI was begun by the program and not for other threads.
  Job();

  MPI_Comm comm() const { return comm_; }
  uint32_t rank() const { return rank_; }
  uint32_t count() const { return count_; }
  const char* library() const { return library_.c_str(); }
  const char* host(uint32_t rank) const { return &hosts_[size_t{rank} * MPI_MAX_PROCESSOR_NAME]; }

  [[noreturn]] void abort(int code) const;
  void leave();

 private:
  void begin();
  void place();
  void gather_hosts();

  MPI_Comm comm_ = MPI_COMM_NULL;
  uint32_t rank_ = 0, count_ = 1;
  bool ours_ = false;  // begun here, not by the program
  std::string library_;
  std::vector<char> hosts_;  // MPI_MAX_PROCESSOR_NAME bytes each
};

}  // namespace tenon::mpi
