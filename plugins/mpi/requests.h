// The messages under way of one process. Nothing is allocated for a message once as many were under way before.
#pragma once

#include <ctime>
#include <vector>

#include "job.h"

namespace tenon::mpi {

class Requests {
 public:
  explicit Requests(const Job& job) : job_(job) {}

  // As tenon_transport has them; they throw plugin::Error.
  void send(uint32_t to, uint32_t tag, const void* data, uint64_t bytes, uint64_t token);
  void receive(uint32_t from, uint32_t tag, void* data, uint64_t bytes, uint64_t token);
  uint32_t poll(uint64_t* tokens, uint32_t room);

 private:
  // MPI counts bytes in an int: a long message is several of MPI's, in order.
  struct Part {
    uint32_t message;  // of messages_
    uint32_t peer;
    int bytes;
    bool received;
  };
  struct Message {
    uint64_t token;
    uint64_t parts;  // that are under way
  };

  void check_arguments(uint32_t peer, uint32_t tag, const void* data, uint64_t bytes) const;
  uint32_t add_message(uint64_t parts, uint64_t token);
  template <class Begin>
  void begin(uint32_t peer, uint64_t bytes, uint64_t token, bool received, Begin begin);
  void look();
  void finish(const Part& part, const MPI_Status& status);
  void drop_finished();
  void move_on();
  [[noreturn]] void fail(int finished) const;
  std::string about(const Part& part) const;

  const Job& job_;
  std::vector<MPI_Request> requests_;  // dense, beside parts_
  std::vector<Part> parts_;
  std::vector<Message> messages_;
  std::vector<uint32_t> free_;  // of messages_
  std::vector<uint64_t> done_;  // tokens, of which the first given_ are with the caller
  size_t given_ = 0;
  std::vector<int> indices_;  // MPI_Testsome's answers
  std::vector<MPI_Status> statuses_;
  timespec moved_{};
};

}  // namespace tenon::mpi
