// What hdf5.so makes of whatever the HDF5 library says of a file: an index that the other process takes, or a line that says why not.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "checkpoint/keras/hdf5_index.h"
#include "seam/hdf5_library.h"

using namespace tenon;

extern "C" tenon_hdf5_read_fn tenon_hdf5_read;

namespace {

constexpr int64_t kMostDecoded = 4096;

void expect(bool holds) {
  if (!holds) std::abort();
}

// What is decoded lies one behind the other, within its limit.
void expect_placed(const Hdf5Index& index) {
  int64_t decoded = 0;
  for (const Hdf5Dataset& d : index.datasets) {
    for (const int64_t dim : d.dims) expect(dim >= 0);
    if (!d.decoded) continue;
    expect(d.offset == decoded && d.bytes >= 0);
    decoded += d.bytes;
  }
  expect(decoded <= kMostDecoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int decoded = ::memfd_create("decoded", MFD_CLOEXEC);
  fuzz::set_hdf5_answers({reinterpret_cast<const char*>(data), size});
  Hdf5Index index;
  std::string why;
  if (!tenon_hdf5_read(0, decoded, kMostDecoded, &index, &why)) {
    expect(!why.empty() && why.size() <= 4096 * 70);
    return 0;
  }
  expect_placed(index);
  expect(index_of(bytes_of(index)).has_value());
  return 0;
}
