#include "data/chain/chain_node.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"

namespace tenon {

uint64_t ChainNode::fingerprint() const {
  uint64_t hash = own_fingerprint();
  for (const Node& input : inputs()) hash = mix_hash(hash, input->fingerprint());
  return hash | 1;  // never 0, which means unknown
}

uint64_t ChainNode::data_fingerprint() const {
  uint64_t hash = 1;
  for (const Node& input : inputs()) {
    const uint64_t of_input = input->data_fingerprint();
    if (of_input == 0) return 0;
    hash = inputs().size() == 1 ? of_input : mix_hash(hash, of_input) | 1;
  }
  return hash;
}

bool ChainNode::random() const {
  const std::vector<Node> all = inputs();
  return std::any_of(all.begin(), all.end(), [](const Node& input) { return input->random(); });
}

const ChainNode& value_node(const ChainNode& node) {
  const ChainNode* at = &node;
  while (at->same_value()) at = at->same_value();
  return *at;
}

Element value_at(const ChainNode& node, const ElementRef& ref) {
  return placed(node, ref, [&] { return node.value(ref); });
}

void copy_element(const Element& element, std::span<const FeatureSpec> specs, Slots& out) {
  if (element.size() != specs.size())
    fail("the element has ", element.size(), " features, the first one has ", specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto found = element.find(specs[i].name);
    if (found == element.end()) fail("the element has no feature '", specs[i].name, "', the first one has");
    if (!(found->second.type() == specs[i].type))
      fail("feature '", specs[i].name, "' is ", found->second.type().str(), ", expected ", specs[i].type.str(),
           " as in the first element");
    const auto row = out.get<std::byte>(i);
    std::memcpy(row.data(), found->second.bytes().data(), row.size());
  }
}

}  // namespace tenon
