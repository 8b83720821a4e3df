#include "bench/bench_exchange.h"

#include <algorithm>

#include "command.h"
#include "tenon/processes.h"

namespace tenon::runner {

void declare_bench_exchange(Flags& flags) {
  flags.leave_out({"device", "seed", "threads"});
  flags.number("megabytes", 102, "of f32 numbers that are added up, in millions of bytes", 0.000004, 1e6);
  flags.integer("rounds", 15, "measurements", 1, 1e6);
}

int run_bench_exchange(const Flags& flags) {
  if (process_count() == 1) throw UsageError{"there is one process; start several: mpirun -n 2 tenon bench exchange"};
  const auto bytes = static_cast<uint64_t>(flags.number("megabytes") * 1e6) / sizeof(float) * sizeof(float);
  std::vector<double> ms = time_exchange(bytes, static_cast<int>(flags.integer("rounds"))).take();
  for (double& one : ms) one *= 1e3;
  std::sort(ms.begin(), ms.end());
  const double least = ms.front(), median = ms[ms.size() / 2];
  const char* const through = processes_share_memory() ? "shared memory" : "messages";
  if (flags.boolean("json")) {
    print_line(Json("result")
                   .add("bytes", bytes)
                   .add("processes", process_count())
                   .add("through", through)
                   .add("min_ms", least)
                   .add("median_ms", median)
                   .add("gb_per_second", static_cast<double>(bytes) / least * 1e-6)
                   .str());
    return 0;
  }
  print("%s over %s, %s: min_ms %.4g  median_ms %.4g  (%.3g GB/s)\n", bytes_text(static_cast<double>(bytes)).c_str(),
        format("%d processes", process_count()).c_str(), through, least, median,
        static_cast<double>(bytes) / least * 1e-6);
  return 0;
}

}  // namespace tenon::runner
