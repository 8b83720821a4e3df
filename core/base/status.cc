#include "tenon/status.h"

namespace tenon {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalid:
      return "invalid";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kOutOfMemory:
      return "out of memory";
    case Code::kDeviceLost:
      return "device lost";
    case Code::kTimeout:
      return "timeout";
    case Code::kAbi:
      return "abi";
    case Code::kInternal:
      return "internal";
    case Code::kInterrupted:
      return "interrupted";
  }
  return "internal";
}

void check(const Status& status) {
  if (!status.ok()) throw Error(status);
}

}  // namespace tenon
