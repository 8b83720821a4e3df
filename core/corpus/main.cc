// tenon_corpus FILE: writes the conformance suite's corpus when Tenon is built; `--list` says what is in it.
#include <cstdio>
#include <exception>
#include <string_view>

#include "corpus/corpus.h"

namespace {

using tenon::corpus::Case;

void list() {
  static const char* const kinds[] = {"op", "gradient", "update", "training", "inference"};
  for (const Case& c : tenon::corpus::all_cases())
    std::printf("%s %s '%s': %zu inputs, %zu composites, %llu elements\n", kinds[c.kind], c.op.c_str(), c.name.c_str(),
                c.inputs.size(), c.decompositions.size(),
                static_cast<unsigned long long>(tenon::conformance::case_size(c)));
}

void write(const char* path) {
  const std::vector<uint8_t> bytes = tenon::conformance::write_corpus(tenon::corpus::all_cases());
  std::FILE* file = std::fopen(path, "wb");
  bool ok = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file) ok = std::fclose(file) == 0 && ok;
  if (!ok) throw std::runtime_error(std::string(path) + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tenon_corpus FILE | --list\n");
    return 2;
  }
  try {
    if (std::string_view(argv[1]) == "--list")
      list();
    else
      write(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon_corpus: %s\n", e.what());
    return 1;
  }
  return 0;
}
