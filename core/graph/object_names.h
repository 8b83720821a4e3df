// The names of objects: layers, optimizers, models. One place for all graphs that share variables, so that an object has one
// name, and its variables one, in each of them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tenon {

class Array;

class ObjectNames {
 public:
  ObjectNames() = default;
  ObjectNames(const ObjectNames&) = delete;
  ObjectNames& operator=(const ObjectNames&) = delete;
  virtual ~ObjectNames() = default;
  // Whether the variables are kept here too, as a strategy does: then objects hold on to it.
  virtual bool keeps_variables() const { return false; }
  // Sets a variable that is kept here, of floats of another width too; does nothing where none of that name is. Throws Error
  // where its type is another.
  virtual void set_variable(const std::string& /*name*/, const Array& /*value*/) {}

  struct Object {
    std::shared_ptr<const void> identity;
    bool passing = false;   // made inside a traced function: it leaves its name to the next trace's when it dies
    std::string kind = {};  // "dense", for messages
  };
  // The object's name: the one it was given here before, else the first of `base`, base_1, base_2, .. that is free. Names of
  // objects that are gone are free for those that were made outside all functions; what bears them in a function has to get
  // the same name in each trace of it.
  std::string name_of(const Object& object, std::string_view base);
  // Whether it is the object of its kind ("model", "optimizer") that asked first, before it had a name.
  bool is_first(const std::string& kind, const Object& object);
  // Whether an object has that name.
  bool taken(const std::string& name) const;
  // The kind of the object of that name; "" where there is none.
  std::string kind_of(const std::string& name) const;
  // Its names are free from now on.
  void forget(const std::shared_ptr<const void>& identity);

 private:
  struct Owner {
    std::weak_ptr<const void> identity;
    bool passing = true;
    std::string kind = {};
    bool gone() const { return passing && identity.expired(); }
    bool leaves_to(const Object& object) const { return gone() || (!object.passing && identity.expired()); }
  };
  const std::string* find(const Object& object) const;
  std::map<std::string, Owner> owners_;
  std::map<std::string, Owner> first_;
};

}  // namespace tenon
