// Drives a fuzz target without libFuzzer: replays its seeds, then mutates them until the time is over.
//   fuzz_NAME CORPUS SECONDS [SEED]
// The same seed tries the same inputs in the same order. Before each input its bytes are written to crash-NAME, which stays
// when the process ends there. Prints the number of executions, and the largest resident memory in KiB.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::string;
constexpr size_t kMaxSeed = 16384;
constexpr unsigned kMostSeconds = 10;  // of one input

// splitmix64: small, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return n == 0 ? 0 : next() % n; }

 private:
  uint64_t state_;
};

// A number that a length or a count may be: an edge, or near one.
uint64_t edge_number(Random& random) {
  const int shift = static_cast<int>(random.below(64));
  return (uint64_t{1} << shift) + random.below(3) - 1;
}

void mutate(Bytes& bytes, const std::vector<Bytes>& seeds, Random& random) {
  const size_t at = random.below(bytes.size() + 1), left = bytes.size() - at;
  const uint64_t number = edge_number(random);
  const size_t width = std::min<size_t>(left, size_t{1} << random.below(4));
  char image[8];
  std::memcpy(image, &number, 8);
  if (random.below(2)) std::reverse(image, image + width);
  switch (random.below(8)) {
    case 0:
      if (left > 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (left > 0) bytes[at] = static_cast<char>(random.next());
      break;
    case 2:
    case 3:
      bytes.replace(at, width, image, width);
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.erase(at, 1 + random.below(16));
      break;
    case 6: {  // a part of some seed
      const Bytes& other = seeds[random.below(seeds.size())];
      const size_t from = random.below(other.size() + 1);
      bytes.insert(at, other, from, 1 + random.below(64));
      break;
    }
    default:
      bytes.insert(at, bytes, at, 1 + random.below(32));
  }
  if (bytes.size() > kMaxSeed) bytes.resize(kMaxSeed);
}

std::vector<Bytes> read_seeds(const char* directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds{""};
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// The input that is being tried, in memory that outlives the process.
Bytes current;
const char* crash_name = nullptr;

void keep_current() {
  if (std::FILE* file = std::fopen(crash_name, "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
}

}  // namespace

// Called by the sanitizers before they end the process.
extern "C" void __sanitizer_set_death_callback(void (*callback)());
// As much memory as libFuzzer is given; a target's own abort() is a finding too.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_abort=1:hard_rss_limit_mb=512:max_allocation_size_mb=512:quarantine_size_mb=64:detect_leaks=1";
}

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: %s CORPUS SECONDS [SEED]\n", argv[0]), 2;
  const std::string name = "crash-" + std::filesystem::path(argv[0]).filename().string();
  crash_name = name.c_str();
  __sanitizer_set_death_callback(keep_current);
  std::signal(SIGALRM, [](int) { std::abort(); });
  const std::vector<Bytes> seeds = read_seeds(argv[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
  Random random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  uint64_t executions = 0;
  for (; executions < seeds.size() || std::chrono::steady_clock::now() < end; ++executions) {
    current = seeds[executions < seeds.size() ? executions : random.below(seeds.size())];
    for (size_t n = executions < seeds.size() ? 0 : 1 + random.below(8); n > 0; --n) mutate(current, seeds, random);
    if (executions % 256 == 0 || current.size() > 4096) ::alarm(kMostSeconds);
    // A copy of its own length: what is read behind it is seen.
    const std::vector<uint8_t> input(current.begin(), current.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("executions %llu rss_kib %ld\n", static_cast<unsigned long long>(executions), usage.ru_maxrss);
  return 0;
}
