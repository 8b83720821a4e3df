// The runtime's list of attributes is the op set's.
#include "tenon/plugin/op_attributes.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/op_list.h"

namespace tenon::plugin {
namespace {

// "window:list strides:list= -> y" of a signature "x:F ; window:list strides:list= -> y": "window strides".
std::string names_in(const std::string& signature) {
  const size_t from = signature.find(';');
  if (from == std::string::npos) return {};
  std::istringstream words(signature.substr(from + 1, signature.find("->") - from - 1));
  std::string names;
  for (std::string word; words >> word;) names += (names.empty() ? "" : " ") + word.substr(0, word.find(':'));
  return names;
}

TEST(OpAttributes, AreThoseOfTheOpSet) {
  int ops = 0;
  for (const OpSummary& op : op_summaries()) {
    if (op.name == "constant") continue;  // no node in a graph
    EXPECT_EQ(attributes_of(op.name), names_in(op.signature)) << op.name;
    ++ops;
  }
  EXPECT_EQ(ops, 91);
}

}  // namespace
}  // namespace tenon::plugin
