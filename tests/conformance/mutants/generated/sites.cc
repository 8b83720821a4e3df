// Of a library of generated mutants: which one is chosen (TENON_MUTANT=site:mode), and what a control run records.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "recorder.h"
#include "sites_count.h"  // kTenonSites, which the generator writes

unsigned char mutant_site_state[kTenonSites];
unsigned short mutant_site_asked[kTenonSites];  // of each, in a test, for values that make a mode mean something

namespace {

int chosen_mode = 0;
uint8_t* row = nullptr;  // a byte of modes for each site; with one every site records itself

// From here on what is reached goes to this row.
void record(uint8_t* to) {
  row = to;
  std::memset(mutant_site_state, 1, sizeof mutant_site_state);
  std::memset(mutant_site_asked, 0, sizeof mutant_site_asked);
}

[[gnu::constructor(101)]] void choose() {
  if (const char* address = std::getenv("TENON_MUTANT_RECORDER")) {
    auto* recorder = reinterpret_cast<Recorder*>(std::strtoull(address, nullptr, 16));
    recorder->record = record;
    recorder->process = getpid();
    record(recorder->row_of_loading);
  }
  const char* text = std::getenv("TENON_MUTANT");
  if (!text) return;
  char* end = nullptr;
  const unsigned long site = std::strtoul(text, &end, 10);
  if (*end != ':' || site >= kTenonSites) std::abort();  // no such mutant
  chosen_mode = std::atoi(end + 1);
  mutant_site_state[site] = 1;
}

}  // namespace

int mutant_site_mode(int site, unsigned modes, unsigned more) noexcept {
  if (!row) return modes >> chosen_mode & 1 ? chosen_mode : 0;
  row[site] = static_cast<uint8_t>(row[site] | modes | 1);
  constexpr unsigned short kMost = 20000;
  mutant_site_state[site] = (more & ~row[site]) != 0 && ++mutant_site_asked[site] < kMost;
  return 0;
}
