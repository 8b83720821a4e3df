// Graphs that no core may hand out, and what goes with them.
#include <algorithm>
#include <cstring>

#include "unit/validation/world.h"

namespace tenon::validation_testing {
namespace {

// A copy of small_graph that may be spoilt.
struct Spoilt {
  Spoilt() : flat(small_graph()), graph(*flat.graph()) {}
  template <class T>
  T* array(const tenon_array& a) {
    return reinterpret_cast<T*>(const_cast<uint8_t*>(graph.data) + a.at);
  }
  tenon_value* values() { return array<tenon_value>(graph.values); }
  tenon_node* nodes() { return array<tenon_node>(graph.nodes); }
  uint32_t* ids() { return array<uint32_t>(graph.ids); }
  tenon_attr* attrs() { return array<tenon_attr>(graph.attrs); }
  tenon_input* inputs() { return array<tenon_input>(graph.inputs); }
  tenon_result* results() { return array<tenon_result>(graph.results); }
  plugin::FlatGraph flat;
  tenon_graph graph;
};

struct Wrong {
  const char* line;
  void (*spoil)(Spoilt&);
};

// ids: w x lr | next loss
const Wrong kGraphs[] = {
    {"graph: struct_size 16", [](Spoilt& s) { s.graph.struct_size = 16; }},
    {"graph: data is not 64-byte aligned", [](Spoilt& s) { ++s.graph.data; }},
    {"graph: data is not 64-byte aligned", [](Spoilt& s) { s.graph.data = nullptr; }},
    {"graph: values have a stride of 8, expected 80 or more", [](Spoilt& s) { s.graph.values.stride = 8; }},
    {"graph: nodes end beyond its ", [](Spoilt& s) { s.graph.nodes.count = 1000000; }},
    {"graph: attrs end beyond its ", [](Spoilt& s) { s.graph.attrs.at = UINT64_MAX - 7; }},
    {"graph: ids are not aligned", [](Spoilt& s) { s.graph.ids.at += 2; }},
    {"graph: value 1 has rank 9", [](Spoilt& s) { s.values()[1].rank = 9; }},
    {"graph: value 1 has dimension 0", [](Spoilt& s) { s.values()[1].dims[1] = 0; }},
    {"graph: value 1 has dimension 4611686018427387904", [](Spoilt& s) { s.values()[1].dims[1] = int64_t{1} << 62; }},
    // Each of them fits; sums of their sizes, as a concat makes, are not to come near the end of 64 bits.
    {"graph: value 2 and those before it are larger than any memory",
     [](Spoilt& s) {
       for (uint32_t v : {1, 2}) s.values()[v].rank = 1, s.values()[v].dims[0] = int64_t{1} << 45;
     }},
    {"graph: the name of value 1 is no string",
     [](Spoilt& s) {
       s.values()[1].name = {1, 1000};
     }},
    {"graph: input 0 has role 7", [](Spoilt& s) { s.inputs()[0].role = 7; }},
    {"graph: input 0 has placement 2", [](Spoilt& s) { s.inputs()[0].placement = 2; }},
    {"graph: input 1 is a scalar of rank 2", [](Spoilt& s) { s.inputs()[1].role = TENON_ROLE_SCALAR; }},
    {"graph: input 1 has no such value 99", [](Spoilt& s) { s.inputs()[1].value = 99; }},
    {"graph: input 1 defines value 0, which is defined already", [](Spoilt& s) { s.inputs()[1].value = 0; }},
    {"graph: node 0 has operands out of range",
     [](Spoilt& s) {
       s.nodes()[0].operands = {4, 9};
     }},
    {"graph: node 0 has attributes out of range", [](Spoilt& s) { s.nodes()[0].attrs.first = 5; }},
    {"graph: node 0 reads value 4 before it is defined", [](Spoilt& s) { s.ids()[0] = 4; }},
    {"graph: node 0 defines value 0, which is defined already", [](Spoilt& s) { s.ids()[3] = 0; }},
    {"graph: the name of the op of node 0 is no string", [](Spoilt& s) { s.nodes()[0].op.size = 2; }},
    {"graph: attribute 0 lies outside its bytes",
     [](Spoilt& s) { s.attrs()[0].type = TENON_ATTR_LIST, s.attrs()[0].count = uint64_t{1} << 61; }},
    {"graph: attribute 0 has 2 numbers, expected 1",
     [](Spoilt& s) { s.attrs()[0].type = TENON_ATTR_I64, s.attrs()[0].count = 2; }},
    {"graph: attribute 0 has 0 numbers, expected 1",
     [](Spoilt& s) { s.attrs()[0].type = TENON_ATTR_F64, s.attrs()[0].count = 0; }},
    {"graph: result 0 has mode 9", [](Spoilt& s) { s.results()[0].mode = 9; }},
    {"graph: result 0 is value 77, which nothing defines", [](Spoilt& s) { s.results()[0].value = 77; }},
    {"graph: result 1 of mode UNTIL is no bool of rank 0", [](Spoilt& s) { s.results()[1].mode = TENON_MODE_UNTIL; }},
    {"graph: result 0 updates input 1, which is no state", [](Spoilt& s) { s.results()[0].alias = 2; }},
    {"graph: result 0 updates an input of another type, or not to the last",
     [](Spoilt& s) { s.results()[0].mode = TENON_MODE_EACH; }},
    {"graph: two results update input 0", [](Spoilt& s) { s.results()[1] = s.results()[0]; }},
};

TEST(GraphViolation, IsNamedAndNothingIsForwarded) {
  World world;
  const std::map<std::string, int> before = fake::calls;
  for (const Wrong& wrong : kGraphs) {
    lines().clear();
    Spoilt spoilt;
    wrong.spoil(spoilt);
    EXPECT_EQ(world.supports(spoilt.graph).code, TENON_ABI) << wrong.line;
    ASSERT_EQ(lines().size(), 1u) << wrong.line;
    const std::string expected = std::string("tenon: the host broke the contract in supports: ") + wrong.line;
    EXPECT_EQ(lines()[0].substr(0, expected.size()), expected);
  }
  EXPECT_EQ(fake::calls, before);
}

TEST(GraphViolation, NamesAndConstants) {
  World world;
  plugin::GraphBuilder twice;
  const uint32_t x = twice.input(TENON_F32, {4}, TENON_ROLE_STATE), y = twice.value(TENON_F32, {4}),
                 z = twice.value(TENON_F32, {4});
  twice.node("a", {x}, {y}).name("same");
  twice.node("b", {x}, {z}).name("same");
  const plugin::FlatGraph same = twice.build();
  world.violate([&] { return world.supports(*same.graph()); });
  EXPECT_NE(lines()[0].find("graph: two nodes are named 'same'"), std::string::npos);

  lines().clear();
  plugin::GraphBuilder constant;
  const float seven[3] = {7, 7, 7};
  const uint32_t c = constant.constant(TENON_F32, {4}, seven, sizeof seven), out = constant.value(TENON_F32, {4});
  constant.node("a", {c}, {out});
  const plugin::FlatGraph wrong = constant.build();
  world.violate([&] { return world.supports(*wrong.graph()); });
  EXPECT_NE(lines()[0].find("graph: constant 0 has 12 bytes, expected 16 or 4"), std::string::npos) << lines()[0];
}

TEST(GraphViolation, ArgumentsOfSupportsAndCompile) {
  World world;
  const tenon_backend& t = world.t;
  const tenon_graph* g = world.graph.graph();
  tenon_verdict verdict{};
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  const uint32_t node = 0, beyond = 1;
  const auto expect = [](const tenon_status& status, const std::string& line) {
    EXPECT_EQ(status.code, TENON_ABI);
    EXPECT_EQ(std::string(status.message), "tenon: the host broke the contract in " + line);
  };
  expect(t.supports(world.device, nullptr, &world.options, &node, 1, &verdict, sizeof verdict),
         "supports: passes no graph");
  expect(t.supports(world.device, g, &world.options, &beyond, 1, &verdict, sizeof verdict),
         "supports: asks for node 1 of 1");
  expect(t.supports(world.device, g, &world.options, &node, 1, &verdict, 8),
         "supports: passes verdicts with a stride of 8");
  expect(t.supports(world.device, g, &world.options, &node, 1, nullptr, sizeof verdict),
         "supports: passes no nodes or no room for the verdicts");
  expect(t.supports(world.device, g, nullptr, &node, 1, &verdict, sizeof verdict), "supports: passes no tenon_options");
  verdict.reserved = 1;
  expect(t.supports(world.device, g, &world.options, &node, 1, &verdict, sizeof verdict),
         "supports: passes a tenon_verdict to fill that is not zero");
  expect(t.compile(world.device, g, &world.options, nullptr, &info), "compile: passes no place for the program");
  info.flops = 1;
  expect(t.compile(world.device, g, &world.options, &program, &info),
         "compile: passes a tenon_info to fill that is not zero");
  EXPECT_EQ(program, nullptr);
}

}  // namespace
}  // namespace tenon::validation_testing
