// The suites in the order in which they run.
#include <algorithm>
#include <map>

#include "conformance/host/harness.h"
#include "conformance/sanitizer.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {

Tests all_tests(uint32_t samples, bool sdk_runtime) {
  Tests tests;
  for (void (*add)(Tests&) :
       {add_load_tests, add_device_tests, add_memory_tests, add_queue_tests, add_op_tests, add_composite_tests,
        add_gradient_tests, add_optimizer_tests, add_random_tests, add_program_tests, add_thread_tests,
        add_capability_tests, add_error_tests, add_feed_tests, add_collective_tests, add_leak_tests,
        add_determinism_tests, add_training_tests})
    add(tests);
  add_sampled_tests(tests, samples);
  add_sampled_graph_tests(tests, samples);
  if (samples >= kDrawn && !kSanitized) add_long_random_test(tests);  // else hours
  if (sdk_runtime) add_plan_tests(tests);
  // The tests of a group follow each other, as reports show them.
  std::map<std::string, size_t> rank;
  for (const Test& test : tests) rank.emplace(test.suite + "/" + test.group, rank.size());
  std::stable_sort(tests.begin(), tests.end(), [&](const Test& a, const Test& b) {
    return rank[a.suite + "/" + a.group] < rank[b.suite + "/" + b.group];
  });
  return tests;
}

}  // namespace tenon::conformance
