#include "conformance/suites/values/cases.h"

#include "conformance/host/session.h"
#include "tenon/op/table.h"

namespace tenon::conformance {

using plugin::GraphView;

std::vector<const Case*> cases_of(Case::Kind kind) {
  std::vector<const Case*> out;
  for (const Case& c : built_in_corpus())
    if (c.kind == kind) out.push_back(&c);
  return out;
}

Test test_of(const std::string& suite, const Case& c, int level, bool required, std::function<void(Subject&)> run) {
  Test test;
  test.suite = suite;
  test.group = c.op;
  test.name = c.name;
  test.level = level;
  test.required = required;
  test.size = static_cast<double>(case_size(c));
  test.run = std::move(run);
  return test;
}

bool is_plain(const tenon_graph& graph) {
  const GraphView view(graph);
  for (uint32_t v = 0; v < view.n_values(); ++v) {
    const int32_t t = view.value(v).dtype();
    if (t != TENON_F32 && t != TENON_I32 && t != TENON_I64 && t != TENON_BOOL) return false;
  }
  return true;
}

int level_of_primitive(std::string_view op) { return static_cast<int>(op::row(op).level); }

void with_words(const std::string& what, const std::function<void()>& work) {
  try {
    work();
  } catch (const Failure& failure) {
    throw Failure{what.empty() ? failure.text : what + ": " + failure.text};
  }
}

namespace {

// What goes wrong on buffers of the device too is told as it is there.
void name_arrangement(const std::function<void()>& in_host_memory, const std::function<void()>& plain) {
  try {
    in_host_memory();
  } catch (const Overrun&) {
    throw;  // says where; on other memory it might end the process
  } catch (const Failure& failure) {
    try {
      plain();
    } catch (const Unsupported&) {
    } catch (const Unavailable&) {
    }
    throw Failure{"HOST buffers: " + failure.text};
  }
}

}  // namespace

void check_graph(Subject& subject, const tenon_graph& graph, const std::vector<reference::Tensor>& inputs,
                 const Expected& expected, const std::string& what, tenon_options options) {
  constexpr int64_t kLarge = 1 << 16;
  int64_t elements = 0;
  for (const reference::Tensor& t : inputs) elements += reference::elements(t);
  for (const reference::Tensor& t : expected.values) elements += reference::elements(t);
  const auto run_in = [&](Place place) { expect_close(run_graph(subject, graph, inputs, place, options), expected); };
  with_words(what, [&] {
    name_arrangement([&] { run_in(Place::kHost); }, [&] { run_in(Place::kDevice); });
    if (elements <= kLarge) run_in(Place::kDevice);
  });
}

void check_steps(Subject& subject, const Case& c, const tenon_graph& graph, const std::vector<Expected>& expected,
                 Place place, const std::string& what) {
  with_words(what, [&] {
    Session session(subject, graph, place);
    for (uint32_t k = 0; k < c.steps; ++k) {
      with_words("step " + std::to_string(k + 1) + " of " + std::to_string(c.steps), [&] {
        const std::vector<reference::Tensor> inputs = inputs_of(c, subject.seed(), k);
        session.write(inputs, k == 0);
        expect_close(session.run(inputs), expected.at(k));
        session.check();
      });
    }
  });
}

}  // namespace tenon::conformance
