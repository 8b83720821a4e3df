// Machines and the network between them, as a prediction knows them (tenon/scaling.h).
#pragma once

namespace tenon {

// What goes through at most, for a host as a whole and in one direction, and what each message takes beside.
struct Link {
  double bytes_per_s = 0;
  double latency_s = 0;
};

// Hosts that are alike.
struct Cluster {
  int hosts = 1, processes_per_host = 1, units_per_process = 1;
  bool shared_memory = true;  // the processes of one host exchange through it, as long as all are on that host
  Link inside;                // between processes of one host: what all of them send each other together
  Link between;               // what a host sends to others; of one host it does not matter

  // At most of each number, and of all units together.
  static constexpr int kMost = 65536, kMostUnits = 1 << 20;
  int processes() const { return hosts * processes_per_host; }
  bool is_of_most() const { return double{1} * hosts * processes_per_host * units_per_process <= kMostUnits; }
};

}  // namespace tenon
