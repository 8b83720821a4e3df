// HDF5 files whose bytes are what the child process says of them, in place of core/checkpoint/keras/hdf5_child.cc: the library reads
// hostile files there, and what it says is not believed.
#include "base/strings.h"
#include "checkpoint/keras/hdf5_file.h"

namespace tenon {

Result<Hdf5File> Hdf5File::open(const std::string& path) {
  TENON_ASSIGN(const std::string said, read_file(path, int64_t{1} << 20));
  std::optional<Hdf5Index> index = index_of(said);
  if (!index) return invalid("'", path, "': is damaged");
  TENON_TRY(check_places(*index, path, std::ssize(said), std::ssize(said)));
  TENON_ASSIGN(File file, File::open(path));
  TENON_ASSIGN(File decoded, File::open(path));
  return Hdf5File(std::move(file), std::move(decoded), std::move(*index));
}

Result<Hdf5File> Hdf5File::of(Descriptor, const std::string& path) { return invalid("cannot open '", path, "'"); }

}  // namespace tenon
