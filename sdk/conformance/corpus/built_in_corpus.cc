#include "conformance/corpus/corpus.h"

// corpus_data.S defines these.
extern "C" {
extern const uint8_t tenon_conformance_corpus[] __attribute__((visibility("hidden")));
extern const uint8_t tenon_conformance_corpus_end[] __attribute__((visibility("hidden")));
}

namespace tenon::conformance {

const std::vector<Case>& built_in_corpus() {
  static const auto& cases = *new std::vector<Case>(read_corpus(
      tenon_conformance_corpus, static_cast<uint64_t>(tenon_conformance_corpus_end - tenon_conformance_corpus)));
  return cases;
}

}  // namespace tenon::conformance
