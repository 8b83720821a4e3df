// The names of objects: layers, optimizers, models. One place for all graphs that share variables, so that an object has one
// name, and its variables one, in each of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tenon {

class ObjectNames {
 public:
  struct Object {
    std::shared_ptr<const void> identity;
    bool passing = false;   // made inside a traced function: it leaves its name to the next trace's when it dies
    std::string kind = {};  // "dense", for messages
  };
  // The object's name: the one it was given here before, else the first of `base`, base_1, base_2, .. that is free.
  std::string name_of(const Object& object, std::string_view base);
  // Whether it is the object of its kind ("model", "optimizer") that asked first.
  bool is_first(const std::string& kind, const Object& object);
  // Whether an object has that name.
  bool taken(const std::string& name) const;
  // The kind of the object of that name; "" where there is none.
  std::string kind_of(const std::string& name) const;

 private:
  struct Owner {
    std::weak_ptr<const void> identity;
    bool passing = true;
    std::string kind = {};
    bool gone() const { return passing && identity.expired(); }
  };
  std::map<std::string, Owner> owners_;
  std::map<std::string, Owner> first_;
};

}  // namespace tenon
