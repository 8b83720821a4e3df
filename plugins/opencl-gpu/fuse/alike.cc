#include "fuse/alike.h"

#include <cstring>
#include <vector>

namespace opencl_gpu {
namespace {

using tenon::plugin::NodeView;

// Attributes that say what a node computes: "tenon.*" are hints.
std::vector<int> telling_attributes(const NodeView& node) {
  std::vector<int> found;
  for (int i = 0; i < node.attributes(); ++i)
    if (node.attribute_name(i).substr(0, 6) != "tenon.") found.push_back(i);
  return found;
}

}  // namespace

bool same_attributes(const NodeView& a, const NodeView& b) {
  const std::vector<int> of_a = telling_attributes(a), of_b = telling_attributes(b);
  if (of_a.size() != of_b.size()) return false;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const tenon_attr &x = a.attribute(of_a[i]), &y = b.attribute(of_b[i]);
    if (a.attribute_name(of_a[i]) != b.attribute_name(of_b[i]) || x.type != y.type || x.count != y.count) return false;
    const uint64_t bytes = x.type == TENON_ATTR_BYTES ? x.count : x.count * 8;
    if (std::memcmp(a.graph().attr_data(x), b.graph().attr_data(y), bytes) != 0) return false;
  }
  return true;
}

}  // namespace opencl_gpu
