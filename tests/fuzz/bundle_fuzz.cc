// A checkpoint's index, checksums off: the table, its protocol buffers, names by objects, and reading every tensor that it
// names from a data file of 64 bytes.
#include <cstdlib>
#include <string>
#include <vector>

#include "seam/memory_files.h"
#include "checkpoint/tensor_bundle.h"
#include "checkpoint/tensor_bundle_table.h"

using namespace tenon;

static void read_entry(const BundleReader& reader, const std::string& name, const BundleEntry& entry) {
  if (entry.is_string) {
    Result<std::vector<std::string>> strings = reader.read_strings(name);
    if (strings.ok() && static_cast<int64_t>(strings->size()) != entry.shape.elements()) std::abort();
    return;
  }
  if (entry.sliced || entry.size < 0 || entry.size > 64) return;
  std::vector<std::byte> bytes(static_cast<size_t>(entry.size));
  (void)reader.read(name, bytes);
  (void)reader.read_scalar(name);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Result<std::vector<std::pair<std::string, std::string>>> table = decode_table(bytes, "f");
  for (size_t i = 1; table.ok() && i < table->size(); ++i)
    if ((*table)[i - 1].first >= (*table)[i].first) std::abort();
  fuzz::put_file(bundle_index_path("p"), bytes);
  fuzz::put_file(bundle_data_path("p", 0, 1), std::string(64, '\1'));
  Result<BundleReader> reader = BundleReader::open("p");
  if (reader.ok()) {
    for (const auto& [name, entry] : reader->entries()) read_entry(*reader, name, entry);
    (void)reader->verify();
    (void)reader->name_by_objects();
  }
  fuzz::remove_files();
  return 0;
}
