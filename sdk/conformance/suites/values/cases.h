// What the suites of the corpus share: op, composite, gradient, optimizer, training.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/corpus/corpus.h"
#include "conformance/expected.h"
#include "conformance/host/harness.h"
#include "conformance/host/subject.h"

namespace tenon::conformance {

// The cases of one kind, in the corpus's order.
std::vector<const Case*> cases_of(Case::Kind kind);

// A test of a case: suite, "op/name" of the case, its size.
Test test_of(const std::string& suite, const Case& c, int level, bool required, std::function<void(Subject&)> run);

// Whether a graph has no dtypes but those that every backend needs: f32, i32, i64 and bool.
bool is_plain(const tenon_graph& graph);
// The level that needs a primitive op, 1 or 2.
int level_of_primitive(std::string_view op);

// Runs the graph once on device buffers and once on HOST buffers, large ones in one of the two places, and compares. `what` leads the text of a failure.
void check_graph(Subject& subject, const tenon_graph& graph, const std::vector<reference::Tensor>& inputs,
                 const Expected& expected, const std::string& what = {}, tenon_options options = {});

// Runs the steps of a case, its states aliased, and compares every result after each.
void check_steps(Subject& subject, const Case& c, const tenon_graph& graph, const std::vector<Expected>& expected,
                 Place place, const std::string& what = {});

// Work whose failures begin with `what`, if that is not empty.
void with_words(const std::string& what, const std::function<void()>& work);

// One whose inputs and results are too large for the reference: run where there is memory, compared part by part.
void check_large(Subject& subject, const Case& c);

}  // namespace tenon::conformance
