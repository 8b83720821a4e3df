// Sources of chains: files, lines, records, tables.
#include <gtest/gtest.h>

#include <zlib.h>

#include "base/file/file.h"
#include "tenon/dataset.h"
#include "tenon/tfrecord.h"
#include "unit/data/chain_testing.h"
#include "unit/data/input_testing.h"

namespace tenon {
namespace {

std::vector<double> numbers_of(const Dataset& data, const std::string& feature, int threads = 1) {
  std::vector<double> out;
  for (ElementIterator at = data.elements(threads); at != data.end(); ++at) out.push_back((*at).at(feature).item());
  return out;
}

// What is given before an error, and the error.
std::pair<int, std::string> until_error(const Dataset& data, int threads = 1) {
  int count = 0;
  const std::string error = error_of([&] {
    for (ElementIterator at = data.elements(threads); at != data.end(); ++at) ++count;
  });
  return {count, error};
}

std::string zipped(const std::string& text, bool gzip) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1000, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data())), z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data()), z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

std::string write_records(const TemporaryDirectory& directory, const std::string& name, const Texts& records,
                          Compression compression = Compression::kNone) {
  auto writer = RecordWriter::create(directory / name, compression).take();
  for (const std::string& record : records) check(writer.write(record));
  check(writer.close());
  return directory / name;
}

TEST(Sources, FilesGiveTheirBytesAndLabels) {
  TemporaryDirectory directory;
  const Texts paths = {directory.write("a", "one"), directory.write("b", ""), directory.write("c", "three")};
  const Dataset data = Dataset::from_files(paths, {4, 5, 6});
  EXPECT_EQ(data.cardinality(), 3);
  EXPECT_EQ(texts(data, "data", 3), (Texts{"one", "", "three"}));
  EXPECT_EQ(texts(data, "path"), paths);
  EXPECT_EQ(numbers_of(data, "label"), (std::vector<double>{4, 5, 6}));
  EXPECT_EQ((*Dataset::from_files(paths).begin()).count("label"), 0u);
  EXPECT_EQ(error_of([&] { Dataset::from_files(paths, {1}); }),
            "from_files: 1 labels, expected one for each of 3 files");
  const Dataset missing = Dataset::from_files({paths[0], directory / "no", paths[2]});
  EXPECT_EQ(until_error(missing), std::pair(1, "cannot open '" + directory / "no" + "': No such file or directory"));
  EXPECT_EQ(texts(missing.ignore_errors(), "data"), (Texts{"one", "three"}));
}

TEST(Sources, OtherFilesHaveAnotherFingerprint) {
  TemporaryDirectory directory;
  const Texts paths = {directory.write("a", "one"), directory.write("b", "two")};
  const auto print = [&] {
    return Dataset::from_files(paths).map([](Element) { return Element{{"x", Array(1)}}; }).batch(1).data_fingerprint();
  };
  const uint64_t before = print();
  EXPECT_EQ(print(), before);
  directory.write("b", "TWO");
  EXPECT_NE(print(), before);
}

TEST(Sources, PatternsListFiles) {
  TemporaryDirectory directory;
  Texts paths;
  for (const char* name : {"a.txt", "b.txt", "c.txt", "d.txt"}) paths.push_back(directory.write(name, name));
  directory.write("other", "");
  EXPECT_EQ(texts(Dataset::list_files(directory / "*.txt", false), "path"), paths);
  const Dataset shuffled = Dataset::list_files(directory / "*.txt", true, 7);
  Texts first = texts(shuffled, "path"), second = texts(shuffled, "path", 1, 1);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, paths);
  EXPECT_EQ(error_of([&] { Dataset::list_files(directory / "*.png"); }), "no files match " + directory / "*.png");
}

TEST(Sources, DirectoriesAreClasses) {
  TemporaryDirectory directory;
  for (const char* name : {"dog", "cat", "cat/more", "cat/.hidden"})
    std::filesystem::create_directory(directory / name);
  for (const char* name : {"dog/2", "dog/1", "cat/z", "cat/more/a", "cat/.hidden/no", "cat/.no", "loose"})
    directory.write(name, name);
  Texts classes;
  const Dataset data = Dataset::from_directory(directory.path(), &classes);
  EXPECT_EQ(classes, (Texts{"cat", "dog"}));
  EXPECT_EQ(texts(data, "data"), (Texts{"cat/more/a", "cat/z", "dog/1", "dog/2"}));
  EXPECT_EQ(numbers_of(data, "label"), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(error_of([&] { Dataset::from_directory(directory / "cat/more"); }),
            directory / "cat/more" + ": expected a directory a class, found no directory");
  EXPECT_EQ(error_of([&] { Dataset::from_directory(directory / "no"); }),
            "cannot read the directory '" + directory / "no" + "': No such file or directory");
}

TEST(Sources, LinesComeWithoutTheirEnds) {
  TemporaryDirectory directory;
  const std::string text = "one\n\ntwo\r\nthree";
  const Texts lines = {"one", "", "two", "three"};
  const std::string plain = directory.write("plain", text);
  EXPECT_EQ(texts(Dataset::from_text_lines({plain}), "line", 2), lines);
  for (const bool gzip : {true, false})
    EXPECT_EQ(texts(Dataset::from_text_lines({directory.write("zipped", zipped(text, gzip))}), "line"), lines);
  EXPECT_EQ(texts(Dataset::from_text_lines({directory.write("x", "x^2 + 1\n")}), "line"), (Texts{"x^2 + 1"}));
  EXPECT_EQ(texts(Dataset::from_text_lines({plain, directory.write("empty", ""), plain}), "line").size(), 8u);
  EXPECT_EQ(Dataset::from_text_lines({plain}).cardinality(), kUnknownCardinality);
  EXPECT_EQ(texts(Dataset::from_text_lines({plain}).repeat(2).take(5), "line").back(), "one");
}

TEST(Sources, LinesThatCannotBeReadAreToldWithTheirPlace) {
  TemporaryDirectory directory;
  const std::string good = directory.write("good", "one\ntwo\n");
  const Dataset data = Dataset::from_text_lines({good, directory / "no", good});
  EXPECT_EQ(until_error(data), std::pair(2, "cannot open '" + directory / "no" + "': No such file or directory"));
  EXPECT_EQ(texts(data.ignore_errors(), "line").size(), 4u);
  std::string packed;
  for (int i = 0; i < 20000; ++i) packed += std::to_string(i * 7919) + "\n";
  packed = zipped(packed, true);
  packed.resize(packed.size() / 2);
  const auto [count, error] = until_error(Dataset::from_text_lines({directory.write("cut.gz", packed)}));
  EXPECT_GT(count, 1000);
  EXPECT_EQ(error, "'" + directory / "cut.gz" + "' at compressed byte " + std::to_string(packed.size()) +
                       ": the file ends inside the compressed data");
  EXPECT_EQ(error_of([&] {
              texts(Dataset::from_text_lines({good}).map([](Element) -> Element { throw std::runtime_error("no"); }),
                    "line");
            }),
            good + ":1: a function of the chain threw: no");
}

TEST(Sources, RecordsOfEachCompression) {
  TemporaryDirectory directory;
  const Texts a = {"one", "", std::string(3000, 'x')}, b = {"two"}, all = {"one", "", a[2], "two"};
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    const Dataset data =
        Dataset::from_records({write_records(directory, "a", a, compression), write_records(directory, "b", b)});
    for (const int threads : {1, 4}) EXPECT_EQ(texts(data, "record", threads), all);
    EXPECT_EQ(data.cardinality(), compression == Compression::kNone ? 4 : kUnknownCardinality);
    EXPECT_EQ(texts(data.shuffle(4).repeat(2), "record").size(), 8u);
  }
  EXPECT_EQ(error_of([&] { Dataset::from_records({directory / "no"}); }),
            "cannot open '" + directory / "no" + "': No such file or directory");
}

TEST(Sources, DamagedRecordsAreToldOrLeftOut) {
  TemporaryDirectory directory;
  const std::string good = write_records(directory, "good", {"one", "two", "three"});
  std::string bytes = directory.read("good");
  bytes[12] ^= 1;  // of "one"
  bytes.resize(bytes.size() - 1);
  const std::string bad = directory.write("bad", bytes);
  const Dataset data = Dataset::from_records({bad, good});
  const auto [count, error] = until_error(data);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(error.substr(0, error.find(" expected")), bad + ": record at offset 0: checksum of the data:");
  EXPECT_EQ(until_error(data.skip(1)),
            std::pair(1, bad + ": record at offset 38: cut short: expected 5 bytes of data, found 8"));
  EXPECT_EQ(texts(data.ignore_errors(), "record", 3), (Texts{"two", "one", "two", "three"}));
  bytes.resize(bytes.size() / 2 * 2);
  const std::string packed = directory.write("packed", zipped(bytes, true));
  const Dataset stream = Dataset::from_records({packed, good});
  EXPECT_EQ(until_error(stream).second.substr(0, packed.size() + 50),
            "'" + packed + "' at inflated byte 0: checksum of a record's data");
  EXPECT_EQ(texts(stream.ignore_errors(), "record"), (Texts{"two", "one", "two", "three"}));
}

TEST(Sources, CompressedShardsTrainLikePlainOnes) {
  TemporaryDirectory plain, packed;
  write_numbers(plain, {30, 20, 10});
  for (int shard = 0; shard < 3; ++shard) {
    const std::string name = name_of(shard_path(plain, "train", shard, 3));
    packed.write(name, zipped(plain.read(name), shard != 1));
  }
  const auto read = [](const TemporaryDirectory& directory) {
    InputOptions options = numbers_in(directory);
    options.training = true;
    const Dataset data = numbers(options);
    return std::pair(data.size(), read_all(data, 2).batches);
  };
  EXPECT_EQ(read(packed), read(plain));
  EXPECT_EQ(read(plain).first, 60);
}

TEST(Sources, CutCompressedShardsAreToldOrLost) {
  TemporaryDirectory directory;
  write_numbers(directory, {3000});
  const std::string path = shard_path(directory, "train", 0, 1);
  std::string bytes = zipped(directory.read(name_of(path)), true);
  bytes.resize(bytes.size() / 2);
  directory.write(name_of(path), bytes);
  InputOptions options = numbers_in(directory);
  const auto error = Dataset::from_records(options, number_specs(), read_number).status().message();
  EXPECT_EQ(error, "'" + path + "' at compressed byte " + std::to_string(bytes.size()) +
                       ": the file ends inside the compressed data");
  options.skip_corrupt = true;
  const Dataset data = numbers(options);
  EXPECT_GT(data.size(), 1000);
  EXPECT_LT(data.size(), 3000);
}

TEST(Sources, TablesHaveTypedColumns) {
  TemporaryDirectory directory;
  const std::string path = directory.write(
      "t.csv", "\xef\xbb\xbfid,price,\"na\nme\",ok\r\n1,2.5, \"x\",1\r\n-7, 3 ,\"a \"\"b\"\",\nc\",0\r\n\r\n");
  const Dataset data = Dataset::from_csv({path}, {.types = {{"ok", DType::kBool}}});
  EXPECT_EQ(numbers_of(data, "id", 2), (std::vector<double>{1, -7}));
  EXPECT_EQ(numbers_of(data, "price"), (std::vector<double>{2.5, 3}));
  EXPECT_EQ(numbers_of(data, "ok"), (std::vector<double>{1, 0}));
  EXPECT_EQ(texts(data, "na\nme"), (Texts{" \"x\"", "a \"b\",\nc"}));
  const Element first = *data.begin();
  EXPECT_EQ(first.at("id").type().str(), "i64[]");
  EXPECT_EQ(first.at("price").type().str(), "f32[]");
  const Element some = *Dataset::from_csv({path}, {.select = {"id", "ok"}}).begin();
  EXPECT_EQ(some.size(), 2u);
  EXPECT_EQ(Dataset::from_csv({path}).cardinality(), kUnknownCardinality);
}

TEST(Sources, TablesWithoutAHeaderOrWithGaps) {
  TemporaryDirectory directory;
  const std::string path = directory.write("t.csv", "1;2\n;5\n");
  const Dataset data =
      Dataset::from_csv({path, path}, {.header = false, .delimiter = ';', .defaults = {{"column_0", -1}}});
  EXPECT_EQ(numbers_of(data, "column_0"), (std::vector<double>{1, -1, 1, -1}));
  EXPECT_EQ(numbers_of(data, "column_1"), (std::vector<double>{2, 5, 2, 5}));
  EXPECT_EQ(texts(Dataset::from_csv({path}, {.header = false, .delimiter = ';', .types = {{"column_0", DType::kU8}}}),
                  "column_0"),
            (Texts{"1", ""}));
}

TEST(Sources, AColumnThatChangesItsTypeIsOneLine) {
  TemporaryDirectory directory;
  std::string text = "id,price\n";
  for (int i = 2; i < 9000; ++i) text += "1,2.5\n";
  const std::string path = directory.write("t.csv", text + "1,cheap\n2,3\n1,2,3\n4,5\n\"6\"x,7\n8,9\n");
  const Dataset data = Dataset::from_csv({path});
  EXPECT_EQ(until_error(data, 2),
            std::pair(8998, path + ":9000: column 'price': expected f32 as in the first row, found 'cheap'"));
  EXPECT_EQ(until_error(data.skip(8999)), std::pair(1, path + ":9002: expected 2 fields as the header has, found 3"));
  EXPECT_EQ(until_error(data.skip(9001)),
            std::pair(1, path + ":9004: expected a comma or the end of the line after a closing quote, found 'x'"));
  EXPECT_EQ(numbers_of(data.ignore_errors(), "price").size(), 9001u);
  const Dataset typed = Dataset::from_csv({path}, {.types = {{"id", DType::kI32}, {"price", DType::kU8}}});
  EXPECT_EQ(texts(typed.take(8999), "price").back(), "cheap");
}

// All other rows train, in their order, whatever the number of threads.
TEST(Sources, AColumnMayChangeItsTypeAtLine900000) {
  TemporaryDirectory directory;
  constexpr int kLine = 900000;
  std::string text = "id,price\n";
  for (int line = 2; line < kLine; ++line) text += "1,2.5\n";
  const std::string path = directory.write("t.csv", text + "1,cheap\n7,8.5\n");
  const Dataset data = Dataset::from_csv({path});
  const auto told =
      std::pair(kLine - 2, path + ":900000: column 'price': expected f32 as in the first row, found 'cheap'");
  EXPECT_EQ(until_error(data, 4), told);
  const std::vector<double> good = numbers_of(data.ignore_errors(), "price");
  EXPECT_EQ(good.size(), static_cast<size_t>(kLine - 1));
  EXPECT_EQ(good.back(), 8.5);
}

TEST(Sources, WrongTablesAreToldAtOnce) {
  TemporaryDirectory directory;
  const std::string a = directory.write("a.csv", "x,y\n1,2\n"), b = directory.write("b.csv", "x,z\n1,2\n");
  EXPECT_EQ(until_error(Dataset::from_csv({a, b})),
            std::pair(1, b + ":1: column 2: expected 'y' as in " + a + ", found 'z'"));
  EXPECT_EQ(error_of([&] { Dataset::from_csv({a}, {.select = {"w"}}); }),
            "from_csv: select has a column 'w'; " + a + " has x, y");
  EXPECT_EQ(error_of([&] {
              Dataset::from_csv({a}, {.types = {{"x", DType::kF16}}});
            }),
            "from_csv: column 'x' is f16, expected i32, i64, f32, f64, bool, or u8 for text");
  EXPECT_EQ(
      error_of([&] { Dataset::from_csv({directory.write("c.csv", "x,y\n,2\n")}); }),
      directory / "c.csv" +
          ":2: column 'x' is empty in the first row, which does not tell its type; expected one in CsvOptions::types");
  EXPECT_EQ(error_of([&] { Dataset::from_csv({directory.write("d.csv", "x,x\n")}); }),
            directory / "d.csv" + ":1: column 'x' is there twice");
  EXPECT_EQ(error_of([&] { Dataset::from_csv({directory.write("e.csv", "")}); }),
            directory / "e.csv" + ": expected a header, found nothing");
  EXPECT_EQ(numbers_of(Dataset::from_csv({directory.write("f.csv", "x\n")}), "x"), std::vector<double>());
}

TEST(Sources, PlacesAreToldBehindVerbsThatHoldValues) {
  TemporaryDirectory directory;
  const std::string path = directory.write("t", "a\nb\nc\n");
  const Dataset lines = Dataset::from_text_lines({path});
  const auto damaged = [](Element e) -> Element {
    if (text_of(e.at("line")) == "b") throw Error(Status(Code::kInvalid, "is b"));
    return e;
  };
  const auto all = [](const Element&) { return true; };
  const Dataset zipped = Dataset::zip({lines, Dataset::range(0, 3)}).filter(all).map(damaged);
  EXPECT_EQ(until_error(zipped), std::pair(1, path + ":2: is b"));
  EXPECT_EQ(until_error(lines.cache().filter(all).map(damaged)), std::pair(1, path + ":2: is b"));
  const Dataset inner = Dataset::range(0, 1).flat_map([&](const Element&) { return lines; });
  EXPECT_EQ(until_error(inner.filter(all).map(damaged)), std::pair(1, path + ":2: is b"));
}

}  // namespace
}  // namespace tenon
