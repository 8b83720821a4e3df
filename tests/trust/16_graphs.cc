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
#include <random>
#include <set>

#include "conformance/corpus.h"
#include "conformance/session.h"
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

constexpr uint64_t kHuge[] = {0,
                              1,
                              9,
                              255,
                              uint64_t{1} << 31,
                              uint64_t{1} << 32,
                              uint64_t{1} << 62,
                              UINT64_MAX,
                              uint64_t{1} << 63,
                              0x7FF8000000000000u /* NaN */,
                              77};

// A graph in bytes that end before a page which nobody may read.
class DamagedGraph {
 public:
  explicit DamagedGraph(const tenon_graph& graph) : header_(graph) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    room_ = (graph.data_size + 63) / 64 * 64;
    mapped_ = (room_ + page - 1) / page * page + page;
    auto* base =
        static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED || mprotect(base + mapped_ - page, page, PROT_NONE) != 0) std::_Exit(2);
    base_ = base;
    header_.data = base + mapped_ - page - room_;
    std::memcpy(data(), graph.data, graph.data_size);
  }
  ~DamagedGraph() { munmap(base_, mapped_); }
  DamagedGraph(const DamagedGraph&) = delete;
  DamagedGraph& operator=(const DamagedGraph&) = delete;

  tenon_graph& header() { return header_; }
  uint8_t* data() { return base_ + (mapped_ - static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - room_); }
  template <class T>
  T* element(const tenon_array& array, uint64_t i) {
    return reinterpret_cast<T*>(data() + array.at + i * array.stride);
  }

 private:
  tenon_graph header_;
  uint8_t* base_ = nullptr;
  uint64_t room_ = 0, mapped_ = 0;
};

class Damage {
 public:
  Damage(DamagedGraph& graph, uint64_t seed) : g_(graph), random_(seed * 0x9E3779B97F4A7C15u + 1) {}

  // In words.
  std::string make() {
    switch (random_() % 12) {
      case 0:
        return header();
      case 1:
      case 2:
        return value();
      case 3:
      case 4:
        return node();
      case 5:
        return id();
      case 6:
        return attribute();
      case 7:
      case 8:
      case 9:
        return payload();
      case 10:
        return random_() % 2 ? result() : input();
      default:
        return constant();
    }
  }

 private:
  template <class T>
  void set(T* number) {
    const uint64_t value = random_() % 3 == 0 ? static_cast<uint64_t>(*number) + 1 - 2 * (random_() % 2)
                                              : kHuge[random_() % std::size(kHuge)];
    *number = static_cast<T>(value);
  }
  template <class T>
  T* pick(const tenon_array& array) {
    return array.count ? g_.element<T>(array, random_() % array.count) : nullptr;
  }

  std::string header() {
    tenon_graph& h = g_.header();
    tenon_array* const arrays[] = {&h.values, &h.nodes,   &h.ids,       &h.attrs,
                                   &h.inputs, &h.results, &h.constants, &h.strings};
    tenon_array& array = *arrays[random_() % 8];
    switch (random_() % 6) {
      case 0:
        h.struct_size = random_() % sizeof h;
        return "struct_size";
      case 1:
        h.data = random_() % 2 ? nullptr : h.data + 8;
        return "data";
      case 2:
        h.data_size /= 2;
        return "data_size";
      case 3:
        set(&array.at);
        return "where an array lies";
      case 4:
        set(&array.count);
        return "the count of an array";
      default:
        set(&array.stride);
        return "the stride of an array";
    }
  }
  std::string value() {
    auto* v = pick<tenon_value>(g_.header().values);
    if (!v) return {};
    const uint64_t axis = random_() % std::max(v->rank, 1u) % TENON_MAX_RANK;
    switch (random_() % 5) {
      case 0:
        set(&v->dtype);
        return "a value's dtype";
      case 1:
        set(&v->rank);
        return "a value's rank";
      case 2:
        set(&v->extent[axis]);
        return "a value's extent";
      case 3:
        set(&v->name.at);
        return "a value's name";
      default:
        set(&v->dims[axis]);
        return "a value's dimension";
    }
  }
  std::string node() {
    auto* n = pick<tenon_node>(g_.header().nodes);
    if (!n) return {};
    switch (random_() % 9) {
      case 0:
        n->op = pick<tenon_node>(g_.header().nodes)->op;
        return "a node's op is another's";
      case 1:
        set(&n->op.at);
        return "where a node's op is named";
      case 2:
        set(&n->op.size);
        return "the size of a node's op";
      case 3:
        set(&n->version);
        return "a node's version";
      case 4:
        set(&n->operands.first);
        return "a node's operands";
      case 5:
        set(&n->operands.count);
        return "the count of a node's operands";
      case 6:
        set(&n->results.count);
        return "the count of a node's results";
      case 7:
        set(&n->attrs.count);
        return "the count of a node's attributes";
      default:
        set(&n->attrs.first);
        return "a node's attributes";
    }
  }
  std::string id() {
    auto* i = pick<uint32_t>(g_.header().ids);
    if (!i) return {};
    const uint32_t n = g_.header().values.count;
    *i = random_() % 4 == 0 ? TENON_NONE : random_() % 3 == 0 ? n : static_cast<uint32_t>(random_() % n);
    return "a value's id is another";
  }
  std::string attribute() {
    auto* a = pick<tenon_attr>(g_.header().attrs);
    if (!a) return {};
    switch (random_() % 5) {
      case 0:
        a->name.at += 1;
        return "an attribute's name";
      case 1:
        set(&a->at);
        return "where an attribute lies";
      case 2:
        set(&a->count);
        return "the count of an attribute";
      default:
        a->type = static_cast<int32_t>(random_() % 10);
        return "an attribute's type";
    }
  }
  std::string payload() {
    auto* a = pick<tenon_attr>(g_.header().attrs);
    if (!a || a->type == TENON_ATTR_BYTES || a->count == 0) return {};
    set(reinterpret_cast<uint64_t*>(g_.data() + a->at) + random_() % a->count);
    return "an attribute's number";
  }
  std::string input() {
    auto* i = pick<tenon_input>(g_.header().inputs);
    if (!i) return {};
    int32_t* const fields[] = {&i->role, &i->placement, reinterpret_cast<int32_t*>(&i->value)};
    set(fields[random_() % 3]);
    return "an input";
  }
  std::string result() {
    auto* r = pick<tenon_result>(g_.header().results);
    if (!r) return {};
    uint32_t* const fields[] = {&r->value, reinterpret_cast<uint32_t*>(&r->mode), &r->alias};
    set(fields[random_() % 3]);
    return "a result";
  }
  std::string constant() {
    auto* c = pick<tenon_constant>(g_.header().constants);
    if (!c) return {};
    switch (random_() % 3) {
      case 0:
        set(&c->value);
        break;
      case 1:
        set(&c->at);
        break;
      default:
        set(&c->bytes);
    }
    return "a constant";
  }

  DamagedGraph& g_;
  std::mt19937_64 random_;
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
    if (value.has_extents()) return;
    inputs.push_back(make_tensor(value.dtype(), value.dims().vec(), fill));
  }
  Session session(subject, graph, Place::kGuarded);
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
