/* Messages between the processes of one job: what a library such as mpi.so gives the core.
 *
 * A transport is a shared library lib/tenon/transport/NAME.so that exports `tenon_transport_init`. The core loads it only
 * in a process that a launcher started (mpirun, srun); nothing else depends on it. The core builds its collectives from
 * messages, and decides about sums and their order itself.
 *
 * All entries, init among them, are called by one thread, which the core keeps for it. None may block for long. Structs
 * begin with struct_size and grow at their end, as in tenon/abi/types.h. Strings live as long as the transport.
 */
#ifndef TENON_PLUGIN_TRANSPORT_H
#define TENON_PLUGIN_TRANSPORT_H

#include "tenon/abi/types.h"

#define TENON_TRANSPORT_VERSION 1u

typedef struct tenon_transport {
  uint64_t struct_size;
  uint64_t flags;
  uint32_t version; /* TENON_TRANSPORT_VERSION of the library */
  uint32_t rank;    /* of this process, from 0 */
  uint32_t count;   /* of processes */
  uint32_t reserved;
  void* self;
  const char* name; /* library and version, for people: "Open MPI 4.1.4" */

  /* The name of the machine that a process runs on. REQUIRED: rank < count. */
  const char* (*host)(void* self, uint32_t rank);

  /* Begin to send to, or to receive from, another process. Messages between two processes with one tag (below
   * 32,768) arrive in the order in which they were sent; one is received with exactly the bytes that it was sent
   * with, which may be 0. The memory stays as it is, or is written, until poll has given `token`, which is the
   * caller's. */
  tenon_status (*send)(void* self, uint32_t to, uint32_t tag, const void* data, uint64_t bytes, uint64_t token);
  tenon_status (*receive)(void* self, uint32_t from, uint32_t tag, void* data, uint64_t bytes, uint64_t token);

  /* Moves messages on. Writes the tokens of those that are complete, each once, at most `room`; *n: how many. An
   * error is one of the job: no message can be relied on from then on. Does not wait. */
  tenon_status (*poll)(void* self, uint64_t* tokens, uint32_t room, uint32_t* n);

  /* Ends all processes of the job with this exit code, as far as they can be reached, and this one; does not return. */
  void (*abort)(void* self, int32_t code);

  /* All messages are complete: the job ends in order. Called once, last, by every process. */
  void (*close)(void* self);
} tenon_transport;

#ifdef __cplusplus
extern "C" {
#endif
/* Joins the job. Fills `out` up to its struct_size and sets struct_size to what it filled. TENON_UNAVAILABLE and
 * why: this process is in no job of this kind. Called once. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
tenon_status tenon_transport_init(tenon_transport* out);
#ifdef __cplusplus
}
#endif

#endif
