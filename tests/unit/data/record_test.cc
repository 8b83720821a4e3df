#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

// Made with Python's struct and a bitwise CRC-32C: the records "hello" and "".
const std::string kTwoRecords(
    "\x05\x00\x00\x00\x00\x00\x00\x00\xea\xb2\x04\x3e"
    "hello"
    "\xbb\x1f\x1c\x19"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x29\x03\x98\x07"
    "\xd8\xea\x82\xa2",
    37);

std::string u32(uint32_t value) { return {reinterpret_cast<const char*>(&value), 4}; }
std::string u64(uint64_t value) { return {reinterpret_cast<const char*>(&value), 8}; }
std::string length_field(uint64_t length) { return u64(length) + u32(crc32c_mask(crc32c(u64(length)))); }
std::string framed(const std::string& data) {
  return length_field(data.size()) + data + u32(crc32c_mask(crc32c(data)));
}

struct Outcome {
  std::vector<std::string> records;
  Status status;
  uint64_t skipped = 0;
};

Outcome read_all(RecordReader& reader) {
  Outcome outcome;
  std::string_view record;
  for (int calls = 0; calls < 10000; ++calls) {
    Result<bool> more = reader.next(&record);
    outcome.status = more.status();
    outcome.skipped = reader.skipped();
    if (!more.ok() || !*more) return outcome;
    outcome.records.emplace_back(record);
  }
  ADD_FAILURE() << "the reader does not end";
  return outcome;
}

Outcome read_bytes(const std::string& bytes, RecordReaderOptions options = {}) {
  Result<RecordReader> reader = RecordReader::from_memory(bytes, "f", options);
  if (!reader.ok()) return {{}, reader.status()};
  return read_all(*reader);
}

Outcome skim_bytes(const std::string& bytes) { return read_bytes(bytes, {.skip_corrupt = true}); }

void write_records(const std::string& path, Compression compression, const std::vector<std::string>& records) {
  Result<RecordWriter> writer = RecordWriter::create(path, compression);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (const std::string& record : records) ASSERT_TRUE(writer->write(record).ok());
  ASSERT_TRUE(writer->close().ok());
}

std::vector<std::string> assorted_records() {
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 100, 5000, 3, 70000, 0, 12})
    records.push_back(std::string(size, static_cast<char>('a' + records.size())));
  return records;
}

TEST(RecordReader, ReadsBytesMadeByHand) {
  const Outcome outcome = read_bytes(kTwoRecords);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(outcome.records, (std::vector<std::string>{"hello", ""}));
}

TEST(RecordWriter, WritesBytesMadeByHand) {
  TemporaryDirectory directory;
  write_records(directory / "f", Compression::kNone, {"hello", ""});
  EXPECT_EQ(directory.read("f"), kTwoRecords);
}

TEST(RecordReader, EmptyFileHasNoRecords) {
  EXPECT_TRUE(read_bytes("").status.ok());
  EXPECT_TRUE(read_bytes("").records.empty());
}

TEST(RecordReader, ReadsEachCompressionWithAnyBuffer) {
  TemporaryDirectory directory;
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    write_records(directory / "f", compression, assorted_records());
    for (const size_t buffer : {1, 64, 1000, 1 << 20}) {
      Result<RecordReader> reader = RecordReader::open(directory / "f", {.buffer_bytes = buffer});
      ASSERT_TRUE(reader.ok());
      const Outcome outcome = read_all(*reader);
      EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
      EXPECT_EQ(outcome.records, assorted_records());
    }
  }
}

TEST(RecordWriter, CompressesWithTheHeadersOfTheFormats) {
  TemporaryDirectory directory;
  write_records(directory / "g", Compression::kGzip, {std::string(10000, 'x')});
  write_records(directory / "z", Compression::kZlib, {std::string(10000, 'x')});
  EXPECT_EQ(directory.read("g").substr(0, 3), "\x1f\x8b\x08");
  EXPECT_EQ(directory.read("z").substr(0, 1), "\x78");
  EXPECT_LT(directory.read("g").size(), 200u);
}

TEST(RecordReader, ReadsConcatenatedGzipMembers) {
  TemporaryDirectory directory;
  write_records(directory / "a", Compression::kGzip, {"one"});
  write_records(directory / "b", Compression::kGzip, {"two"});
  EXPECT_EQ(read_bytes(directory.read("a") + directory.read("b")).records, (std::vector<std::string>{"one", "two"}));
}

// 0x088b1f is the start of a GZIP file, and a length.
TEST(RecordReader, TakesALengthThatLooksLikeGzipForALength) {
  const std::string data(0x088b1f, 'x');
  const Outcome outcome = read_bytes(framed(data));
  ASSERT_EQ(outcome.records.size(), 1u);
  EXPECT_EQ(outcome.records[0], data);
}

TEST(RecordReader, SeeksToEveryRecordInEachCompression) {
  TemporaryDirectory directory;
  const std::vector<std::string> records = assorted_records();
  for (const Compression compression : {Compression::kNone, Compression::kGzip}) {
    write_records(directory / "f", compression, records);
    Result<RecordReader> reader = RecordReader::open(directory / "f", {.buffer_bytes = 512});
    std::vector<uint64_t> offsets;
    std::string_view record;
    for (size_t i = 0; i < records.size(); ++i) {
      offsets.push_back(reader->offset());
      ASSERT_TRUE(*reader->next(&record));
    }
    for (const size_t i : {7, 0, 5, 6, 2, 2}) {
      ASSERT_TRUE(reader->seek(offsets[i]).ok());
      ASSERT_TRUE(*reader->next(&record));
      EXPECT_EQ(record, records[i]);
      EXPECT_EQ(reader->offset(), i + 1 < offsets.size() ? offsets[i + 1] : offsets[i] + 16 + records[i].size());
    }
    EXPECT_FALSE(reader->seek(1 << 30).ok());
    EXPECT_FALSE(reader->next(&record).ok());
    EXPECT_TRUE(reader->seek(offsets[1]).ok());
    EXPECT_TRUE(*reader->next(&record));
  }
}

TEST(RecordReader, SeekBeyondTheEndNamesBothPlaces) {
  Result<RecordReader> reader = RecordReader::from_memory(kTwoRecords, "f");
  EXPECT_EQ(reader->seek(99).message(), "cannot continue 'f': offset 99 lies beyond the end at 37");
}

TEST(RecordReader, NamesFileAndOffsetOfEachKindOfDamage) {
  const std::string good = framed("hello");  // 21 bytes
  std::string bad = good;
  bad[13] ^= 1;
  EXPECT_NE(read_bytes(good + bad).status.message().find("'f' at byte 21: checksum of a record's data: expected "),
            std::string::npos);
  bad = good;
  bad[8] ^= 1;
  EXPECT_NE(read_bytes(good + bad).status.message().find("'f' at byte 21: checksum of a record's length: expected "),
            std::string::npos);
  EXPECT_EQ(read_bytes(good + good.substr(0, 5)).status.message(),
            "'f' at byte 21: the file ends inside a record's header, bytes: expected 12, found 5");
  EXPECT_EQ(read_bytes(good + good.substr(0, 20)).status.message(),
            "'f' at byte 21: a record's length exceeds the rest of the file, at most: expected 4, found 5");
}

TEST(RecordReader, AbsurdLengthsWithSoundChecksumsAreErrorsWithoutAllocation) {
  for (const uint64_t length : {uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{6}}) {
    const std::string bytes = framed("hello") + length_field(length) + "hello" + u32(0);
    const Outcome outcome = read_bytes(bytes);
    EXPECT_EQ(outcome.records.size(), 1u);
    EXPECT_EQ(outcome.status.message(),
              "'f' at byte 21: a record's length exceeds the rest of the file, at most: "
              "expected 5, found " +
                  std::to_string(length));
    EXPECT_EQ(skim_bytes(bytes).records.size(), 1u);
    EXPECT_EQ(skim_bytes(bytes).skipped, 1u);
    EXPECT_TRUE(skim_bytes(bytes).status.ok());
  }
}

TEST(RecordReader, ErrorsStay) {
  Result<RecordReader> reader = RecordReader::from_memory("garbage that is no record", "f");
  std::string_view record;
  const std::string first = reader->next(&record).status().message();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(reader->next(&record).status().message(), first);
  EXPECT_EQ(reader->offset(), 0u);
}

TEST(RecordReader, EveryFlippedBitIsFoundAndCountedOnce) {
  const std::vector<std::string> records = {"first", "second record", "", "last"};
  std::string bytes;
  std::vector<size_t> starts;
  for (const std::string& record : records) {
    starts.push_back(bytes.size());
    bytes += framed(record);
  }
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      size_t hit = records.size() - 1;
      while (starts[hit] > at) --hit;

      const Outcome strict = read_bytes(bad);
      ASSERT_FALSE(strict.status.ok()) << at;
      EXPECT_NE(strict.status.message().find("'f' at byte " + std::to_string(starts[hit]) + ": "), std::string::npos)
          << strict.status.message();
      EXPECT_EQ(strict.records, std::vector<std::string>(records.begin(), records.begin() + hit));

      const Outcome skim = skim_bytes(bad);
      const bool in_header = at - starts[hit] < 12;
      EXPECT_TRUE(skim.status.ok());
      EXPECT_EQ(skim.skipped, 1u);
      EXPECT_EQ(skim.records.size(), in_header ? hit : records.size() - 1) << at;
    }
}

TEST(RecordReader, EveryTruncationIsFoundUnlessItFallsBetweenRecords) {
  const std::string one = framed("first"), bytes = one + framed("") + framed("last");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    const bool between = size == 0 || size == one.size() || size == one.size() + 16;
    EXPECT_EQ(read_bytes(cut).status.ok(), between) << size;
    const Outcome skim = skim_bytes(cut);
    EXPECT_TRUE(skim.status.ok());
    EXPECT_EQ(skim.skipped, between ? 0u : 1u) << size;
    EXPECT_EQ(skim.records, read_bytes(cut).records);
  }
}

TEST(RecordReader, DamagedCompressionIsFoundAndGivesWhatCameBefore) {
  TemporaryDirectory directory;
  std::vector<std::string> records;
  for (int i = 0; i < 40; ++i) records.push_back("record number " + std::to_string(i * 7919));
  for (const Compression compression : {Compression::kGzip, Compression::kZlib}) {
    write_records(directory / "f", compression, records);
    const std::string bytes = directory.read("f");
    for (size_t size = 3; size < bytes.size(); ++size) {
      const std::string cut = bytes.substr(0, size);
      EXPECT_FALSE(read_bytes(cut).status.ok()) << size;
      EXPECT_EQ(skim_bytes(cut).skipped, 1u) << size;
    }
    EXPECT_GT(read_bytes(bytes.substr(0, bytes.size() - 4)).records.size(), 30u);
    for (size_t at = 0; at < bytes.size(); ++at) {
      std::string bad = bytes;
      bad[at] ^= 0x55;
      const Outcome strict = read_bytes(bad);
      // A flip in the name, time or system of a GZIP header changes nothing of the data.
      if (strict.status.ok()) {
        EXPECT_EQ(strict.records, records) << at;
      }
      const Outcome skim = skim_bytes(bad);
      EXPECT_TRUE(skim.status.ok());
      EXPECT_LE(skim.records.size(), records.size());
    }
  }
}

// 117 zeros, seven records of no bytes, in a ZLIB stream that ends before its check: zlib holds most of them when all input
// is taken. The bytes were made with Python's zlib.
TEST(RecordReader, RecordsBeforeATruncationDoNotDependOnTheBuffer) {
  const std::string bytes("\x78\x9c\x63\x60\x18\x00\x00", 7);
  for (const size_t buffer : {16, 100, 1 << 20}) {
    RecordReaderOptions options{.verify_checksums = false, .buffer_bytes = buffer};
    Result<RecordReader> reader = RecordReader::from_memory(bytes, "f", options);
    ASSERT_TRUE(reader.ok());
    const Outcome outcome = read_all(*reader);
    EXPECT_EQ(outcome.records.size(), 7u) << buffer;
    EXPECT_EQ(outcome.status.message(), "'f' at compressed byte 7: the file ends inside the compressed data");
    std::string_view record;
    ASSERT_TRUE(reader->seek(96).ok());
    EXPECT_TRUE(reader->next(&record).ok()) << buffer;
  }
}

TEST(RecordReader, CompressedLengthThatLiesCostsNoMoreThanTheBytesThere) {
  TemporaryDirectory directory;
  write_records(directory / "f", Compression::kGzip, {std::string(4 << 20, 'x')});  // 4 KiB on the disk
  const Outcome outcome = read_bytes(directory.read("f"), {.max_record_bytes = 1 << 20});
  EXPECT_EQ(outcome.status.message(),
            "'f' at inflated byte 0: a record's length exceeds the limit, at most: expected 1048576, found 4194304");
}

TEST(RecordReader, SkipsNoErrorOfTheSystem) {
  EXPECT_EQ(RecordReader::open("/nonexistent/f", {.skip_corrupt = true}).status().message(),
            "cannot open '/nonexistent/f': No such file or directory");
}

TEST(RecordReader, WithoutChecksumsTakesWrongOnes) {
  std::string bytes = framed("hello");
  bytes[8] ^= 1;
  bytes[20] ^= 1;
  EXPECT_EQ(read_bytes(bytes, {.verify_checksums = false}).records, (std::vector<std::string>{"hello"}));
}

TEST(RecordReader, RemembersWhyItSkipped) {
  std::string bytes = framed("hello") + framed("world") + framed("!");
  bytes[33] ^= 1;
  Result<RecordReader> reader = RecordReader::from_memory(bytes, "f", {.skip_corrupt = true});
  EXPECT_EQ(read_all(*reader).records, (std::vector<std::string>{"hello", "!"}));
  EXPECT_NE(reader->last_skipped().message().find("'f' at byte 21: checksum of a record's data"), std::string::npos);
}

TEST(RecordWriter, AbandonedWriterLeavesNothing) {
  TemporaryDirectory directory;
  {
    Result<RecordWriter> writer = RecordWriter::create(directory / "f", Compression::kGzip);
    ASSERT_TRUE(writer->write("x").ok());
    ASSERT_TRUE(writer->finish().ok());
    EXPECT_FALSE(writer->write("y").ok());
    EXPECT_EQ(writer->records(), 1u);
  }
  EXPECT_EQ(directory.entries(), 0u);
}

}  // namespace
}  // namespace tenon
