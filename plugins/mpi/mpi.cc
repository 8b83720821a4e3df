// mpi.so: tenon_transport on MPI. Calls are those of the standard, so that a rebuild is enough for another MPI.
//
//   job.h       joining: whether a launcher started this process, MPI's defaults, ranks and hosts; leaving, together or alone
//   requests.h  messages under way, cut into what MPI can count, and which are complete
//
// MPI is called by the thread that called tenon_transport_init, and moves messages only while it is called: in poll. Where
// that finds nothing under way it is a look at a clock. MPI's threads, where it has some, take no signals.
//
// Open MPI ends the process, with words of its own, where it cannot even begin; no caller can have it otherwise.
#include "job.h"
#include "requests.h"
#include "tenon/plugin/transport.h"

namespace tenon::mpi {
namespace {

struct Transport {
  Job job;
  Requests requests{job};
};

Transport& of(void* self) { return *static_cast<Transport*>(self); }

const char* host(void* self, uint32_t rank) { return of(self).job.host(rank); }

tenon_status send(void* self, uint32_t to, uint32_t tag, const void* data, uint64_t bytes, uint64_t token) {
  return plugin::guarded([&] { of(self).requests.send(to, tag, data, bytes, token); });
}

tenon_status receive(void* self, uint32_t from, uint32_t tag, void* data, uint64_t bytes, uint64_t token) {
  return plugin::guarded([&] { of(self).requests.receive(from, tag, data, bytes, token); });
}

tenon_status poll(void* self, uint64_t* tokens, uint32_t room, uint32_t* n) {
  *n = 0;
  return plugin::guarded([&] { *n = of(self).requests.poll(tokens, room); });
}

void abort_job(void* self, int32_t code) { of(self).job.abort(code); }

void close(void* self) { of(self).job.leave(); }

tenon_transport table_of(Transport& transport) {
  tenon_transport table{};
  table.version = TENON_TRANSPORT_VERSION;
  table.rank = transport.job.rank();
  table.count = transport.job.count();
  table.self = &transport;
  table.name = transport.job.library();
  table.host = host;
  table.send = send;
  table.receive = receive;
  table.poll = poll;
  table.abort = abort_job;
  table.close = close;
  return table;
}

}  // namespace
}  // namespace tenon::mpi

tenon_status tenon_transport_init(tenon_transport* out) {
  return tenon::plugin::guarded([&] {
    // Strings and requests are asked for until the process ends.
    static auto* const transport = new tenon::mpi::Transport;
    tenon::plugin::give(tenon::mpi::table_of(*transport), out);
  });
}
