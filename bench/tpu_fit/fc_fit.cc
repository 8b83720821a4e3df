// Fits a machine's constants to measured dense networks, and says how well they predict those that were left out.
//
//   fc_fit POINTS.csv [--machine v2-8] [--fit ROWS] [--seed N] [--rows]
//
// POINTS.csv: layers,nodes,input,output,batch,step_ms; step_ms empty = out of memory. --fit 0 only evaluates.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "bench/tpu_fit/fc_graph.h"
#include "plugins/tpu-emulator/forecast/step_forecast.h"
#include "plugins/tpu-emulator/machine/pieces.h"
#include "plugins/tpu-emulator/time/fusion.h"
#include "plugins/tpu-emulator/time/kernel_time.h"
#include "plugins/tpu-emulator/time/schedule.h"
#include "plugins/tpu-emulator/time/step_time.h"

namespace {

using tenon::plugin::FlatGraph;
using tenon::plugin::GraphView;

struct Point {
  tpu_fit::FcNet net;
  int64_t batch = 0;   // of all cores
  double seconds = 0;  // 0: out of memory
};

struct Constant {
  const char* name;
  double tpu::Machine::*field;
};

const Constant kFree[] = {
    {"matrix_efficiency", &tpu::Machine::matrix_efficiency},
    {"launch_s", &tpu::Machine::launch_s},
    {"rmsprop_extra_bytes", &tpu::Machine::rmsprop_extra_bytes},
    {"collective_bytes_per_s", &tpu::Machine::collective_bytes_per_s},
    {"collective_launch_s", &tpu::Machine::collective_launch_s},
    {"collective_fill_s", &tpu::Machine::collective_fill_s},
    {"collective_piece_bytes", &tpu::Machine::collective_piece_bytes},
    {"overlap_loss", &tpu::Machine::overlap_loss},
    {"infeed_one_hot_element_s", &tpu::Machine::infeed_one_hot_element_s},
    {"infeed_bytes_per_s", &tpu::Machine::infeed_bytes_per_s},
    {"infeed_one_hot_bytes_per_s", &tpu::Machine::infeed_one_hot_bytes_per_s},
    {"infeed_example_s", &tpu::Machine::infeed_example_s},
    {"infeed_step_s", &tpu::Machine::infeed_step_s},
    {"infeed_jitter", &tpu::Machine::infeed_jitter},
    {"infeed_jitter_most_s", &tpu::Machine::infeed_jitter_most_s},
    {"host_step_s", &tpu::Machine::host_step_s},
};

std::vector<Point> read_points(const char* path, int cores) {
  std::ifstream in(path);
  if (!in) {
    std::fprintf(stderr, "fc_fit: cannot read %s\n", path);
    std::exit(1);
  }
  std::vector<Point> points;
  for (std::string line; std::getline(in, line);) {
    Point p;
    const int n = std::sscanf(line.c_str(), "%ld,%ld,%ld,%ld,%ld,%lf", &p.net.layers, &p.net.nodes, &p.net.input,
                              &p.net.output, &p.batch, &p.seconds);
    if (n < 5) continue;  // comments, the names of columns
    p.seconds *= 1e-3;
    p.net.batch = p.batch / cores;
    points.push_back(p);
  }
  return points;
}

// A net up to where the machine's constants come in.
struct Prepared {
  explicit Prepared(const Point& p)
      : point(p),
        flat(tpu_fit::FcGraph(p.net).build()),
        graph(*flat.graph()),
        program(tpu::lower(graph)),
        fused(tpu::fuse(program)),
        order(tpu::schedule(program, fused)) {}

  double predicted(const tpu::Machine& machine) const {
    tpu::Forecast forecast;
    for (uint32_t k : order) forecast.kernels.push_back(tpu::time_kernel(program, fused[k], machine));
    tpu::time_step(graph, machine, {}, forecast);
    return forecast.step_s;
  }

  Point point;
  FlatGraph flat;
  GraphView graph;
  tpu::StepGraph program;
  std::vector<tpu::FusedKernel> fused;
  std::vector<uint32_t> order;
};

// Mean of log(predicted / measured), softened so that a few odd measurements do not lead.
double error(const std::deque<Prepared>& nets, const tpu::Machine& machine) {
  constexpr double kSoft = 0.03;
  double sum = 0;
  for (const Prepared& net : nets) {
    const double e = std::log(net.predicted(machine) / net.point.seconds) / kSoft;
    sum += std::sqrt(1 + e * e) - 1;
  }
  return sum / static_cast<double>(nets.size());
}

// One constant after the other, in steps that shrink.
void fit(const std::vector<Point>& points, tpu::Machine& machine) {
  std::deque<Prepared> nets;
  for (const Point& p : points) nets.emplace_back(p);
  double best = error(nets, machine);
  for (double step = 0.2; step > 0.01; step /= 2) {
    for (int round = 0; round < 4; ++round) {
      const double before = best;
      for (const Constant& constant : kFree)
        for (double factor : {1 + step, 1 / (1 + step)}) {
          tpu::Machine trial = machine;
          trial.*constant.field *= factor;
          if (trial.matrix_efficiency > 1 || trial.overlap_loss > 1) continue;
          const double e = error(nets, trial);
          if (e >= best) continue;
          best = e;
          machine = trial;
        }
      std::fprintf(stderr, "step %.3f: %.5f\n", step, best);
      if (best > before * 0.999) break;
    }
  }
}

void report(const char* title, const std::vector<Point>& points, const tpu::Machine& machine, bool rows) {
  std::vector<double> errors;
  size_t right_oom = 0, oom = 0, false_oom = 0;
  double least_oom = 1e30, most_run = 0;
  for (const Point& p : points) {
    const FlatGraph graph = tpu_fit::FcGraph(p.net).build();
    const tpu::Forecast f = tpu::forecast(GraphView(*graph.graph()), machine, {});
    const double used = static_cast<double>(f.memory.total_bytes) / static_cast<double>(f.memory.capacity_bytes);
    if (p.seconds == 0) {
      ++oom;
      right_oom += !f.memory.fits();
      least_oom = std::min(least_oom, used);
      continue;
    }
    most_run = std::max(most_run, used);
    false_oom += !f.memory.fits();
    errors.push_back(std::abs(f.step_s / p.seconds - 1));
    if (rows)
      std::printf("%ld,%ld,%ld,%ld,%ld,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%s\n", p.net.layers, p.net.nodes, p.net.input,
                  p.net.output, p.batch, p.seconds * 1e3, f.step_s * 1e3, f.device_s * 1e3, f.infeed_s * 1e3,
                  f.collective_s * 1e3, f.update_s * 1e3, f.bottleneck.c_str());
  }
  std::sort(errors.begin(), errors.end());
  const auto within = [&](double limit) {
    const auto end = std::upper_bound(errors.begin(), errors.end(), limit);
    return 100.0 * static_cast<double>(end - errors.begin()) / static_cast<double>(errors.size());
  };
  if (!errors.empty())
    std::printf("%s: %zu points, median error %.2f %%, within 15 %%: %.1f %%, within 10 %%: %.1f %%\n", title,
                errors.size(), 100 * errors[errors.size() / 2], within(0.15), within(0.10));
  if (oom == 0) return;
  std::printf(
      "%s: out of memory %zu of %zu, false %zu; of a core's memory %.3f at most where it ran, %.3f at least else\n",
      title, right_oom, oom, false_oom, most_run, least_oom);
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "v2-8", path;
  size_t rows = 200;
  unsigned seed = 1;
  bool print_rows = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--machine" && i + 1 < argc) {
      name = argv[++i];
    } else if (arg == "--fit" && i + 1 < argc) {
      rows = static_cast<size_t>(std::atoi(argv[++i]));
    } else if (arg == "--seed" && i + 1 < argc) {
      seed = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (arg == "--rows") {
      print_rows = true;
    } else {
      path = arg;
    }
  }
  try {
    tpu::Machine machine = tpu::load_machine(name);
    const std::vector<Point> points = read_points(path.c_str(), machine.cores);
    std::vector<Point> ran, oom, chosen;
    for (const Point& p : points) (p.seconds > 0 ? ran : oom).push_back(p);
    std::shuffle(ran.begin(), ran.end(), std::mt19937(seed));
    rows = std::min(rows, ran.size());
    chosen.assign(ran.begin(), ran.begin() + static_cast<std::ptrdiff_t>(rows));
    if (rows > 0) {
      fit(chosen, machine);
      for (const Constant& constant : kFree) std::printf("    \"%s\": %.4g,\n", constant.name, machine.*constant.field);
      report("fitted", chosen, machine, false);
    }
    std::vector<Point> rest(ran.begin() + static_cast<std::ptrdiff_t>(rows), ran.end());
    rest.insert(rest.end(), oom.begin(), oom.end());
    report("left out", rest, machine, print_rows);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fc_fit: %s\n", e.what());
    return 1;
  }
}
