// Part of the device suite: what a device tells of itself.
#include <functional>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

tenon_facts facts_of(Subject& s, tenon_device* device) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, facts) || !s.backend().facts)
    throw Declined{"the backend does not tell what its devices are"};
  tenon_facts facts{};
  facts.struct_size = sizeof facts;
  expect_ok(s.backend().facts(device, &facts), "facts");
  return facts;
}

struct Fact {
  const char* name;
  const char* text;
};

std::vector<Fact> texts_of(const tenon_facts& f) {
  return {{"kind", f.kind}, {"vendor", f.vendor}, {"driver", f.driver}, {"topology", f.topology}};
}

std::vector<std::string> copies_of(const tenon_facts& f) {
  std::vector<std::string> out;
  for (const Fact& fact : texts_of(f)) out.push_back(fact.text ? fact.text : "NULL");
  return out;
}

void expect_texts(const tenon_facts& f, const std::vector<std::string>& expected, const std::string& when) {
  const std::vector<std::string> found = copies_of(f);
  for (size_t i = 0; i < found.size(); ++i)
    expect(found[i] == expected[i], std::string("facts: ") + texts_of(f)[i].name + " is '" +
                                        one_line(found[i].c_str()) + "' " + when + ", before it was '" +
                                        one_line(expected[i].c_str()) + "'");
}

void tells_lines_and_enumerators(Subject& s) {
  const tenon_facts f = facts_of(s, s.device());
  for (const Fact& fact : texts_of(f)) {
    if (!fact.text) continue;
    expect(*fact.text, std::string("facts: ") + fact.name + " is empty, expected NULL where there is nothing to tell");
    expect(one_line(fact.text) == fact.text,
           std::string("facts: ") + fact.name + " is not one line that can be printed: '" + one_line(fact.text) + "'");
  }
  expect((f.flags & 0xFFFFFFFFull) == 0,
         "facts: flags " + std::to_string(f.flags) + " have low bits that no version defines");
  expect(f.trace_clock >= TENON_CLOCK_OWN && f.trace_clock <= TENON_CLOCK_PREDICTED,
         "facts: trace_clock " + std::to_string(f.trace_clock) + ", expected 0 to 2");
  expect(f.reserved == 0, "facts: reserved " + std::to_string(f.reserved) + ", expected 0");
}

// Strings belong to the device: whatever is called, on whatever thread, they stay.
void tells_the_same_each_time(Subject& s) {
  const tenon_facts first = facts_of(s, s.device());
  const std::vector<std::string> texts = copies_of(first);
  const auto again = [&](const std::string& when) {  // another call may write the strings anew
    expect_texts(first, texts, "in the strings that were given first, " + when);
    const tenon_facts now = facts_of(s, s.device());
    expect_texts(now, texts, when);
    expect(now.trace_clock == first.trace_clock, "facts: trace_clock is " + std::to_string(now.trace_clock) + " " +
                                                     when + ", before it was " + std::to_string(first.trace_clock));
  };
  again("at once");
  const Queue queue(s, s.device());
  expect_code(s.backend().wait(queue.handle(), 1ull << 40, 0), TENON_INVALID, "wait for a ticket that was not given");
  again("after an error of this thread");
  on_threads(1, [&](int) { again("on another thread"); });
  again("after another thread has ended");
}

void tells_of_each_device(Subject& s) {
  const tenon_facts mine = facts_of(s, s.device());
  const std::vector<std::string> texts = copies_of(mine);
  tenon_device* other = s.open_device();
  const std::vector<std::string> others = copies_of(facts_of(s, other));
  s.backend().device_close(other);
  expect_texts(mine, texts, "after another device was closed");
  for (size_t i = 0; i < texts.size(); ++i)
    expect(others[i] == texts[i], std::string("facts: ") + texts_of(mine)[i].name + " is '" +
                                      one_line(others[i].c_str()) + "' of a second device of the same unit, '" +
                                      one_line(texts[i].c_str()) + "' of the first");
}

}  // namespace

void add_fact_tests(Tests& tests) {
  add_test(tests, "device", "facts", "are lines and enumerators", tells_lines_and_enumerators);
  add_test(tests, "device", "facts", "are the same each time", tells_the_same_each_time);
  add_test(tests, "device", "facts", "are each device's own", tells_of_each_device);
}

}  // namespace tenon::conformance
