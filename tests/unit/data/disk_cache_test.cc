// Values that are kept in a file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "tenon/dataset.h"
#include "tenon/element_maps.h"
#include "unit/data/chain_testing.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

struct Counted {
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  Dataset of(const Dataset& from) const {
    return from.map([calls = calls](Element e) {
      ++*calls;
      const int64_t x = e.at("x").to<int64_t>()[0];
      e["square"] = Array(static_cast<float>(x * x));
      e["text"] = text_array(std::string(static_cast<size_t>(x), 'a'));
      return e;
    });
  }
};

Numbers rising(int64_t n) {
  Numbers out;
  for (int64_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}

TEST(DiskCache, KeepsAnEpochForLaterRuns) {
  TemporaryDirectory directory;
  const std::string path = directory / "cache";
  const Counted counted;
  {
    const Dataset data = counted.of(Dataset::range(0, 50)).cache(path);
    EXPECT_EQ(flat(data.take(20)), rising(20));
    EXPECT_FALSE(directory.has("cache")) << "before an epoch has been read to its end";
    EXPECT_EQ(flat(data), rising(50));
    EXPECT_TRUE(directory.has("cache"));
    EXPECT_EQ(flat(data, 1, 1), rising(50));
    EXPECT_EQ(*counted.calls, 70) << "the first twenty again, and none once the file is there";
  }
  const Dataset later = counted.of(Dataset::range(0, 50)).cache(path);
  const int before = *counted.calls;
  for (ElementIterator at = later.elements(2); at != later.end(); ++at) {
    const auto x = (*at).at("x").to<int64_t>()[0];
    EXPECT_EQ((*at).at("square").item(), static_cast<double>(x * x));
    EXPECT_EQ(text_of((*at).at("text")), std::string(static_cast<size_t>(x), 'a'));
    EXPECT_EQ((*at).size(), 3u);
  }
  EXPECT_EQ(*counted.calls, before);
  EXPECT_EQ(later.cardinality(), 50);
  EXPECT_EQ(directory.entries(), 1u) << "nothing else is left";
}

TEST(DiskCache, ServesEpochsOfAPipelineWhileItIsMade) {
  TemporaryDirectory directory;
  const Counted counted;
  const Dataset data = counted.of(Dataset::range(0, 40))
                           .map(drop_features({"text"}))
                           .cache(directory / "cache")
                           .shuffle(10)
                           .repeat(3)
                           .batch(8);
  Numbers all = flat(data);
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int64_t>(i / 3));
  EXPECT_EQ(all.size(), 120u);
  EXPECT_TRUE(directory.has("cache"));
}

TEST(DiskCache, KeepsBatches) {
  TemporaryDirectory directory;
  const auto data = [&] { return Dataset::range(0, 10).batch(4).cache(directory / "cache"); };
  EXPECT_EQ(flat(data()), rising(10));
  const Dataset later = data();
  EXPECT_EQ(later.cardinality(), 3);
  EXPECT_EQ(later.size(), 10);
  EXPECT_EQ(flat(later.unbatch()), rising(10));
}

TEST(DiskCache, RefusesOthersInALine) {
  TemporaryDirectory directory;
  const std::string path = directory / "cache";
  const auto of = [&](int64_t n) {
    std::vector<int64_t> numbers = rising(n);
    return Dataset::from_arrays({{"x", Array(numbers)}});
  };
  flat(of(10).take(-1).cache(path));
  const std::string otherwise = "; remove it, or give another path";
  EXPECT_EQ(error_of([&] { flat(of(10).take(-1).shuffle(3).cache(path)); }),
            "cache '" + path + "' holds elements of another chain of verbs" + otherwise);
  Numbers changed = rising(10);
  changed[3] = 7;
  const Dataset other = Dataset::from_arrays({{"x", Array(changed)}});
  EXPECT_EQ(error_of([&] { flat(other.cache(path)); }),
            "cache '" + path + "' holds elements of other data" + otherwise);
  EXPECT_EQ(flat(of(10).take(-1).cache(path)), rising(10));
  EXPECT_EQ(error_of([&] { flat(of(10).cache(directory.write("text", std::string(1000, 'x')))); }),
            "cache '" + directory / "text" + "': expected a file that a cache wrote, found one that is cut or damaged" +
                otherwise);
  EXPECT_EQ(error_of([&] { flat(of(10).cache(directory.write("short", "x"))); }),
            "cache '" + directory / "short" + "': expected a file that a cache wrote, found 1 bytes" + otherwise);
  EXPECT_EQ(error_of([&] { of(10).cache(directory / "no/cache"); }),
            "cache: there is no directory '" + directory / "no" + "'");
}

TEST(DiskCache, TellsOfEachDamage) {
  TemporaryDirectory directory;
  const std::string path = directory / "cache";
  const Dataset data = Dataset::range(0, 5).cache(path);
  EXPECT_EQ(flat(data, 1), rising(5));
  const std::string whole = directory.read("cache");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    directory.write("cache", bytes);
    Numbers found;
    const std::string error = error_of([&] { found = flat(Dataset::range(0, 5).cache(path)); });
    const bool told = error.find(path) != std::string::npos && error.find('\n') == std::string::npos;
    EXPECT_TRUE(told || found == rising(5)) << at;
  }
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    directory.write("cache", whole.substr(0, bytes));
    EXPECT_NE(error_of([&] { flat(Dataset::range(0, 5).cache(path), 1); }), "no error");
  }
}

TEST(DiskCache, GoesOnWithoutAFileWhereTheDiskIsFull) {
  TemporaryDirectory directory;
  const std::string path = directory / "cache";
  testing::internal::CaptureStderr();
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 100 << 10, before.rlim_max };
  setrlimit(RLIMIT_FSIZE, &small);
  const Dataset data = Dataset::range(0, 1000).map([](Element e) {
    e["bytes"] = Array(Type{DType::kU8, {1000}});
    return e;
  });
  const Dataset cached = data.cache(path);
  const Numbers first = flat(cached), second = flat(cached, 3, 1);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cache: cannot write '" + path + "': File too large; goes on without it\n");
  EXPECT_EQ(first, rising(1000));
  EXPECT_EQ(second, rising(1000));
  EXPECT_EQ(directory.entries(), 0u);
}

TEST(DiskCache, ErrorsBehindItNameTheDataAndNotTheFile) {
  TemporaryDirectory directory;
  const std::string lines = directory.write("lines", "a\nb\n");
  for (int run = 0; run < 2; ++run) {
    const Dataset cached = Dataset::from_text_lines({lines}).cache(directory / "cache");
    for (const Element& e : cached) EXPECT_EQ(e.size(), 1u);
    const Dataset bad = cached.map([](Element e) -> Element {
      if (text_of(e.at("line")) == "b") throw Error(Status(Code::kInvalid, "is b"));
      return e;
    });
    EXPECT_EQ(error_of([&] { read_through(bad); }), lines + ":2: is b");
  }
}

}  // namespace
}  // namespace tenon
