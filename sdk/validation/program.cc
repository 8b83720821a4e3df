// supports, compile, program_destroy.
#include <algorithm>
#include <cstring>

#include "tenon/plugin/graph.h"
#include "validation/layer.h"

namespace tenon::plugin::validation {
namespace {

constexpr uint64_t kMustKnow = TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE;
constexpr uint64_t kKnownOptions = kMustKnow | TENON_OPTION_FORECAST;
constexpr int32_t kVerdictGuard = 0x5a5a5a5a;

void check_options(const tenon_options* options) { TENON_VALIDATE_SIZE(options, tenon_options, max_iterations); }

struct Answer {
  int32_t answer;
  std::string reason;
  bool has_reason;
};

// What a question to `supports` is about.
struct Question {
  Call& call;
  Device& device;
  const tenon_graph* graph;
  const tenon_options* options;
};

// Asks for these nodes; the status, and one answer a node where it is OK.
tenon_status ask(const Question& q, const std::vector<uint32_t>& nodes, std::vector<Answer>* out) {
  const auto n = static_cast<uint32_t>(nodes.size());
  std::vector<tenon_verdict> verdicts(n + size_t{1});
  verdicts[n].answer = kVerdictGuard;
  const tenon_status status = q.call.forward(&q.device, [&] {
    return q.call.layer().inner.supports(static_cast<tenon_device*>(q.device.inner), q.graph, q.options, nodes.data(),
                                         n, verdicts.data(), sizeof(tenon_verdict));
  });
  if (status.code) return status;
  if (verdicts[n].answer != kVerdictGuard) backend_broke("wrote beyond the ", n, " verdicts it had room for");
  for (uint32_t i = 0; i < n; ++i) {
    const tenon_verdict& v = verdicts[i];
    if (v.answer < TENON_REFUSE || v.answer > TENON_TAKE)
      backend_broke("answered ", v.answer, " for node ", nodes[i], ", expected 0 to 2");
    if (v.answer == TENON_REFUSE && (!v.reason || !*v.reason))
      backend_broke("refused node ", nodes[i], " without a reason");
    out->push_back({v.answer, v.reason ? v.reason : "", v.reason != nullptr});
  }
  return status;
}

std::string describe(const tenon_graph& graph, uint32_t node) {
  const GraphView view(graph);
  return cat("node ", node, " ('", view.node(node).op(), "')");
}

void check_pure(const Question& q, const std::vector<uint32_t>& nodes, const std::vector<Answer>& first) {
  std::vector<uint32_t> reversed(nodes.rbegin(), nodes.rend());
  std::vector<Answer> again;
  if (ask(q, reversed, &again).code) backend_broke("answered OK, and an error to the same question");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Answer& other = again[nodes.size() - 1 - i];
    if (other.answer != first[i].answer)
      backend_broke("answered ", first[i].answer, " for ", describe(*q.graph, nodes[i]), ", then ", other.answer,
                    ": it is to be pure");
  }
}

void check_graph_untouched(const tenon_graph& graph, uint64_t hash) {
  if (hash_graph(graph) != hash) backend_broke("wrote into the graph");
}

// The reasons live until this thread's next call.
void give(const std::vector<Answer>& answers, tenon_verdict* out, uint64_t stride) {
  static thread_local std::vector<std::string> reasons;
  reasons.resize(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    reasons[i] = answers[i].reason;
    tenon_verdict v{};
    v.answer = answers[i].answer;
    v.reason = answers[i].has_reason ? reasons[i].c_str() : nullptr;
    std::memcpy(reinterpret_cast<char*>(out) + i * stride, &v, std::min<uint64_t>(stride, sizeof v));
  }
}

}  // namespace

tenon_status supports(Layer& layer, tenon_device* handle, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  Call call(layer, "supports");
  Device& device = call.device(handle);
  check_graph(graph, device.units);
  check_options(options);
  if (n && (!nodes || !out)) host_broke("passes no nodes or no room for the verdicts");
  if (stride < TENON_SIZE(tenon_verdict, reason) || stride % 8) host_broke("passes verdicts with a stride of ", stride);
  for (uint32_t i = 0; i < n; ++i)
    if (nodes[i] >= graph->nodes.count) host_broke("asks for node ", nodes[i], " of ", graph->nodes.count);
  check_zeroed(out, n * stride, "tenon_verdict");
  const Question question{call, device, graph, options};
  const std::vector<uint32_t> asked(nodes, nodes + n);
  const uint64_t hash = hash_graph(*graph);
  std::vector<Answer> answers;
  const tenon_status status = ask(question, asked, &answers);
  check_graph_untouched(*graph, hash);
  if (status.code) return status;
  check_pure(question, asked, answers);
  check_flags_refused(layer, options->flags, kKnownOptions, "tenon_options");
  give(answers, out, stride);
  return status;
}

namespace {

void check_info(const tenon_info& info, uint64_t room, const tenon_graph& graph) {
  if (info.struct_size > room)
    backend_broke("set info's struct_size ", info.struct_size, ", there was room for ", room);
  if (info.n_allocations == 0) return;
  if (!info.allocations || info.allocation_stride < TENON_SIZE(tenon_allocation, last))
    backend_broke("lists ", info.n_allocations, " allocations with a stride of ", info.allocation_stride);
  for (uint32_t i = 0; i < info.n_allocations; ++i) {
    tenon_allocation a{};
    std::memcpy(&a, reinterpret_cast<const char*>(info.allocations) + i * info.allocation_stride,
                std::min<uint64_t>(info.allocation_stride, sizeof a));
    const uint32_t n = graph.nodes.count;
    if (a.node >= n || a.first > a.last || a.last >= n)
      backend_broke("lists allocation ", i, " of node ", a.node, ", alive from ", a.first, " to ", a.last, ", of ", n,
                    " nodes");
  }
}

// An answer of TAKE is a promise, but for what is no node's: how a run ends, split arguments and the like.
void check_promise(const Question& q, const Signature& s, int32_t code, const std::string& text) {
  const bool excused =
      q.graph->nodes.count == 0 || s.until || s.split || s.half_scalars || (q.options->flags & ~kMustKnow);
  if (code != TENON_UNSUPPORTED || excused) return;
  std::vector<uint32_t> all(q.graph->nodes.count);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<Answer> answers;
  if (ask(q, all, &answers).code) return;
  const bool taken =
      std::all_of(answers.begin(), answers.end(), [](const Answer& a) { return a.answer == TENON_TAKE; });
  if (taken) backend_broke("takes every node of the graph and cannot compile it: ", quoted(text.c_str()));
}

void check_compile_arguments(const tenon_options* options, tenon_program** out, const tenon_info* info) {
  check_options(options);
  if (!out) host_broke("passes no place for the program");
  if (!info) return;
  TENON_VALIDATE_SIZE(info, tenon_info, reserved);
  check_zeroed(&info->flags, TENON_SIZE(tenon_info, reserved) - sizeof info->struct_size, "tenon_info");
}

void check_failed(const tenon_status& status, const tenon_program* made, const tenon_info* info) {
  if (made) backend_broke("gave a program together with an error");
  if (status.code == TENON_OUT_OF_MEMORY && info && !info->peak_bytes && !info->workspace_bytes)
    backend_broke("is out of memory and does not say in info what it needs");
}

}  // namespace

tenon_status compile(Layer& layer, tenon_device* handle, const tenon_graph* graph, const tenon_options* options,
                     tenon_program** out, tenon_info* info) {
  Call call(layer, "compile");
  Device& device = call.device(handle);
  Signature signature = check_graph(graph, device.units);
  check_compile_arguments(options, out, info);
  const uint64_t hash = hash_graph(*graph), room = info ? info->struct_size : 0;
  const ProcessState before;
  tenon_program* made = nullptr;
  tenon_status status = call.forward(&device, [&] {
    return layer.inner.compile(static_cast<tenon_device*>(device.inner), graph, options, &made, info);
  });
  if (const char* changed = before.difference()) backend_broke("changed ", changed);
  check_graph_untouched(*graph, hash);
  if (info) check_info(*info, room, *graph);
  if (status.code) {
    check_failed(status, made, info);
    const std::string text = status.message ? status.message : "";  // asking overwrites it
    check_promise({call, device, graph, options}, signature, status.code, text);
    status.message = answer(status.code, text).message;
    return status;
  }
  check_flags_refused(layer, options->flags, kKnownOptions, "tenon_options");
  auto program = std::make_unique<Program>(made, &device);
  program->signature = std::move(signature);
  program->max_iterations = std::max(options->max_iterations, 1u);
  program->nodes = graph->nodes.count;
  program->inputs = graph->inputs.count;
  *out = static_cast<tenon_program*>(layer.add(std::move(program)));
  return status;
}

void program_destroy(Layer& layer, tenon_program* handle) {
  Call call(layer, "program_destroy");
  const std::unique_ptr<Object> program = call.take(handle, Kind::kProgram);
  if (program) call.forward_void([&] { layer.inner.program_destroy(static_cast<tenon_program*>(program->inner)); });
}

}  // namespace tenon::plugin::validation
