// Parts of the server that need large libraries: shared objects beside the program, loaded only by who asks for them.
#pragma once

#include <string>

#include "tenon/status.h"

namespace tenon::server {

// Opens lib/tenon/server/NAME.so beside the program, and nowhere else: what may write there may write the program. It stays loaded.
// `what` asks for it, and `package` has the headers that it is built with, for messages.
class Part {
 public:
  static Result<Part> open(const std::string& name, const char* what, const char* package);

  // The function of that name and type; nullptr: there is none.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // Of a part that does not have what it must.
  Status other_version() const;

 private:
  Part(std::string path, void* library) : path_(std::move(path)), library_(library) {}
  void* symbol(const char* name) const;
  std::string path_;
  void* library_;
};

}  // namespace tenon::server
