// What the two halves of hdf5.so share.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "checkpoint/keras/hdf5_part.h"

namespace tenon::hdf5 {

// The cause alone.
struct Refused {
  std::string why;
};

// Closes what the library has opened. A call that failed throws Refused, with the library's words.
template <herr_t (*close)(hid_t)>
class Handle {
 public:
  explicit Handle(hid_t id);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: as the library's functions take it

 private:
  hid_t id_;
};

// The innermost thing that the library says of its last error.
std::string last_error();
void expect(bool ok);  // throws Refused with last_error()

template <herr_t (*close)(hid_t)>
Handle<close>::Handle(hid_t id) : id_(id) {
  expect(id >= 0);
}

using FileHandle = Handle<H5Fclose>;
using ObjectHandle = Handle<H5Oclose>;
using GroupHandle = Handle<H5Gclose>;
using DatasetHandle = Handle<H5Dclose>;
using SpaceHandle = Handle<H5Sclose>;
using TypeHandle = Handle<H5Tclose>;
using ListHandle = Handle<H5Pclose>;
using AttributeHandle = Handle<H5Aclose>;

void set_up();
// A list of how a file is opened: what it is called is a descriptor's number.
void use_descriptors(hid_t list);

template <class Work>
bool guarded(std::string* why, const Work& work) {
  try {
    set_up();
    work();
    return true;
  } catch (const Refused& e) {
    *why = e.why;
  } catch (const std::exception& e) {
    *why = e.what();
  }
  return false;
}

}  // namespace tenon::hdf5
