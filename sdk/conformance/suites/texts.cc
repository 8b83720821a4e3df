// Texts live as long as the contract says: until their own thread calls again, whatever others do and whatever becomes
// of what they are about.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int kNodes = 24;

// Every other node has an attribute that nobody knows, each of its own name.
plugin::FlatGraph half_known_graph(const std::string& word) {
  Sketch sketch;
  uint32_t value = sketch.state(TENON_F32, {5});
  for (int i = 0; i < kNodes; ++i) {
    value = sketch.add(value, value, {5});
    if (i % 2) sketch.builder.attr_i64("no_such_attribute_" + word + "_" + std::to_string(i), 1);
  }
  sketch.builder.result(value);
  return sketch.builder.build();
}

std::vector<tenon_verdict> ask(Subject& s, const plugin::FlatGraph& graph, const std::vector<uint32_t>& nodes) {
  std::vector<tenon_verdict> verdicts(nodes.size());
  tenon_options options{};
  options.struct_size = sizeof options;
  expect_ok(s.backend().supports(s.device(), graph.graph(), &options, nodes.data(), static_cast<uint32_t>(nodes.size()),
                                 verdicts.data(), sizeof(tenon_verdict)),
            "supports");
  return verdicts;
}

std::vector<uint32_t> all_nodes() {
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < kNodes; ++i) nodes.push_back(i);
  return nodes;
}

std::vector<std::string> reasons_of(const std::vector<tenon_verdict>& verdicts) {
  std::vector<std::string> out;
  for (const tenon_verdict& v : verdicts) out.push_back(v.reason ? v.reason : "");
  return out;
}

// What takes the place of memory that was freed too early.
void reuse_memory() {
  std::vector<std::unique_ptr<std::string>> noise;
  for (size_t i = 0; i < 4000; ++i) noise.push_back(std::make_unique<std::string>(i % 400, 'x'));
}

void expect_reasons(const std::vector<tenon_verdict>& verdicts, const std::vector<std::string>& first,
                    const std::string& when) {
  const std::vector<std::string> now = reasons_of(verdicts);
  for (size_t i = 0; i < first.size(); ++i)
    expect(now[i] == first[i], "the reason for node " + std::to_string(i) + " was '" + one_line(first[i].c_str()) +
                                   "' and is '" + one_line(now[i].c_str()) + "' " + when);
}

void expect_printable(const std::vector<std::string>& reasons) {
  for (size_t i = 0; i < reasons.size(); ++i)
    expect(one_line(reasons[i].c_str()) == reasons[i],
           "the reason for node " + std::to_string(i) + " cannot be printed: '" + one_line(reasons[i].c_str()) + "'");
}

void reasons_live_on(Subject& s) {
  const plugin::FlatGraph graph = half_known_graph("alone");
  const std::vector<tenon_verdict> verdicts = ask(s, graph, all_nodes());
  const std::vector<std::string> first = reasons_of(verdicts);
  expect_printable(first);
  reuse_memory();
  expect_reasons(verdicts, first, "without a call");
}

// The answers go by the numbers that were asked about, in their order.
void answers_follow_the_numbers(Subject& s) {
  const plugin::FlatGraph graph = half_known_graph("numbers");
  const std::vector<tenon_verdict> all = ask(s, graph, all_nodes());
  const std::vector<std::string> reasons = reasons_of(all);
  const std::vector<uint32_t> some{kNodes - 1, 2, 7, 0, 7, 4, 1};
  const std::vector<tenon_verdict> answers = ask(s, graph, some);
  const std::vector<std::string> words = reasons_of(answers);
  for (size_t k = 0; k < some.size(); ++k) {
    const std::string which = "node " + std::to_string(some[k]) + ", asked about as number " + std::to_string(k);
    expect(answers[k].answer == all[some[k]].answer, which + ", gets answer " + std::to_string(answers[k].answer) +
                                                         ", among all nodes " + std::to_string(all[some[k]].answer));
    expect(words[k] == reasons[some[k]], which + ", gets another reason than among all nodes");
  }
}

// Runs `work` on a thread of its own, to its end.
void elsewhere(const std::function<void()>& work) {
  on_threads(1, [&](int) { work(); });
}

void reasons_are_each_threads(Subject& s) {
  s.device();
  const plugin::FlatGraph mine = half_known_graph("mine"), other = half_known_graph("other");
  const std::vector<tenon_verdict> verdicts = ask(s, mine, all_nodes());
  const std::vector<std::string> first = reasons_of(verdicts);
  elsewhere([&] { ask(s, other, all_nodes()); });
  expect_reasons(verdicts, first, "after another thread's call");
}

std::string unknown_flags(Subject& s, tenon_device* device, tenon_status* status) {
  tenon_queue* queue = nullptr;
  *status = s.backend().queue_create(device, 1ull << 30, &queue);
  expect_code(*status, TENON_UNSUPPORTED, "queue_create with unknown flags");
  return status->message;
}

void messages_outlive_a_device(Subject& s) {
  tenon_device* device = s.open_device();
  tenon_status status{};
  const std::string text = unknown_flags(s, device, &status);
  elsewhere([&] { s.backend().device_close(device); });
  reuse_memory();
  expect(text == status.message, "the message changed when another thread closed its device");
}

// A copy that names a batch too small fails its queue; the text is read when the queue is gone.
void messages_outlive_a_queue(Subject& s) {
  auto queue = std::make_unique<Queue>(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  static const Floats values = ramp(64);
  const tenon_copy copy = copy_to(buffer, values.data(), buffer.bytes() + 4);
  uint64_t ticket = 0;
  const tenon_status status = s.backend().copy(queue->handle(), &copy, &ticket);
  expect(status.code != TENON_OK, "copy over the end of a buffer: found OK");
  expect_code(status, status.code, "copy over the end of a buffer");
  const std::string text = status.message;
  elsewhere([&] { queue.reset(); });
  reuse_memory();
  expect(text == status.message, "the message changed when another thread destroyed its queue");
}

// A thread that has ended takes nothing with it that others read.
void messages_of_ended_threads(Subject& s) {
  s.device();
  for (int i = 0; i < 8; ++i)
    elsewhere([&] {
      tenon_status status{};
      unknown_flags(s, s.device(), &status);
    });
  tenon_status status{};
  const std::string text = unknown_flags(s, s.device(), &status);
  reuse_memory();
  expect(text == status.message, "the message changed without a call");
}

}  // namespace

void add_text_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) { add_test(tests, "errors", "texts", name, run); };
  add("reasons stay until the next call", reasons_live_on);
  add("reasons are each thread's own", reasons_are_each_threads);
  add("answers follow the numbers that are asked about", answers_follow_the_numbers);
  add("messages outlive their device", messages_outlive_a_device);
  add("messages outlive their queue", messages_outlive_a_queue);
  add("messages outlive other threads", messages_of_ended_threads);
}

}  // namespace tenon::conformance
