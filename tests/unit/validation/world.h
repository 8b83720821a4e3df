// A host that keeps the rules, on a validated fake backend: tests then break one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/validation.h"
#include "unit/validation/fake_backend.h"

namespace tenon::validation_testing {

// The tables, made once: `fake` through validate_init, `other` over the same functions.
const tenon_backend& table();
const tenon_backend& other_table();
// Lines reported since World was made.
std::vector<std::string>& lines();

plugin::FlatGraph small_graph();  // inputs: STATE w f32[4], FEED x f32[2,4], SCALAR lr f32; results: w', loss EACH

// Device, queue, program and buffers of small_graph, compiled for 3 iterations.
class World {
 public:
  explicit World(const std::string& fault_from_the_start = "", bool async = false);
  ~World();

  const tenon_backend& t = table();
  tenon_device* device = nullptr;
  tenon_queue* queue = nullptr;
  tenon_buffer *w = nullptr, *x = nullptr, *loss = nullptr;
  tenon_program* program = nullptr;
  plugin::FlatGraph graph = small_graph();
  tenon_options options{};

  // Correct arguments, to be spoilt.
  tenon_run arguments();
  tenon_copy write_x();
  static tenon_desc desc(const std::vector<int64_t>& dims, uint64_t flags = 0);
  tenon_buffer* buffer(const std::vector<int64_t>& dims, uint64_t flags = 0, void** host = nullptr);
  tenon_queue* new_queue();
  tenon_device* new_device();
  tenon_program* compile(const plugin::FlatGraph& g, uint32_t iterations = 3);
  tenon_status open(const std::vector<uint32_t>& units, tenon_open spoilt = {});
  tenon_status supports(const tenon_graph& g);
  tenon_status submit();
  uint64_t ticket = 0;
  uint32_t done = 0;

  // The call that breaks the rule: answers TENON_ABI and the line that is reported.
  void violate(const std::function<tenon_status()>& call);
  void violate_void(const std::function<void()>& call);

 private:
  std::vector<tenon_buffer*> inputs_, results_;
  std::vector<tenon_scalar> scalars_;
  float data_[8] = {};
};

struct Case {
  const char* name;
  const char* line;  // without who did it
  void (*act)(World&);
};
#define CASE(name, line, ...)                                                                     \
  Case {                                                                                          \
#name, line, [](World & world) { [[maybe_unused]] const tenon_backend& t = world.t; __VA_ARGS__ } \
  }
inline std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
inline std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

}  // namespace tenon::validation_testing
