// What is made of what the child process says of one of Keras's files: tensors within the file, each of a name of its own, or an error.
#include <cstdlib>
#include <string>
#include <vector>

#include "checkpoint/keras/keras_file.h"
#include "seam/memory_files.h"

using namespace tenon;

static void read_all(const KerasFile& file, int64_t size) {
  for (const auto& [name, dataset] : file.tensors()) {
    if (dataset->type == Hdf5Type::kOther) continue;
    if (dataset->bytes > size) std::abort();
    std::vector<std::byte> out(static_cast<size_t>(dataset->bytes));
    const Status status = file.read(name, out);
    if (!status.ok() && dataset->type != Hdf5Type::kBool) std::abort();  // a bool may be neither 0 nor 1
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::put_file("p.h5", {reinterpret_cast<const char*>(data), size});
  {
    const Result<KerasFile> file = KerasFile::open("p.h5");
    if (!file.ok() && file.status().message().size() > 4096) std::abort();
    if (file.ok()) read_all(*file, static_cast<int64_t>(size));
  }
  fuzz::remove_files();
  return 0;
}
