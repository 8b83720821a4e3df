// What every reader of parallel text must hold to.
#pragma once

#include <cstdlib>

#include "data/text/pair_reader.h"
#include "seam/memory_files.h"

namespace tenon::fuzz {

// Reads all pairs of the file "f". No more than `most` bytes of text may come out of it, and an error stays.
inline void read_pairs(Result<PairReaderPtr> reader, size_t most) {
  if (!reader.ok()) return;
  size_t bytes = 0;
  for (TextPair pair;;) {
    const Result<bool> more = (*reader)->next(pair);
    if (more.ok() && !*more) return;
    if (!more.ok()) {
      if ((*reader)->next(pair).ok()) std::abort();
      return;
    }
    bytes += pair.source.size() + pair.target.size();
    if (bytes > most || (*reader)->position() < 1) std::abort();
  }
}

}  // namespace tenon::fuzz
