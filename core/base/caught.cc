#include "base/caught.h"

#include <new>
#include <stdexcept>

namespace tenon {
namespace {

Status describe_exception() {
  try {
    throw;
  } catch (const Error& e) {
    return e.status();
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, "out of memory");  // short: this text needs none itself
  } catch (const std::length_error&) {                   // more than could ever be had
    return Status(Code::kOutOfMemory, "out of memory");
  } catch (const std::exception& e) {
    return Status(Code::kInternal, e.what());
  } catch (...) {
    return Status(Code::kInternal, "unknown error");
  }
}

}  // namespace

Status status_of_exception() noexcept {
  try {
    return describe_exception();
  } catch (...) {
    return Status(Code::kOutOfMemory, "out of memory");
  }
}

}  // namespace tenon
