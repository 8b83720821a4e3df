// Parts of Tenon that need large libraries of others: shared objects lib/tenon/FOLDER/NAME.so, loaded only by who asks
// for them, each of a Debian package of its own. Inside of Tenon; no program needs it.
#pragma once

#include <string>

#include "tenon/status.h"

namespace tenon {

struct PartName {
  std::string file;     // "server/tls"
  const char* what;     // asks for it: "TLS"
  const char* package;  // brings it: "tenon-server"
  const char* headers;  // with which it is built: "libssl-dev"
};

class Part {
 public:
  // Opens it beside the program, or else where the library was installed that the program is linked with, and nowhere
  // else: what may write there may write the program. It stays loaded. kUnavailable, in a line that says what brings
  // it, where it is not there.
  static Result<Part> open(const PartName& name);
  // The same, without opening it: the path of the file.
  static Result<std::string> find(const PartName& name);

  // The function of that name and type; nullptr: there is none.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // The error of a part that does not have what it must.
  Status other_version() const;

 private:
  Part(std::string path, void* library) : path_(std::move(path)), library_(library) {}
  void* symbol(const char* name) const;
  std::string path_;
  void* library_;
};

}  // namespace tenon
