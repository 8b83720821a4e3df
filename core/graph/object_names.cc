#include "graph/object_names.h"

#include "base/strings.h"

namespace tenon {
namespace {

bool same(const std::weak_ptr<const void>& a, const std::shared_ptr<const void>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

bool ObjectNames::taken(const std::string& name) const {
  const auto it = owners_.find(name);
  return it != owners_.end() && !it->second.gone();
}

std::string ObjectNames::kind_of(const std::string& name) const {
  const auto it = owners_.find(name);
  return it == owners_.end() ? "" : it->second.kind;
}

// Null where it has no name yet.
const std::string* ObjectNames::find(const Object& object) const {
  for (const auto& [name, owner] : owners_)
    if (same(owner.identity, object.identity)) return &name;
  return nullptr;
}

bool ObjectNames::is_first(const std::string& kind, const Object& object) {
  Owner& first = first_[kind];
  if (first.leaves_to(object) && !find(object)) first = {object.identity, object.passing};
  return same(first.identity, object.identity);
}

std::string ObjectNames::name_of(const Object& object, std::string_view base) {
  if (const std::string* name = find(object)) return *name;
  const auto free = [&](const std::string& name) {
    const auto it = owners_.find(name);
    return it == owners_.end() || it->second.leaves_to(object);
  };
  std::string name(base);
  for (int n = 1; !free(name); ++n) name = cat(base, "_", n);
  owners_[name] = {object.identity, object.passing, object.kind};
  return name;
}

void ObjectNames::forget(const std::shared_ptr<const void>& identity) {
  const auto is_its = [&](const auto& entry) { return same(entry.second.identity, identity); };
  std::erase_if(owners_, is_its);
  std::erase_if(first_, is_its);
}

}  // namespace tenon
