// Which of the generated mutants are chosen (TENON_MUTANT=site:mode,site:mode,..), and what a control run records.
#include "sites.h"

#include <unistd.h>

#include <cstdlib>

#include "recorder.h"
#include "sites_count.h"  // kTenonSites, which the generator writes

unsigned char mutant_site_state[kTenonSites];
bool mutant_sites_record = false;

namespace {

constexpr unsigned short kMost = 2000, kMostForShown = 20000;  // how often a site is asked in a test

unsigned char chosen[kTenonSites];  // mode
unsigned short asked[kTenonSites];
Recorder* recorder = nullptr;
uint8_t* row = nullptr;

void record(uint8_t* to) {
  row = to;
  std::memset(mutant_site_state, 1, sizeof mutant_site_state);
  std::memset(asked, 0, sizeof asked);
}

[[gnu::constructor(101)]] void choose() {
  if (const char* address = std::getenv("TENON_MUTANT_RECORDER")) {
    recorder = reinterpret_cast<Recorder*>(std::strtoull(address, nullptr, 16));
    recorder->record = record;
    recorder->process = getpid();
    mutant_sites_record = true;
    record(recorder->row_of_loading);
    return;
  }
  const char* text = std::getenv("TENON_MUTANT");
  while (text && *text) {
    char* end = nullptr;
    const unsigned long site = std::strtoul(text, &end, 10);
    if (*end != ':' || site >= kTenonSites) std::abort();  // no such mutant
    chosen[site] = static_cast<unsigned char>(std::strtoul(end + 1, &end, 10));
    mutant_site_state[site] = 1;
    text = *end == ',' ? end + 1 : end;
  }
}

}  // namespace

int mutant_site_mode(int site, MutantModes modes) noexcept {
  if (!mutant_sites_record) return (modes.all | modes.shown) >> chosen[site] & 1 ? chosen[site] : 0;
  mutant_site_record(site, modes, modes.all);
  return 0;
}

void mutant_site_record(int site, MutantModes modes, unsigned changed) noexcept {
  recorder->modes[site] = static_cast<uint8_t>(recorder->modes[site] | modes.all | (modes.shown & changed));
  row[site] = static_cast<uint8_t>(row[site] | changed | 1);
  const unsigned open = (modes.all | modes.shown) & ~row[site];
  mutant_site_state[site] = open != 0 && ++asked[site] < (open & modes.shown ? kMostForShown : kMost);
}
