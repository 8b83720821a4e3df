// Patterns and the graph that they leave: which of them has a node, what stands in its place, and what is told of it.
#include "tenon/plugin/matcher.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tenon::plugin::testing {
namespace {

using Ids = std::vector<uint32_t>;
using Lines = std::vector<std::string>;

std::string name_of(const GraphView& graph, uint32_t value) {
  if (value == TENON_NONE) return "-";
  return graph.value_name(value).empty() ? "?" : std::string(graph.value_name(value));
}

std::string names_of(const GraphView& graph, const Ids& values) {
  std::string names;
  for (const uint32_t v : values) names += (names.empty() ? "" : " ") + name_of(graph, v);
  return names;
}

// A line a node, "y = op(a b)", and one of the results; -: absent, ?: it has no name.
Lines lines_of(const GraphView& graph) {
  Lines lines;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    Ids operands, made;
    for (int k = 0; k < node.operands(); ++k) operands.push_back(node.operand_id(k));
    for (int k = 0; k < node.results(); ++k) made.push_back(node.result_id(k));
    lines.push_back(names_of(graph, made) + " = " + std::string(node.op()) + "(" + names_of(graph, operands) + ")");
  }
  Ids results;
  for (uint32_t r = 0; r < graph.n_results(); ++r) results.push_back(graph.result(r).value);
  lines.push_back("-> " + names_of(graph, results));
  return lines;
}

Lines lines_of(const Rewritten& out) { return lines_of(GraphView(*out.graph.graph())); }

// A graph of scalars that tests write node by node; values and nodes are named, a node after its first result.
class Patterns : public ::testing::Test {
 protected:
  uint32_t input(const std::string& name) { return builder_.input(TENON_F32, {}, TENON_ROLE_FEED, name); }
  uint32_t constant(float x) { return builder_.constant(TENON_F32, {}, &x, sizeof x); }
  uint32_t add(const std::string& op, const Ids& operands, const std::string& result) {
    const uint32_t y = builder_.value(TENON_F32, {}, result);
    builder_.node(op, operands, {y}).name("node " + result);
    return y;
  }
  void result(uint32_t value) { builder_.result(value); }

  // The graph as it is written now; views hold until the next call.
  GraphView graph() {
    flat_ = builder_.build();
    return GraphView(*flat_.graph());
  }
  Lines rewritten(const std::vector<Pattern>& patterns) { return lines_of(rewrite(graph(), patterns)); }

  GraphBuilder builder_;
  FlatGraph flat_;
};

// Nodes of op `root` with the one that makes what they alone read, whose op is `first`, as one node.
Pattern pair_of(std::string_view first, std::string_view root, std::string op) {
  return {root, [=](const Matching& m, const NodeView& node) -> std::optional<Match> {
            const std::optional<NodeView> maker = m.sole_maker(node.operand_id(0), node);
            if (!maker || maker->op() != first) return {};
            return Match({maker->index(), node.index()}, node.index(),
                         [=](Rewrite& to) { to.add(op, {to.operand(*maker, 0)}, {to.result(node, 0)}, node); });
          }};
}

// ---- GraphIndex ----

TEST_F(Patterns, ListsAReaderAsOftenAsItReadsAndAResultAsNone) {
  const uint32_t a = input("a"), b = add("mul", {a, a}, "b");
  add("exp", {b}, "c");
  result(b);
  const GraphIndex index(graph());
  EXPECT_EQ(index.readers(a), (Ids{0, 0}));
  EXPECT_EQ(index.readers(b), (Ids{1, TENON_NONE}));
}

TEST_F(Patterns, HasAnOnlyReaderWhereOneNodeReadsOnceAndNobodyElse) {
  const uint32_t a = input("a"), twice = input("twice"), unread = input("unread");
  const uint32_t b = add("exp", {a}, "b"), c = add("mul", {twice, twice}, "c"), d = add("neg", {b}, "d");
  result(b), result(c), result(d);
  const GraphIndex index(graph());
  EXPECT_EQ(index.only_reader(a).value().index(), 0u);
  EXPECT_TRUE(index.is_only_reader(a, 0));
  EXPECT_FALSE(index.is_only_reader(a, 1));
  EXPECT_FALSE(index.only_reader(twice));
  EXPECT_FALSE(index.is_only_reader(twice, 1));
  EXPECT_FALSE(index.only_reader(unread));
  EXPECT_FALSE(index.only_reader(b)) << "a node and a result";
  EXPECT_FALSE(index.only_reader(c)) << "a result alone";
}

TEST_F(Patterns, KnowsWhoMakesAValue) {
  const uint32_t a = input("a"), k = constant(2), b = add("mul", {a, k}, "b"), c = add("exp", {b}, "c");
  const GraphIndex index(graph());
  EXPECT_EQ(index.maker(b).value().index(), 0u);
  EXPECT_EQ(index.maker(c).value().index(), 1u);
  EXPECT_FALSE(index.maker(a));
  EXPECT_FALSE(index.maker(k));
  EXPECT_FALSE(index.maker(TENON_NONE));
}

TEST_F(Patterns, FindsTheBytesOfConstants) {
  const uint32_t a = input("a"), k = constant(2), more = constant(3), b = add("mul", {k, more}, "b");
  const GraphIndex index(graph());
  for (const auto& [value, number] : {std::pair{k, 2.0f}, std::pair{more, 3.0f}}) {
    const tenon_constant* found = index.constant(value);
    ASSERT_NE(found, nullptr);
    float x = 0;
    ASSERT_EQ(found->bytes, sizeof x);
    std::memcpy(&x, index.graph().constant_data(*found), sizeof x);
    EXPECT_EQ(x, number);
  }
  EXPECT_EQ(index.constant(a), nullptr);
  EXPECT_EQ(index.constant(b), nullptr);
}

TEST_F(Patterns, LooksThroughOneReshape) {
  const uint32_t a = input("a"), b = add("reshape", {a}, "b"), c = add("reshape", {b}, "c"), d = add("exp", {c}, "d");
  const GraphIndex index(graph());
  EXPECT_EQ(index.before_reshape(b), a);
  EXPECT_EQ(index.before_reshape(c), b);
  EXPECT_EQ(index.before_reshape(d), d);
  EXPECT_EQ(index.before_reshape(a), a);
}

TEST_F(Patterns, SeesUpdatesBetweenTwoNodesOfWhatTheFirstReads) {
  const uint32_t p = input("p"), g = input("g"), x = input("x");
  add("exp", {p, TENON_NONE}, "before");  // 0
  add("mul", {x, x}, "elsewhere");        // 1
  add("neg", {p}, "reads");               // 2, which is no update
  add("sgd_update", {p, g}, "p'");        // 3
  add("exp", {p}, "after");               // 4
  add("neg", {x}, "late");                // 5
  const GraphIndex index(graph());
  const auto changes = [&](uint32_t early, uint32_t late) {
    return index.changes_between(index.graph().node(early), index.graph().node(late));
  };
  EXPECT_TRUE(changes(0, 5));
  EXPECT_FALSE(changes(0, 2)) << "the update comes later";
  EXPECT_FALSE(changes(0, 3)) << "the update is the late node itself";
  EXPECT_FALSE(changes(1, 5)) << "of another variable";
  EXPECT_FALSE(changes(4, 5)) << "the update came before";
}

// ---- Matching ----

TEST_F(Patterns, HasASoleMakerWhereTheReaderAloneReadsWhatAFreeNodeMakes) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b");
  add("neg", {b}, "c");
  Matching m(graph());
  const NodeView reader = m.graph().node(1);
  EXPECT_EQ(m.sole_maker(b, reader).value().index(), 0u);
  EXPECT_FALSE(m.sole_maker(b, m.graph().node(0))) << "no reader of it";
  EXPECT_FALSE(m.sole_maker(a, m.graph().node(0))) << "no node makes it";
  EXPECT_FALSE(m.sole_maker(TENON_NONE, reader));
  ASSERT_TRUE(m.claim(Match({0})));
  EXPECT_FALSE(m.sole_maker(b, reader)) << "claimed";
}

TEST_F(Patterns, HasNoSoleMakerOfWhatOthersReadToo) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("exp", {a}, "c"), d = add("exp", {a}, "d");
  add("neg", {b}, "of b"), add("abs", {b}, "of b, too");
  add("neg", {c}, "of c");
  add("mul", {d, d}, "of d");
  result(c);
  const Matching m(graph());
  EXPECT_FALSE(m.sole_maker(b, m.graph().node(3))) << "another node reads it";
  EXPECT_FALSE(m.sole_maker(c, m.graph().node(5))) << "it is a result";
  EXPECT_FALSE(m.sole_maker(d, m.graph().node(6))) << "read twice";
}

TEST_F(Patterns, ClaimsAllNodesOfAMatchOrNone) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("neg", {b}, "c");
  add("abs", {c}, "d");
  Matching m(graph());
  EXPECT_TRUE(m.claim(Match({0, 1})));
  EXPECT_FALSE(m.claim(Match({2, 1})));
  EXPECT_FALSE(m.is_free(0));
  EXPECT_FALSE(m.is_free(1));
  EXPECT_TRUE(m.is_free(2));
  EXPECT_TRUE(m.claim(Match({2})));
}

// ---- which pattern has a node ----

TEST_F(Patterns, LeavesAGraphThatNothingMatches) {
  result(add("exp", {input("a")}, "b"));
  const Rewritten out = rewrite(graph(), {pair_of("exp", "neg", "mine")});
  EXPECT_TRUE(out.graph.empty());
  EXPECT_TRUE(out.origins.empty());
}

TEST_F(Patterns, GivesANodeThatTwoPatternsWantToTheOneThatStandsFirst) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("neg", {b}, "c");
  result(add("abs", {c}, "d"));
  const Pattern early = pair_of("exp", "neg", "mine.early"), late = pair_of("neg", "abs", "mine.late");
  EXPECT_EQ(rewritten({early, late}), (Lines{"c = mine.early(a)", "d = abs(c)", "-> d"}));
  EXPECT_EQ(rewritten({late, early}), (Lines{"b = exp(a)", "d = mine.late(b)", "-> d"}));
}

TEST_F(Patterns, AsksForFreeNodesOfTheRootInTheOrderOfTheGraph) {
  const uint32_t a = input("a"), b = add("neg", {a}, "b"), c = add("neg", {b}, "c"), d = add("exp", {c}, "d");
  result(add("neg", {d}, "e"));
  Ids asked;
  const Pattern watch("neg", [&](const Matching&, const NodeView& node) -> std::optional<Match> {
    asked.push_back(node.index());
    return {};
  });
  rewrite(graph(), {watch, pair_of("neg", "neg", "mine"), watch});
  EXPECT_EQ(asked, (Ids{0, 1, 3, 3}));
}

TEST_F(Patterns, LeavesAllNodesOfAMatchOfWhichOneIsTaken) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b");
  result(add("neg", {b}, "c"));
  bool emitted = false;
  // Looks at no claims, which the matcher does for it.
  const Pattern greedy("neg", [&](const Matching&, const NodeView& node) {
    Match match({0, 1}, node.index(), [&](Rewrite&) { emitted = true; });
    match.instead = {{0, 1}};
    return std::optional<Match>(match);
  });
  const Pattern first("exp", [](const Matching&, const NodeView& exp) {
    return std::optional<Match>(Match({exp.index()}, exp.index(), [=](Rewrite& to) {
      to.add("mine.exp", {to.operand(exp, 0)}, {to.result(exp, 0)}, exp);
    }));
  });
  EXPECT_EQ(rewritten({first, greedy}), (Lines{"b = mine.exp(a)", "c = neg(b)", "-> c"}));
  EXPECT_FALSE(emitted);
}

TEST_F(Patterns, LeavesAPairWhoseInnerResultSomebodyElseReads) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("neg", {b}, "c");
  result(c), result(b);
  EXPECT_TRUE(rewrite(graph(), {pair_of("exp", "neg", "mine")}).graph.empty());
}

TEST_F(Patterns, AsksAPatternOfTheGraphOnceAtItsPlaceInTheList) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b");
  result(add("neg", {b}, "c"));
  int asked = 0;
  bool claimed = false;
  const Pattern whole([&](Matching& m) {
    ++asked;
    const NodeView exp = m.graph().node(0);
    claimed = m.claim(
        Match({0}, 0, [=](Rewrite& to) { to.add("mine.whole", {to.operand(exp, 0)}, {to.result(exp, 0)}, exp); }));
  });
  EXPECT_EQ(rewritten({whole, pair_of("exp", "neg", "mine")}), (Lines{"b = mine.whole(a)", "c = neg(b)", "-> c"}));
  EXPECT_TRUE(claimed);
  EXPECT_EQ(rewritten({pair_of("exp", "neg", "mine"), whole}), (Lines{"c = mine(a)", "-> c"}));
  EXPECT_FALSE(claimed);
  EXPECT_EQ(asked, 2);
}

// ---- what stands in the place of nodes ----

TEST_F(Patterns, PutsEachPartWhereItsNodeStood) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("neg", {b}, "c"), d = add("abs", {c}, "d");
  result(d);
  const Pattern parts([](Matching& m) {
    const NodeView exp = m.graph().node(0), abs = m.graph().node(2);
    Match match({2, 0});
    match.parts = {{2, [=](Rewrite& to) { to.add("mine.abs", {to.operand(abs, 0)}, {to.result(abs, 0)}, abs); }},
                   {0, [=](Rewrite& to) { to.add("mine.exp", {to.operand(exp, 0)}, {to.result(exp, 0)}, exp); }}};
    m.claim(match);
  });
  EXPECT_EQ(rewritten({parts}), (Lines{"b = mine.exp(a)", "c = neg(b)", "d = mine.abs(c)", "-> d"}));
}

TEST_F(Patterns, MayEmitSeveralNodesInOnePart) {
  const uint32_t a = input("a");
  result(add("mean", {a}, "b"));
  const Pattern split("mean", [](const Matching&, const NodeView& mean) {
    return std::optional<Match>(Match({mean.index()}, mean.index(), [=](Rewrite& to) {
      const float half = 0.5f;
      const uint32_t sum = to.fresh(TENON_F32, {}), scale = to.constant(TENON_F32, {}, &half, sizeof half);
      to.add("mine.sum", {to.operand(mean, 0)}, {sum}, mean);
      to.add("mine.scale", {sum, scale}, {to.result(mean, 0)}, mean);
    }));
  });
  const Rewritten out = rewrite(graph(), {split});
  EXPECT_EQ(lines_of(out), (Lines{"? = mine.sum(a)", "b = mine.scale(? ?)", "-> b"}));
  EXPECT_EQ(out.origins, (Ids{0, 0}));
  EXPECT_EQ(out.done_by, (Ids{1}));
  EXPECT_EQ(out.values, (Ids{0, TENON_NONE, TENON_NONE, 1}));
}

TEST_F(Patterns, GivesReadersTheValueThatStandsInstead) {
  const uint32_t a = input("a"), b = add("neg", {a}, "b"), c = add("neg", {b}, "c");
  const uint32_t d = add("exp", {c}, "d");
  result(d), result(c);
  const Pattern twice([&](Matching& m) {
    Match match({0, 1});
    match.instead = {{c, a}};
    m.claim(match);
  });
  const Rewritten out = rewrite(graph(), {twice});
  EXPECT_EQ(lines_of(out), (Lines{"d = exp(a)", "-> d a"}));
  EXPECT_EQ(out.origins, (Ids{2}));
  EXPECT_EQ(out.done_by, (Ids{0, 0, 0}));
  EXPECT_EQ(out.values, (Ids{a, d}));
}

TEST_F(Patterns, LetsAMakerMakeTheValueThatStandsInstead) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("reshape", {b}, "c");
  result(c);
  const Pattern drop("reshape", [](const Matching&, const NodeView& node) {
    Match match({node.index()});
    match.instead = {{node.operand_id(0), node.result_id(0)}};
    return std::optional<Match>(match);
  });
  EXPECT_EQ(rewritten({drop}), (Lines{"c = exp(a)", "-> c"}));
}

// ---- what is told of the new graph ----

TEST_F(Patterns, TellsWhoseNodesAndValuesTheNewOnesAre) {
  const uint32_t a = input("a"), b = add("exp", {a}, "b"), c = add("neg", {b}, "c"), d = add("abs", {c}, "d");
  result(d);
  const Rewritten out = rewrite(graph(), {pair_of("exp", "neg", "mine")});
  ASSERT_EQ(lines_of(out), (Lines{"c = mine(a)", "d = abs(c)", "-> d"}));
  const GraphView made(*out.graph.graph());
  EXPECT_EQ(made.node(0).name(), "node c");
  EXPECT_EQ(made.node(1).name(), "node d");
  EXPECT_EQ(out.origins, (Ids{1, 2}));
  EXPECT_EQ(out.done_by, (Ids{0, 0, 1})) << "exp by the node that reads what it made";
  EXPECT_EQ(out.values, (Ids{a, c, d}));
}

TEST_F(Patterns, TellsWhichNodesNothingIsLeftOf) {
  const uint32_t a = input("a"), b = add("reshape", {a}, "b"), c = add("exp", {a}, "c");
  result(b), result(c);
  const Pattern drop([&](Matching& m) {
    Match match({0});
    match.instead = {{b, a}};
    m.claim(match);
  });
  const Rewritten out = rewrite(graph(), {drop});
  EXPECT_EQ(lines_of(out), (Lines{"c = exp(a)", "-> a c"}));
  EXPECT_EQ(out.done_by, (Ids{TENON_NONE, 0}));
}

TEST_F(Patterns, CopiesWhatIsFreeAsItIs) {
  const uint32_t a = input("a"), b = builder_.value(TENON_F32, {}, "b"), c = builder_.value(TENON_F32, {}, "c");
  builder_.node("split", {a, TENON_NONE}, {b, TENON_NONE, c}, 7)
      .name("free")
      .attr_i64("axis", 3)
      .attr_list("sizes", {4, 5});
  result(add("neg", {add("exp", {b}, "d")}, "e")), result(c);
  const Rewritten out = rewrite(graph(), {pair_of("exp", "neg", "mine")});
  ASSERT_EQ(lines_of(out), (Lines{"b - c = split(a -)", "e = mine(b)", "-> e c"}));
  const NodeView node = GraphView(*out.graph.graph()).node(0);
  EXPECT_EQ(node.name(), "free");
  EXPECT_EQ(node.version(), 7u);
  EXPECT_EQ(node.attributes(), 2);
  EXPECT_EQ(node.i64("axis"), 3);
  EXPECT_EQ(node.list("sizes").vec(), (std::vector<int64_t>{4, 5}));
}

}  // namespace
}  // namespace tenon::plugin::testing
