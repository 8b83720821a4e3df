// Calls as plain as they may be, of which a test changes one thing.
#pragma once

#include "conformance/suites/support.h"

namespace tenon::conformance {

tenon_options plain_options();
tenon_open plain_open(Subject& s);
tenon_desc plain_desc();  // f32[3, 5]

// What the call says; what it made is released again.
tenon_status try_open(Subject& s, const tenon_open& open);
tenon_status try_supports(Subject& s, const tenon_graph& graph, const tenon_options& options);
tenon_status try_compile(Subject& s, const tenon_graph& graph, const tenon_options& options);
tenon_status try_alloc(Subject& s, const tenon_desc& desc, void** host = nullptr);

// A run of sum_graph with all that it needs.
struct Sum {
  explicit Sum(Subject& s);
  tenon_status run(const tenon_run& run);
  void check();

  Subject& subject;
  Queue queue;
  Program program;
  Buffer a, b, r;
  Arguments arguments;
};

}  // namespace tenon::conformance
