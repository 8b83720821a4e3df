// The runtime's list of ops is the op set's.
#include "tenon/plugin/op_attributes.h"

#include <gtest/gtest.h>

#include "tenon/op_list.h"

namespace tenon::plugin {
namespace {

TEST(OpSignatures, AreThoseOfTheOpSet) {
  int ops = 0;
  for (const OpSummary& op : op_summaries()) {
    if (op.name == "constant") continue;  // no node in a graph
    EXPECT_EQ(signature_of(op.name), op.signature) << op.name;
    ++ops;
  }
  EXPECT_EQ(ops, 91);
}

}  // namespace
}  // namespace tenon::plugin
