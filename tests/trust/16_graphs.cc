// Every graph of the conformance suite's corpus, damaged in one place, given to a backend's `supports` and `compile`: a
// status with a text each time, or a program, which is then run on inputs of NaN, infinity and indices out of range;
// never a signal, an endless loop or a huge allocation.
//   16_graphs LIBRARY DAMAGES [STEP [SECONDS]]
// DAMAGES: of each graph; STEP: every such case of an op; SECONDS: no new one after that. Prints counts
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>

#include "conformance/corpus/corpus.h"
#include "conformance/host/session.h"
#include "damaged_graph.h"
#include "tenon/plugin/graph.h"

namespace tenon::conformance {
namespace {

using plugin::GraphView;

// What the child is at, and what it has done; shared with the parent.
struct State {
  uint64_t next, tried, refused, accepted, ran, untouched_refused, internal, wordless;
  time_t deadline;  // 0 none
  char what[300];
};

struct Sample {
  const tenon_graph* graph;
  std::string name;
};

// Each op's cases, in primitives and as they are.
std::vector<Sample> samples(uint64_t step) {
  std::vector<Sample> out;
  uint64_t k = 0;
  std::set<std::string> seen;
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kOp && c.kind != Case::kUpdate) continue;
    if (c.min_memory || case_size(c) > 20000) continue;
    const bool fresh = seen.insert(c.op).second;
    if (!fresh && k++ % step) continue;
    out.push_back({c.whole.graph(), c.op + " " + c.name});
    if (c.lowered.graph()->nodes.count > 1) out.push_back({c.lowered.graph(), c.op + " " + c.name + " in primitives"});
  }
  return out;
}

std::set<std::string> ops_of(const std::vector<Sample>& all) {
  std::set<std::string> ops;
  for (const Sample& s : all)
    for (uint32_t i = 0; i < s.graph->nodes.count; ++i) ops.emplace(GraphView(*s.graph).node(i).op());
  return ops;
}

// On what no index, label or cast expects.
void run_badly(Subject& subject, const tenon_graph& graph, State& state) {
  const GraphView view(graph);
  int64_t elements = 0;
  for (uint32_t v = 0; v < view.n_values(); ++v) elements += view.value(v).elements();
  if (elements > 1 << 16) return;
  Fill fill;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  fill.values = {std::numeric_limits<double>::quiet_NaN(), -1, 1e30, kInf, 0, 5, -kInf, 2147483648.0, -9.3e18, 1};
  std::vector<reference::Tensor> inputs;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    const plugin::ValueView value = view.value(view.input(i).value);
    inputs.push_back(make_tensor(value.dtype(), value.dims().vec(), fill));
  }
  Session session(subject, graph, Place::kHost);
  session.write(inputs);
  session.run(inputs);
  session.check();
  ++state.ran;
}

void wordless(State& state, const char* entry) {
  ++state.wordless;
  std::fprintf(stderr, "%s: %s fails without a word\n", state.what, entry);
}

void note(const tenon_status& status, State& state) {
  ++state.tried;
  if (status.code == TENON_OK) {
    ++state.accepted;
    return;
  }
  ++state.refused;
  const char* text = status.message;
  if (!text || !*text || *text == '\n') wordless(state, "compile");
  if (status.code < TENON_OK || status.code >= TENON_INTERNAL) {
    ++state.internal;
    std::fprintf(stderr, "%s: code %d, '%s'\n", state.what, status.code, text ? text : "");
  }
}

void offer(Subject& subject, const tenon_graph& graph, State& state, bool untouched) {
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_verdict verdict{};
  const uint32_t first = 0;
  if (!untouched && graph.nodes.count) {
    const tenon_status asked =
        subject.backend().supports(subject.device(), &graph, &options, &first, 1, &verdict, sizeof verdict);
    if (asked.code != TENON_OK && (!asked.message || !*asked.message)) wordless(state, "supports");
  }
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  const tenon_status status = subject.backend().compile(subject.device(), &graph, &options, &program, &info);
  const bool refused = status.code != TENON_OK && status.code != TENON_UNSUPPORTED;
  if (untouched && refused) {
    ++state.untouched_refused;
    std::fprintf(stderr, "%s: %s\n", state.what, status.message ? status.message : "");
  }
  if (!untouched) note(status, state);
  if (status.code != TENON_OK) return;
  subject.backend().program_destroy(program);
  try {
    run_badly(subject, graph, state);
  } catch (const Unsupported&) {
  } catch (const Unavailable&) {
  }
}

constexpr uint64_t kFarApart = 7919;  // prime, and larger than there are samples

[[noreturn]] void work(const std::string& library, const std::vector<Sample>& all, uint64_t damages, State& state) {
  const rlimit memory{uint64_t{6} << 30, uint64_t{6} << 30}, cpu{120, 130}, none{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_CORE, &none);
  try {
    Subject subject(library, 1);
    subject.device();
    // Far apart, so that those before a deadline are of all kinds.
    for (; state.next < all.size() * (damages + 1); ++state.next) {
      if (state.deadline && std::time(nullptr) >= state.deadline) break;
      const Sample& sample = all[state.next / (damages + 1) * kFarApart % all.size()];
      const uint64_t seed = (state.next + 1) % (damages + 1);  // 0, last: as it is
      DamagedGraph damaged(*sample.graph);
      const std::string what = seed ? Damage(damaged, state.next).make() : "as it is";
      if (what.empty()) continue;
      std::snprintf(state.what, sizeof state.what, "%s, %s (number %llu)", sample.name.c_str(), what.c_str(),
                    static_cast<unsigned long long>(state.next));
      offer(subject, damaged.header(), state, seed == 0);
    }
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", state.what, failure.text.c_str());
    std::_Exit(3);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", state.what, error.what());
    std::_Exit(3);
  } catch (const Unsupported& reason) {
    std::_Exit(77);
  } catch (const Unavailable& reason) {
    std::_Exit(77);
  }
  std::_Exit(0);
}

int graphs(const std::string& library, uint64_t damages, uint64_t step, uint64_t seconds) {
  auto* state =
      static_cast<State*>(mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (state == MAP_FAILED) return 2;
  const std::vector<Sample> all = samples(step);
  if (seconds) state->deadline = std::time(nullptr) + static_cast<time_t>(seconds);
  uint64_t ended = 0;
  for (int status = 1; status != 0 && ended < 20; ++state->next) {
    const pid_t child = fork();
    if (child == 0) work(library, all, damages, *state);
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return 77;
    if (status == 0) break;
    ++ended;
    std::fprintf(stderr, "%s %d: %s\n", WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), state->what);
  }
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "%zu graphs of %zu ops, %llu damages: %llu refused in words, %llu accepted, %llu runs on bad values; %llu ended "
      "the process, %llu INTERNAL, %llu without words, %llu whole graphs refused\n",
      all.size(), ops_of(all).size(), number(state->tried), number(state->refused), number(state->accepted),
      number(state->ran), number(ended), number(state->internal), number(state->wordless),
      number(state->untouched_refused));
  return ended || state->internal || state->wordless || state->untouched_refused;
}

}  // namespace
}  // namespace tenon::conformance

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: 16_graphs LIBRARY DAMAGES [STEP [SECONDS]]\n");
    return 2;
  }
  const auto number = [&](int i, unsigned long long missing) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : missing;
  };
  return tenon::conformance::graphs(argv[1], number(2, 0), std::max(1ull, number(3, 1)), number(4, 0));
}
