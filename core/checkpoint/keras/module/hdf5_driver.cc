// hdf5.so: the library reads and writes an open descriptor through this driver, not a path, which it would follow and lock.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "checkpoint/keras/module/hdf5_module.h"

namespace tenon::hdf5 {
namespace {

struct Open {
  H5FD_t base;  // the library's, first
  int descriptor;
  haddr_t end_of_addresses, end_of_file;
};

Open* of(H5FD_t* file) { return reinterpret_cast<Open*>(file); }
const Open* of(const H5FD_t* file) { return reinterpret_cast<const Open*>(file); }

// `name` is the descriptor's number.
H5FD_t* open_it(const char* name, unsigned flags, hid_t, haddr_t) {
  auto* const out = static_cast<Open*>(std::calloc(1, sizeof(Open)));
  if (!out) return nullptr;
  out->descriptor = std::atoi(name);
  struct stat s;
  if (::fstat(out->descriptor, &s) != 0 || s.st_size < 0 ||
      ((flags & H5F_ACC_TRUNC) && ::ftruncate(out->descriptor, 0) != 0)) {
    std::free(out);
    return nullptr;
  }
  out->end_of_file = flags & H5F_ACC_TRUNC ? 0 : static_cast<haddr_t>(s.st_size);
  return &out->base;
}

herr_t close_it(H5FD_t* file) {
  std::free(of(file));
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) { return of(a)->descriptor - of(b)->descriptor; }

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_addresses; }
herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  of(file)->end_of_addresses = end;
  return 0;
}
haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_file; }

// Behind the file's end are zeros, as the library's own driver has it.
herr_t read_it(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, void* out) {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    if (at > INT64_MAX) return -1;
    const ssize_t n =
        ::pread(of(file)->descriptor, to, std::min<size_t>(bytes, size_t{1} << 30), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) {
      std::memset(to, 0, bytes);
      return 0;
    }
    to += n, at += static_cast<haddr_t>(n), bytes -= static_cast<size_t>(n);
  }
  return 0;
}

herr_t write_it(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t bytes, const void* in) {
  const auto* from = static_cast<const char*>(in);
  while (bytes > 0) {
    const ssize_t n =
        ::pwrite(of(file)->descriptor, from, std::min<size_t>(bytes, size_t{1} << 30), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    from += n, at += static_cast<haddr_t>(n), bytes -= static_cast<size_t>(n);
    of(file)->end_of_file = std::max(of(file)->end_of_file, at);
  }
  return 0;
}

herr_t truncate_it(H5FD_t* file, hid_t, hbool_t) {
  Open& f = *of(file);
  if (f.end_of_addresses == f.end_of_file) return 0;
  if (::ftruncate(f.descriptor, static_cast<off_t>(f.end_of_addresses)) != 0) return -1;
  f.end_of_file = f.end_of_addresses;
  return 0;
}

H5FD_class_t driver() {
  H5FD_class_t out;
  std::memset(&out, 0, sizeof out);
#if H5_VERSION_GE(1, 13, 0)
  out.version = H5FD_CLASS_VERSION;
  out.value = H5_VFD_RESERVED;
#endif
  out.name = "tenon_descriptor";
  out.maxaddr = INT64_MAX;
  out.fc_degree = H5F_CLOSE_WEAK;
  out.open = open_it;
  out.close = close_it;
  out.cmp = compare;
  out.query = query;
  out.get_eoa = end_of_addresses;
  out.set_eoa = set_end_of_addresses;
  out.get_eof = end_of_file;
  out.read = read_it;
  out.write = write_it;
  out.truncate = truncate_it;
  const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), out.fl_map);
  return out;
}

}  // namespace

void use_descriptors(hid_t list) {
  static const H5FD_class_t kDriver = driver();
  static const hid_t id = H5FDregister(&kDriver);
  expect(id >= 0 && H5Pset_driver(list, id, nullptr) >= 0);
}

}  // namespace tenon::hdf5
