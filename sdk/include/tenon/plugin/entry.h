// What the entries of a table begin and end with, for backends that fill tenon_backend themselves: errors whose text
// lives as long as the ABI asks, exceptions that stay inside, structs of hosts that know less or more. C++17, header
// only.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "tenon/abi/plugin.h"

namespace tenon::plugin {

// What an entry fails with.
struct Error : std::runtime_error {
  Error(tenon_code status, const std::string& text, int32_t vendors = 0)
      : std::runtime_error(text), code(status), native(vendors) {}
  tenon_code code;
  int32_t native;                                          // the vendor's own number; 0: none
  uint32_t node = TENON_NONE, iteration = TENON_NONE;      // where a run failed, as far as that is known
};

// The text lives until this thread's next error, and so until its next call into this backend.
inline tenon_status error(int32_t code, const char* text, int32_t native = 0) {
  static thread_local char message[512];
  std::snprintf(message, sizeof message, "%s", text);
  return {code, native, message};
}

// f() as an entry: nothing is thrown across the ABI.
template <class F>
tenon_status guarded(F f) noexcept {
  try {
    f();
    return {TENON_OK, 0, nullptr};
  } catch (const Error& e) {
    return error(e.code, e.what(), e.native);
  } catch (const std::bad_alloc&) {
    return error(TENON_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& e) {
    return error(TENON_INTERNAL, e.what());
  } catch (...) {
    return error(TENON_INTERNAL, "an exception of unknown type");
  }
}

// A struct of the other side as far as that side knows it; the rest is zero. T begins with struct_size.
template <class T>
T known(const T* given) {
  T whole{};
  std::memcpy(&whole, given, std::min<uint64_t>(given->struct_size, sizeof whole));
  return whole;
}

// Fills a struct of the other side as far as that side knows it, and says how far.
template <class T>
void give(T full, T* to) {
  full.struct_size = std::min<uint64_t>(to->struct_size, sizeof full);
  std::memcpy(to, &full, full.struct_size);
}

// Throws unless all of the flags that must be understood are among `known`; the upper 32 are hints.
inline void check_flags(uint64_t flags, uint64_t known, const char* entry) {
  if (flags & 0xffffffffull & ~known) throw Error(TENON_UNSUPPORTED, std::string(entry) + ": unknown flags");
}

// Bytes of a buffer, dense. Throws for what cannot be.
inline uint64_t dense_bytes(const tenon_desc& desc) {
  static constexpr int kWidths[] = {0, 4, 2, 2, 8, 4, 8, 1, 1};  // by tenon_dtype
  if (desc.dtype < TENON_F32 || desc.dtype > TENON_BOOL || desc.placement < TENON_REPLICATED ||
      desc.placement > TENON_SPLIT)
    throw Error(TENON_UNSUPPORTED, "buffer_alloc: unknown dtype or placement");
  uint64_t bytes = static_cast<uint64_t>(kWidths[desc.dtype]);
  bool good = desc.rank <= TENON_MAX_RANK;
  for (uint32_t i = 0; good && i < desc.rank; ++i)
    good = desc.dims[i] >= 1 && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(desc.dims[i]), &bytes) &&
           bytes < (uint64_t{1} << 62);
  if (!good) throw Error(TENON_INVALID, "buffer_alloc: the rank or a dimension is invalid");
  return bytes;
}

}  // namespace tenon::plugin
