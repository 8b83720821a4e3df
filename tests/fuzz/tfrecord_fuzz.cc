// TFRecord framing, checksums off so that mutations get past them; the first byte picks the buffer and
// whether damage is skipped. Plain, GZIP and ZLIB by the bytes themselves.
#include <cstdlib>

#include "tenon/tfrecord.h"

using namespace tenon;

// Reading it again from any offset that it gave must give the same record.
static void check_seek(RecordReader& reader, uint64_t offset, size_t size) {
  std::string_view record;
  if (!reader.seek(offset).ok()) std::abort();
  Result<bool> more = reader.next(&record);
  if (!more.ok() || !*more || record.size() != size) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  RecordReaderOptions options;
  options.skip_corrupt = data[0] & 1;
  options.verify_checksums = data[0] & 2;
  options.buffer_bytes = size_t{1} << (data[0] >> 2 & 15);
  options.max_record_bytes = 1 << 20;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  Result<RecordReader> reader = RecordReader::from_memory(bytes, "f", options);
  if (!reader.ok()) return 0;
  std::string_view record;
  uint64_t records = 0, offset = 0, last = 0;
  size_t last_size = 0;
  for (;;) {
    offset = reader->offset();
    Result<bool> more = reader->next(&record);
    if (!more.ok() && options.skip_corrupt) std::abort();
    if (!more.ok() || !*more) break;
    last = reader->offset() - record.size() - 16;
    if (last < offset) std::abort();
    last_size = record.size();
    ++records;
  }
  // Every record and every skip costs at least 16 bytes, inflated at most 1032 times.
  if ((records + reader->skipped()) * 16 > size * 1032 + 16) std::abort();
  if (records > 0) check_seek(*reader, last, last_size);
  return 0;
}
