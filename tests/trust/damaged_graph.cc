#include "damaged_graph.h"

#include <algorithm>

namespace tenon::conformance {
namespace {

constexpr uint64_t kHuge[] = {0,
                              1,
                              9,
                              255,
                              uint64_t{1} << 31,
                              uint64_t{1} << 32,
                              uint64_t{1} << 62,
                              UINT64_MAX,
                              uint64_t{1} << 63,
                              0x7FF8000000000000u /* NaN */,
                              77};

}  // namespace

template <class T>
void Damage::set(T* number) {
  const uint64_t value = random_() % 3 == 0 ? static_cast<uint64_t>(*number) + 1 - 2 * (random_() % 2)
                                            : kHuge[random_() % std::size(kHuge)];
  *number = static_cast<T>(value);
}

template <class T>
T* Damage::pick(const tenon_array& array) {
  return array.count ? g_.element<T>(array, random_() % array.count) : nullptr;
}

std::string Damage::make() {
  switch (random_() % 12) {
    case 0:
      return header();
    case 1:
    case 2:
      return value();
    case 3:
    case 4:
      return node();
    case 5:
      return id();
    case 6:
      return attribute();
    case 7:
    case 8:
    case 9:
      return payload();
    case 10:
      return random_() % 2 ? result() : input();
    default:
      return constant();
  }
}

std::string Damage::header() {
  tenon_graph& h = g_.header();
  tenon_array* const arrays[] = {&h.values, &h.nodes,   &h.ids,       &h.attrs,
                                 &h.inputs, &h.results, &h.constants, &h.strings};
  tenon_array& array = *arrays[random_() % 8];
  switch (random_() % 6) {
    case 0:
      h.struct_size = random_() % sizeof h;
      return "struct_size";
    case 1:
      h.data = random_() % 2 ? nullptr : h.data + 8;
      return "data";
    case 2:
      h.data_size /= 2;
      return "data_size";
    case 3:
      set(&array.at);
      return "where an array lies";
    case 4:
      set(&array.count);
      return "the count of an array";
    default:
      set(&array.stride);
      return "the stride of an array";
  }
}

std::string Damage::value() {
  auto* v = pick<tenon_value>(g_.header().values);
  if (!v) return {};
  const uint64_t axis = random_() % std::max(v->rank, 1u) % TENON_MAX_RANK;
  switch (random_() % 4) {
    case 0:
      set(&v->dtype);
      return "a value's dtype";
    case 1:
      set(&v->rank);
      return "a value's rank";
    case 2:
      set(&v->name.at);
      return "a value's name";
    default:
      set(&v->dims[axis]);
      return "a value's dimension";
  }
}

std::string Damage::node() {
  auto* n = pick<tenon_node>(g_.header().nodes);
  if (!n) return {};
  switch (random_() % 9) {
    case 0:
      n->op = pick<tenon_node>(g_.header().nodes)->op;
      return "a node's op is another's";
    case 1:
      set(&n->op.at);
      return "where a node's op is named";
    case 2:
      set(&n->op.size);
      return "the size of a node's op";
    case 3:
      set(&n->version);
      return "a node's version";
    case 4:
      set(&n->operands.first);
      return "a node's operands";
    case 5:
      set(&n->operands.count);
      return "the count of a node's operands";
    case 6:
      set(&n->results.count);
      return "the count of a node's results";
    case 7:
      set(&n->attrs.count);
      return "the count of a node's attributes";
    default:
      set(&n->attrs.first);
      return "a node's attributes";
  }
}

std::string Damage::id() {
  auto* i = pick<uint32_t>(g_.header().ids);
  if (!i) return {};
  const uint32_t n = g_.header().values.count;
  *i = random_() % 4 == 0 ? TENON_NONE : random_() % 3 == 0 ? n : static_cast<uint32_t>(random_() % n);
  return "a value's id is another";
}

std::string Damage::attribute() {
  auto* a = pick<tenon_attr>(g_.header().attrs);
  if (!a) return {};
  switch (random_() % 5) {
    case 0:
      a->name.at += 1;
      return "an attribute's name";
    case 1:
      set(&a->at);
      return "where an attribute lies";
    case 2:
      set(&a->count);
      return "the count of an attribute";
    default:
      a->type = static_cast<int32_t>(random_() % 10);
      return "an attribute's type";
  }
}

std::string Damage::payload() {
  auto* a = pick<tenon_attr>(g_.header().attrs);
  if (!a || a->type == TENON_ATTR_BYTES || a->count == 0) return {};
  set(reinterpret_cast<uint64_t*>(g_.data() + a->at) + random_() % a->count);
  return "an attribute's number";
}

std::string Damage::input() {
  auto* i = pick<tenon_input>(g_.header().inputs);
  if (!i) return {};
  int32_t* const fields[] = {&i->role, &i->placement, reinterpret_cast<int32_t*>(&i->value)};
  set(fields[random_() % 3]);
  return "an input";
}

std::string Damage::result() {
  auto* r = pick<tenon_result>(g_.header().results);
  if (!r) return {};
  uint32_t* const fields[] = {&r->value, reinterpret_cast<uint32_t*>(&r->mode), &r->alias};
  set(fields[random_() % 3]);
  return "a result";
}

std::string Damage::constant() {
  auto* c = pick<tenon_constant>(g_.header().constants);
  if (!c) return {};
  switch (random_() % 3) {
    case 0:
      set(&c->value);
      break;
    case 1:
      set(&c->at);
      break;
    default:
      set(&c->bytes);
  }
  return "a constant";
}

}  // namespace tenon::conformance
