// Load for an HTTP server: the same request again and again, at a constant rate, whatever the answers take (an open loop), or as fast as
// answers come (a closed one).
//
// In an open loop request i is due at i / rate. Its latency counts from then, also where all connections wait for answers and it is
// sent later: a server that stalls is not spared the requests that came meanwhile ("coordinated omission").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon::server {

struct LoadOptions {
  std::string host = "127.0.0.1";  // an address
  int port = 8501;
  std::string request;      // head and body of an HTTP/1.1 request
  double rate = 0;          // requests a second; 0: a closed loop
  double seconds = 5;       // in which requests are due
  double warm_seconds = 1;  // before them, at the same rate; not counted
  int connections = 16;
};

struct LoadResult {
  double seconds = 0;             // from the first counted request to the last answer
  std::vector<double> latencies;  // of answers 200, in seconds, in order of size
  std::map<int, int64_t> codes;   // answers by HTTP code; 0: none came, the connection broke
  int64_t asked = 0;              // requests that were due

  double percentile(double p) const;  // of latencies, 0 to 100; 0 where there are none
  double mean() const;
  double answers_per_second() const { return seconds > 0 ? static_cast<double>(latencies.size()) / seconds : 0; }
};

// On the calling thread alone. kUnavailable: nobody listens there.
Result<LoadResult> run_load(const LoadOptions& options);

}  // namespace tenon::server
