// Every verb beside tf.data on the same input: elements, their order where it is defined, and how many there are, as
// tests/fixtures/make_datasets.py has them of TensorFlow.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "base/each_number.h"
#include "base/strings.h"
#include "tenon/dataset.h"
#include "tenon/element_maps.h"
#include "unit/data/chain_testing.h"
#include "unit/data/temporary_directory.h"
#include "unit/layer/golden.h"

namespace tenon {
namespace {

constexpr DType kI32 = DType::kI32, kI64 = DType::kI64, kF32 = DType::kF32, kF64 = DType::kF64, kU8 = DType::kU8;

Dataset numbers(int64_t stop, int64_t start = 0) { return Dataset::range(start, stop); }
int64_t number(const Element& e) { return e.at("x").to<int64_t>().at(0); }
ElementMap plus(int64_t n) {
  return [n](Element e) { return Element{{"x", Array(number(e) + n)}}; };
}
Dataset tens(const Element& e) { return numbers(10 * number(e) + 3, 10 * number(e)); }

Dataset ones(std::vector<size_t> lengths) {
  return Dataset::from_generator([lengths] {
    return [lengths, i = size_t{0}]() mutable -> std::optional<Element> {
      if (i == lengths.size()) return std::nullopt;
      return Element{{"x", Array(std::vector<int64_t>(lengths[i++], 1))}};
    };
  });
}
int64_t length(const Element& e) { return e.at("x").dim(0); }

Element checked(Element e) {
  if (number(e) % 4 == 3) throw Error(Status(Code::kInvalid, "not that one"));
  return e;
}

std::vector<std::string> in(const TemporaryDirectory& directory, std::vector<std::string> names) {
  for (std::string& name : names) name = directory / name;
  return names;
}

// Without the directory, which TensorFlow's script has as its own.
ElementMap named_from(const TemporaryDirectory& directory) {
  return [bytes = directory.path().size() + 1](Element e) {
    e.at("path") = text_array(text_of(e.at("path")).substr(bytes));
    return e;
  };
}

using Chain = std::function<Dataset(const TemporaryDirectory&)>;
const std::vector<size_t> kLongs = {1, 5, 2, 3, 9, 4, 4, 1, 8, 2, 6};
const BucketOptions kBounded = {.padding_values = {{"x", 7}}, .pad_to_bucket_boundary = true};

std::map<std::string, Chain> sources() {
  return {
      {"arrays",
       [](const auto&) {
         return Dataset::from_arrays({{"x", Array({0.f, 1.f, 2.f, 3.f, 4.f, 5.f}, {3, 2})}, {"y", Array({7, 8, 9})}})
             .take(3);
       }},
      {"files",
       [](const auto& d) {
         return Dataset::from_files(in(d, {"a.txt", "empty.txt"})).map(named_from(d));
       }},
      {"listed", [](const auto& d) { return Dataset::list_files(d / "*.txt", false).map(named_from(d)); }},
      {"listed by chance", [](const auto& d) { return Dataset::list_files(d / "*.txt", true, 3).map(named_from(d)); }},
      {"folders", [](const auto& d) { return Dataset::from_directory(d / "dir").map(drop_features({"path"})); }},
      {"lines",
       [](const auto& d) {
         return Dataset::from_text_lines(in(d, {"a.txt", "empty.txt", "b.txt"}));
       }},
      {"records",
       [](const auto& d) {
         return Dataset::from_records(in(d, {"records", "records"}));
       }},
      {"gzip", [](const auto& d) { return Dataset::from_records(in(d, {"recordsgzip"})); }},
      {"zlib", [](const auto& d) { return Dataset::from_records(in(d, {"recordszlib"})); }},
      {"examples",
       [](const auto& d) {
         return Dataset::from_records(in(d, {"examples"}))
             .map(parse_example({{"label", {.dtype = kI64}},
                                 {"x", {.dtype = kF32, .shape = {2, 2}}},
                                 {"name", {.dtype = kU8}},
                                 {"some", {.dtype = kI64, .shape = {-1}, .fallback = 0}}}));
       }},
      {"table", [](const auto& d) { return Dataset::from_csv(in(d, {"t.csv"})); }},
      {"table with a default",
       [](const auto& d) {
         return Dataset::from_csv(in(d, {"t.csv", "u.csv"}),
                                  {.types = {{"id", kI32}, {"price", kF64}}, .defaults = {{"price", -1}}});
       }},
      {"some columns",
       [](const auto& d) {
         return Dataset::from_csv(in(d, {"t.csv"}), {.select = {"id", "name"}});
       }},
      {"generator",
       [](const auto&) {
         return ones({2, 0, 1}).repeat(2);
       }},
      {"range", [](const auto&) { return numbers(5); }},
      {"range with a step", [](const auto&) { return Dataset::range(7, 0, -3); }},
      {"empty range", [](const auto&) { return numbers(0); }},
  };
}

std::map<std::string, Chain> orders() {
  return {
      {"map", [](const auto&) { return numbers(5).map(plus(100)); }},
      {"filter", [](const auto&) { return numbers(10).filter([](const Element& e) { return number(e) % 3 == 1; }); }},
      {"shuffle by chance", [](const auto&) { return numbers(50).shuffle(10, {.seed = 1}); }},
      {"buffer of one", [](const auto&) { return numbers(5).shuffle(1); }},
      {"shuffled epochs by chance", [](const auto&) { return numbers(20).shuffle(20, {.seed = 1}).repeat(2); }},
      {"repeat", [](const auto&) { return numbers(3).repeat(2); }},
      {"repeat for ever", [](const auto&) { return numbers(3).repeat().take(7); }},
      {"repeat nothing", [](const auto&) { return numbers(3).repeat(0); }},
      {"take", [](const auto&) { return numbers(5).take(3); }},
      {"take too much", [](const auto&) { return numbers(5).take(30); }},
      {"take all", [](const auto&) { return numbers(5).take(-1); }},
      {"skip", [](const auto&) { return numbers(5).skip(3); }},
      {"skip too much", [](const auto&) { return numbers(5).skip(30); }},
      {"skip all", [](const auto&) { return numbers(5).skip(-1); }},
      {"shard", [](const auto&) { return numbers(11).shard(4, 2); }},
      {"shard of few", [](const auto&) { return numbers(2).shard(4, 3); }},
      {"concatenate", [](const auto&) { return numbers(3).concatenate(numbers(9, 7)); }},
      {"zip",
       [](const auto&) {
         return Dataset::zip({numbers(3), numbers(9, 5).map(rename_features({{"x", "y"}}))});
       }},
      {"sample by chance",
       [](const auto&) {
         return Dataset::sample_from_datasets({numbers(20), numbers(130, 100)}, {0.3, 0.7}, {.seed = 4});
       }},
      {"sample of one",
       [](const auto&) {
         return Dataset::sample_from_datasets({numbers(4), numbers(130, 100)}, {1, 0}, {.stop_on_empty_dataset = true});
       }},
      {"interleave", [](const auto&) { return numbers(4, 1).interleave(tens, 2, 2); }},
      {"interleave of unequal ones",
       [](const auto&) { return numbers(6).interleave([](const Element& e) { return numbers(number(e)); }, 3, 1); }},
      {"interleave in blocks", [](const auto&) { return numbers(5).interleave(tens, 3, 4); }},
      {"flat_map", [](const auto&) { return numbers(3, 1).flat_map(tens); }},
      {"cache", [](const auto&) { return numbers(5).cache().repeat(2); }},
      {"cache in a file", [](const auto& d) { return numbers(5).map(plus(1)).cache(d / "cache").repeat(2); }},
      {"ignore_errors", [](const auto&) { return numbers(9).map(checked).ignore_errors(); }},
      {"prefetch", [](const auto&) { return numbers(5).prefetch(2); }},
      {"prefetch as it takes", [](const auto&) { return numbers(5).batch(2).prefetch(kAutotune); }},
  };
}

std::map<std::string, Chain> batches() {
  return {
      {"batch", [](const auto&) { return numbers(7).batch(3); }},
      {"whole batches", [](const auto&) { return numbers(7).batch(3, true); }},
      {"batches of batches", [](const auto&) { return numbers(8).batch(2).batch(3); }},
      {"repeat and batch", [](const auto&) { return numbers(5).repeat(2).batch(4); }},
      {"batch and repeat", [](const auto&) { return numbers(5).batch(4).repeat(2); }},
      {"padded to the longest",
       [](const auto&) {
         return ones({1, 3, 2, 2, 0}).padded_batch(2);
       }},
      {"padded to a shape",
       [](const auto&) {
         return ones({1, 3, 2}).padded_batch(2, {.padded_shapes = {{"x", {4}}}, .padding_values = {{"x", -1}}});
       }},
      {"whole padded batches",
       [](const auto&) {
         return ones({1, 3, 2}).padded_batch(2, {.drop_remainder = true});
       }},
      {"buckets",
       [](const auto&) {
         return ones(kLongs).bucket_by_sequence_length(length, {3, 5}, {2, 3, 2});
       }},
      {"whole buckets",
       [](const auto&) {
         return ones(kLongs).bucket_by_sequence_length(length, {3, 5}, {2, 3, 2}, {.drop_remainder = true});
       }},
      {"buckets to their boundaries",
       [](const auto&) {
         return ones({1, 3, 2, 4, 2}).bucket_by_sequence_length(length, {3, 6}, {2, 2, 2}, kBounded);
       }},
      {"unbatch", [](const auto&) { return numbers(7).batch(3).unbatch(); }},
      {"unbatch of ragged ones",
       [](const auto&) {
         return ones({2, 0, 3}).unbatch();
       }},
      {"window", [](const auto&) { return numbers(7).window(3); }},
      {"windows that overlap", [](const auto&) { return numbers(7).window(3, 2); }},
      {"windows with a stride", [](const auto&) { return numbers(7).window(3, 1, 2, true); }},
      {"windows with gaps", [](const auto&) { return numbers(11).window(2, 4, 1, true); }},
      {"windows at the end", [](const auto&) { return numbers(7).window(3, 1, 2); }},
      {"a training",
       [](const auto&) {
         return numbers(20)
             .filter([](const Element& e) { return number(e) % 2 == 0; })
             .map(plus(1))
             .cache()
             .repeat(2)
             .batch(6, true)
             .prefetch(1);
       }},
      {"a shuffled training by chance",
       [](const auto&) {
         return numbers(12).map(plus(5)).cache().shuffle(12, {.seed = 2}).repeat(3).batch(4).unbatch();
       }},
  };
}

std::string text_of_element(const Element& element) {
  std::string out;
  for (const auto& [name, array] : element) {
    out += cat(out.empty() ? "" : "; ", name, " = ", array.type().str());
    each_number(array.dtype(), array.bytes(), [&](auto value) {
      char text[40];
      std::snprintf(text, sizeof text, " %.9g", static_cast<double>(value));
      out += text;
    });
  }
  return out;
}

std::vector<std::string> elements(const Dataset& data, int threads) {
  std::vector<std::string> out;
  for (ElementIterator at = data.elements(threads); at != data.end(); ++at) out.push_back(text_of_element(*at));
  return out;
}

std::string joined(std::vector<std::string> elements, const golden::Row& row) {
  if (row.at("order") == "any") std::sort(elements.begin(), elements.end());
  return join(elements, " | ");
}

std::string expected(const golden::Row& row) {
  const std::string& text = row.at("elements");
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(" | ", at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 3;
  }
  return joined(parts, row);
}

void write_file(const TemporaryDirectory& directory, const golden::Row& row) {
  std::string bytes;
  const std::string& hex = row.at("elements");
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  const std::string& name = row.at("case");
  std::filesystem::create_directories((directory / name).substr(0, (directory / name).rfind('/')));
  directory.write(name, bytes);
}

TEST(TfData, EveryVerbGivesWhatTfDataGives) {
  std::map<std::string, Chain> chains = sources();
  chains.merge(orders());
  chains.merge(batches());
  TemporaryDirectory directory;
  std::set<std::string> tried, wrong;
  size_t cases = 0;
  for (const golden::Row& row : golden::rows("../fixtures/datasets.csv")) {
    const std::string& verb = row.at("verb");
    if (verb == "file") {
      write_file(directory, row);
      continue;
    }
    SCOPED_TRACE(row.at("case"));
    ++cases;
    tried.insert(verb);
    const auto chain = chains.find(row.at("case"));
    bool right = chain != chains.end();
    for (const int threads : {1, 3}) {
      if (!right) break;
      const Dataset data = chain->second(directory);
      const std::string found = joined(elements(data, threads), row);
      right = found == expected(row);
      EXPECT_EQ(found, expected(row));
      const std::string& cardinality = row.at("cardinality");
      if (cardinality.empty()) continue;
      EXPECT_EQ(cat(data.cardinality()), cardinality);
      right = right && cat(data.cardinality()) == cardinality;
    }
    EXPECT_TRUE(chain != chains.end()) << "there is no such chain";
    if (!right) wrong.insert(verb);
  }
  EXPECT_EQ(cases, chains.size());
  std::printf("tf.data: %zu verbs tried, %zu right; %zu cases\n", tried.size(), tried.size() - wrong.size(), cases);
}

}  // namespace
}  // namespace tenon
