#include "tenon/convert.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/process/thread_pool.h"
#include "data/image/image.h"
#include "tenon/example.h"
#include "tenon/tfrecord.h"
#include "unit/data/jpeg_writer.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

std::string jpeg_of(int width, int height, int level) {
  const std::vector<uint8_t> pixels(static_cast<size_t>(width) * height * 3, static_cast<uint8_t>(level));
  return *encode_jpeg(pixels.data(), width, height, 3);
}

// 12 training and 3 validation images of two classes, beside their CSVs.
struct Flowers {
  TemporaryDirectory directory;
  ConvertImagesOptions options;

  Flowers() {
    std::filesystem::create_directory(directory / "images");
    std::string train, validation;
    for (int i = 0; i < 15; ++i) {
      const std::string name = "images/" + std::to_string(i) + ".jpg";
      directory.write(name, jpeg_of(20 + i, 10, i * 10));
      (i < 12 ? train : validation) += name + (i % 3 == 0 ? ",rose\n" : ",daisy\n");
    }
    options.train_csv = directory.write("train.csv", train);
    options.validation_csv = directory.write("validation.csv", validation);
    options.labels = directory.write("labels.txt", "daisy\nrose\n");
    options.output = directory / "records";
  }

  Result<ConvertSummary> convert(int threads = 2) {
    ThreadPool pool(threads);
    return convert_images(options, pool);
  }
  std::string error(int threads = 2) { return convert(threads).status().message(); }
  std::string train(const std::string& csv) { return directory.write("train.csv", csv); }
  size_t outputs() const {
    if (!directory.has("records")) return 0;
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(options.output), {}));
  }
};

struct Record {
  int64_t height, width, channels, label;
  std::string colorspace, synset, format, filename, encoded;
};

std::vector<Record> read_records(const std::string& path) {
  std::vector<Record> records;
  Result<RecordReader> reader = RecordReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  std::string_view bytes;
  Example example;
  const auto text = [&](const char* name) { return std::string(example.bytes(name).take()); };
  while (reader->next(&bytes).take()) {
    check(example.parse(bytes));
    records.push_back({*example.int64("image/height"), *example.int64("image/width"), *example.int64("image/channels"),
                       *example.int64("image/class/label"), text("image/colorspace"), text("image/class/synset"),
                       text("image/format"), text("image/filename"), text("image/encoded")});
  }
  return records;
}

TEST(ConvertImages, WritesEveryRowAsTheReferenceConverterDoes) {
  Flowers flowers;
  const Result<ConvertSummary> summary = flowers.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->splits[0].records, 12);
  EXPECT_EQ(summary->splits[1].records, 3);
  const std::vector<Record> train = read_records(flowers.directory / "records/train-00000-of-00001");
  ASSERT_EQ(train.size(), 12u);
  std::set<std::string> names;
  for (const Record& record : train) {
    const int i = std::stoi(record.filename);
    names.insert(record.filename);
    EXPECT_EQ(record.filename, std::to_string(i) + ".jpg");
    EXPECT_EQ(record.encoded, jpeg_of(20 + i, 10, i * 10));
    EXPECT_EQ(record.width, 20 + i);
    EXPECT_EQ(record.height, 10);
    EXPECT_EQ(record.channels, 3);
    EXPECT_EQ(record.synset, i % 3 == 0 ? "rose" : "daisy");
    EXPECT_EQ(record.label, i % 3 == 0 ? 2 : 1);
    EXPECT_EQ(record.format, "JPEG");
    EXPECT_EQ(record.colorspace, "RGB");
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(flowers.directory.read("records/labels.txt"), "daisy\nrose\n");
  EXPECT_EQ(flowers.directory.read("records/info.json"),
            "{\"classes\": 2, \"train\": {\"records\": 12, \"shards\": 1}, \"validation\": {\"records\": 3, "
            "\"shards\": 1}}\n");
  EXPECT_EQ(flowers.outputs(), 4u);
}

TEST(ConvertImages, ShufflesTrainingRowsBySeedAndKeepsValidationInOrder) {
  std::vector<std::string> contents;
  for (const uint64_t seed : {1, 1, 2}) {
    Flowers flowers;
    flowers.options.seed = seed;
    ASSERT_TRUE(flowers.convert().ok());
    contents.push_back(flowers.directory.read("records/train-00000-of-00001"));
    const std::vector<Record> validation = read_records(flowers.directory / "records/validation-00000-of-00001");
    ASSERT_EQ(validation.size(), 3u);
    EXPECT_EQ(validation[0].filename, "12.jpg");
    EXPECT_EQ(validation[2].filename, "14.jpg");
  }
  EXPECT_EQ(contents[0], contents[1]);
  EXPECT_NE(contents[0], contents[2]);
}

TEST(ConvertImages, SameBytesForAnyNumberOfThreads) {
  std::vector<std::string> contents;
  for (const int threads : {1, 2, 5}) {
    Flowers flowers;
    flowers.options.shard_bytes = 2500;
    ASSERT_TRUE(flowers.convert(threads).ok());
    std::string all;
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(flowers.options.output))
      files.push_back(entry.path().filename());
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) all += file + flowers.directory.read("records/" + file);
    contents.push_back(all);
  }
  EXPECT_EQ(contents[0], contents[1]);
  EXPECT_EQ(contents[0], contents[2]);
}

TEST(ConvertImages, DividesIntoFilesOfAboutTheSizeAskedFor) {
  Flowers flowers;
  flowers.options.shard_bytes = 2500;
  const Result<ConvertSummary> summary = flowers.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const ConvertSummary::Split& train = summary->splits[0];
  ASSERT_GT(train.files.size(), 2u);
  EXPECT_EQ(train.files[1], flowers.options.output + "/train-00001-of-0000" + std::to_string(train.files.size()));
  int64_t records = 0, bytes = 0;
  for (const std::string& file : train.files) {
    records += static_cast<int64_t>(read_records(file).size());
    const int64_t size = static_cast<int64_t>(std::filesystem::file_size(file));
    EXPECT_NEAR(static_cast<double>(size), 2500, 1300);
    bytes += size;
  }
  EXPECT_EQ(records, 12);
  EXPECT_EQ(bytes, train.bytes);
}

TEST(ConvertImages, UnknownLabelsAreSkippedAndCounted) {
  Flowers flowers;
  flowers.options.train_csv = flowers.train("images/0.jpg,rose\nimages/1.jpg,tulip\nimages/2.jpg,Rose\n");
  const Result<ConvertSummary> summary = flowers.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->splits[0].records, 1);
  EXPECT_EQ(summary->splits[0].of("unknown_labels").count, 2);
  EXPECT_EQ(summary->splits[0].of("unknown_labels").first,
            flowers.options.train_csv + ":2: label 'tulip' is not in '" + flowers.options.labels + "'");
}

TEST(ConvertImages, TakesQuotedFieldsAbsolutePathsCarriageReturnsAndBlankLines) {
  Flowers flowers;
  flowers.directory.write("images/a,b \"c\".jpg", jpeg_of(8, 8, 1));
  flowers.options.train_csv = flowers.train("\xef\xbb\xbf\"images/a,b \"\"c\"\".jpg\" , rose\r\n\r\n" +
                                            flowers.directory / "images/1.jpg" + ",daisy");
  const Result<ConvertSummary> summary = flowers.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->splits[0].records, 2);
}

TEST(ConvertImages, PngIsKeptAsPng) {
  Flowers flowers;
  const std::vector<uint8_t> pixels = smooth_pixels(9, 7, 3);
  flowers.directory.write("images/p.png", *encode_png(pixels.data(), 9, 7, 3));
  flowers.options.train_csv = flowers.train("images/p.png,rose\n");
  ASSERT_TRUE(flowers.convert().ok());
  const std::vector<Record> records = read_records(flowers.directory / "records/train-00000-of-00001");
  EXPECT_EQ(records[0].format, "PNG");
  EXPECT_EQ(records[0].width, 9);
}

// Each bad input: one line that says what and where, and an output that is as it was.
TEST(ConvertImages, BadInputsAreOneClearLineAndLeaveNothing) {
  Flowers flowers;
  const std::string csv = flowers.options.train_csv, root = flowers.directory.path();
  const auto expect = [&](const std::string& contents, const std::string& message) {
    flowers.train(contents);
    EXPECT_EQ(flowers.error(), message);
    EXPECT_EQ(flowers.outputs(), 0u) << message;
  };
  expect("", "'" + csv + "': expected rows of path,label, found none");
  expect("\n\n", "'" + csv + "': expected rows of path,label, found none");
  expect("images/0.jpg,rose\nimages/1.jpg\n", csv + ":2: expected path,label, found 1 field");
  expect("images/0.jpg,rose,x\n", csv + ":1: expected path,label, found 3 fields");
  expect(",rose\n", csv + ":1: expected a path, found ''");
  expect("\"images/0.jpg,rose\n", csv + ":1: expected a closing quote, found the end of the file");
  expect("\"images/0.jpg\"x,rose\n",
         csv + ":1: expected a comma or the end of the line after a closing quote, found 'x'");
  expect("images/0.jpg,tulip\n", csv + ": expected rows with a known label, found none; " + csv +
                                     ":1: label 'tulip' is not in '" + flowers.options.labels + "'");
  expect("images/0.jpg,rose\nimages/none.jpg,rose\n",
         csv + ":2: cannot open '" + root + "/images/none.jpg': No such file or directory");
  flowers.directory.write("images/text.jpg", "this is no JPEG");
  flowers.directory.write("images/cut.jpg", jpeg_of(50, 50, 9).substr(0, 650));
  flowers.directory.write("images/empty.jpg", "");
  expect("images/0.jpg,rose\nimages/text.jpg,rose\n",
         csv + ":2: '" + root + "/images/text.jpg': image: expected JPEG, PNG or WebP, found bytes 7468697320697320");
  expect("images/cut.jpg,rose\n", csv + ":1: '" + root + "/images/cut.jpg': JPEG: Premature end of input file");
  expect("images/empty.jpg,rose\n",
         csv + ":1: '" + root + "/images/empty.jpg': image: expected JPEG, PNG or WebP, found bytes nothing");
  expect("images,rose\n", csv + ":1: cannot read '" + root + "/images': expected a regular file, found a directory");
}

TEST(ConvertImages, BadLabelsAndMissingFilesAreNamed) {
  Flowers flowers;
  const std::string labels = flowers.options.labels;
  flowers.directory.write("labels.txt", "rose\n\n");
  EXPECT_EQ(flowers.error(), "labels '" + labels + "': expected at least 2 labels, found 1");
  flowers.directory.write("labels.txt", "rose\ndaisy\nrose\n");
  EXPECT_EQ(flowers.error(), labels + ":3: class 'rose' is there already, on line 1");
  flowers.options.labels = "/nonexistent";
  EXPECT_EQ(flowers.error(), "cannot open '/nonexistent': No such file or directory");
  flowers.options.labels = flowers.directory.write("labels.txt", "rose\ndaisy\n");
  flowers.options.train_csv = flowers.directory / "none.csv";
  EXPECT_EQ(flowers.error(), "cannot open '" + flowers.directory / "none.csv" + "': No such file or directory");
}

TEST(ConvertImages, BadImagesCanBeSkippedAndAreCounted) {
  Flowers flowers;
  flowers.options.skip_bad_images = true;
  flowers.directory.write("images/text.jpg", "this is no JPEG");
  flowers.options.train_csv =
      flowers.train("images/0.jpg,rose\nimages/text.jpg,rose\nimages/none.jpg,rose\nimages/1.jpg,daisy\n");
  const Result<ConvertSummary> summary = flowers.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->splits[0].records, 2);
  EXPECT_EQ(summary->splits[0].of("bad_images").count, 2);
  EXPECT_NE(summary->splits[0].of("bad_images").first.find(flowers.options.train_csv + ":"), std::string::npos);
  flowers.options.overwrite = true;
  flowers.options.train_csv = flowers.train("images/none.jpg,rose\n");
  EXPECT_EQ(flowers.error(), "train: expected at least one good record, found none; the first is bad because " +
                                 flowers.options.train_csv + ":1: cannot open '" + flowers.directory.path() +
                                 "/images/none.jpg': No such file or directory");
  EXPECT_EQ(read_records(flowers.directory / "records/train-00000-of-00001").size(), 2u);
}

// The header of this PNG claims 2^31-1 pixels a side; once that ended the process in a thread of the pool.
TEST(ConvertImages, AHeaderThatLiesIsABadImageLikeAnother) {
  Flowers flowers;
  flowers.directory.write("images/huge.png",
                          std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0"
                                      "\x9b\xab\x9c\x31\0\0\0\x08IDAT12345678abcd",
                                      53));
  flowers.options.train_csv = flowers.train("images/0.jpg,rose\nimages/huge.png,rose\n");
  for (const bool verify : {true, false}) {
    flowers.options.verify = verify;
    EXPECT_NE(flowers.error().find("images/huge.png': PNG: expected at most 1000000 pixels a side"), std::string::npos)
        << flowers.error();
  }
  flowers.options.skip_bad_images = true;
  EXPECT_EQ(flowers.convert()->splits[0].of("bad_images").count, 1);
}

TEST(ConvertImages, APathWithANulReachesNoOtherFile) {
  Flowers flowers;
  flowers.options.train_csv = flowers.train(std::string("images/0.jpg\0.png,rose\n", 23));
  EXPECT_EQ(flowers.error(), flowers.options.train_csv + ":1: path '" + flowers.directory.path() +
                                 "/images/0.jpg': expected a name, found a NUL behind these " +
                                 std::to_string(flowers.directory.path().size() + 13) + " of " +
                                 std::to_string(flowers.directory.path().size() + 18) + " bytes");
}

// However long a field is, the message that quotes it is a line that a person can read.
TEST(ConvertImages, LongFieldsAreQuotedInPart) {
  Flowers flowers;
  const std::string field(3 << 20, 'a');
  flowers.options.train_csv = flowers.train("images/0.jpg," + field + "\n");
  EXPECT_NE(flowers.error().find(": label 'aaaa"), std::string::npos);
  EXPECT_NE(flowers.error().find("aaaa.. (3145728 bytes)' is not in"), std::string::npos);
  EXPECT_LT(flowers.error().size(), 600u);
  flowers.options.train_csv = flowers.train(field + ",rose\n");
  EXPECT_NE(flowers.error().find("expected at most 4095 bytes, found 31457"), std::string::npos);
  EXPECT_LT(flowers.error().size(), 600u);
  flowers.options.train_csv = flowers.train(std::string(3 << 20, ',') + "\n");
  EXPECT_NE(flowers.error().find(":1: expected at most 1000 fields in a row, found more"), std::string::npos);
  flowers.options.train_csv = flowers.train("images/0.jpg,rose\n");
  flowers.options.labels = flowers.directory.write("labels.txt", field + "\n" + field + "\n");
  EXPECT_NE(flowers.error().find("aaaa.. (3145728 bytes)' is there already"), std::string::npos);
  EXPECT_LT(flowers.error().size(), 600u);
}

// Whatever stands where a file is expected: nothing waits, nothing is read without end.
TEST(ConvertImages, PipesAndDevicesAndDirectoriesAreNamed) {
  Flowers flowers;
  ASSERT_EQ(mkfifo((flowers.directory / "pipe").c_str(), 0600), 0);
  const std::string device = "expected a regular file, found a device or pipe";
  for (std::string* path : {&flowers.options.train_csv, &flowers.options.labels}) {
    const std::string good = *path;
    for (const std::string& bad : {flowers.directory / "pipe", std::string("/dev/zero")}) {
      *path = bad;
      EXPECT_EQ(flowers.error(), "cannot read '" + bad + "': " + device);
    }
    *path = flowers.directory.path();
    EXPECT_NE(flowers.error().find("found a directory"), std::string::npos);
    *path = good;
  }
  for (const std::string& bad : {flowers.directory / "pipe", std::string("/dev/zero")}) {
    flowers.options.train_csv = flowers.train(bad + ",rose\n");
    EXPECT_EQ(flowers.error(), flowers.options.train_csv + ":1: cannot read '" + bad + "': " + device);
  }
}

TEST(ConvertImages, RefusesToMixWithOldRecordsUnlessToldToReplaceThem) {
  Flowers flowers;
  ASSERT_TRUE(flowers.convert().ok());
  EXPECT_EQ(flowers.error(), "output '" + flowers.options.output + "': expected no records, found " +
                                 flowers.options.output +
                                 "/train-00000-of-00001; choose another directory, or overwrite them (--overwrite)");
  flowers.options.overwrite = true;
  flowers.options.shard_bytes = 2500;
  const Result<ConvertSummary> summary = flowers.convert();
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_FALSE(flowers.directory.has("records/train-00000-of-00001"));
  EXPECT_EQ(flowers.outputs(), summary->splits[0].files.size() + summary->splits[1].files.size() + 2);
}

TEST(ConvertImages, AFailureLeavesNoDirectoryThatItMade) {
  Flowers flowers;
  const std::string made = flowers.directory / "made";
  flowers.options.output = made + "/by/convert/";
  flowers.options.train_csv = flowers.train("images/0.jpg,rose\nimages/none.txt,rose\n");
  flowers.directory.write("images/none.txt", "this is no JPEG");
  EXPECT_FALSE(flowers.convert().ok());
  EXPECT_FALSE(std::filesystem::exists(made));
  std::filesystem::create_directories(made);
  EXPECT_FALSE(flowers.convert().ok());
  EXPECT_TRUE(std::filesystem::exists(made)) << "it was there before";
  EXPECT_TRUE(std::filesystem::is_empty(made));
}

TEST(ConvertImages, UnwritableOutputIsOneLine) {
  Flowers flowers;
  flowers.options.output = flowers.directory.write("file", "kept");
  EXPECT_EQ(flowers.error(), "cannot make directory '" + flowers.options.output + "': File exists");
  EXPECT_EQ(flowers.directory.read("file"), "kept");
  flowers.options.output = "/proc/records";
  EXPECT_EQ(flowers.error(), "cannot make directory '/proc/records': No such file or directory");
}

}  // namespace
}  // namespace tenon
