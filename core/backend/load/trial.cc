#include "backend/load/trial.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/abi.h"
#include "backend/conduct.h"
#include "backend/forecast.h"
#include "backend/host/host_table.h"
#include "backend/units.h"

namespace tenon {
namespace {

// ---- a sighting as bytes ----

void put_number(std::string& out, uint64_t n) { out.append(reinterpret_cast<const char*>(&n), sizeof n); }

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

void put_status(std::string& out, const Status& status) {
  put_number(out, static_cast<uint64_t>(status.code()));
  put_text(out, status.message());
}

template <class Facts>
auto texts_of(Facts& f) {
  return std::array{&f.kind, &f.vendor, &f.driver, &f.topology};
}

std::string encode(const Sighting& s) {
  std::string out;
  put_text(out, s.version);
  put_status(out, s.enumerated);
  put_text(out, {reinterpret_cast<const char*>(s.units.data()), s.units.size() * sizeof(tenon_unit)});
  put_number(out, s.beside.size());
  for (const std::string& line : s.beside) put_text(out, line);
  put_number(out, s.open_tried);
  put_status(out, s.opened);
  for (const std::string* fact : texts_of(s.facts)) put_text(out, *fact);
  put_number(out, static_cast<uint64_t>(s.facts.trace_clock));
  return out;
}

// Nothing that a child says is believed: what has no sense ends in !good().
class SightingReader {
 public:
  explicit SightingReader(std::string_view bytes) : left_(bytes) {}
  bool good() const { return good_ && left_.empty(); }

  uint64_t number() {
    uint64_t n = 0;
    const std::string_view bytes = take(sizeof n);
    if (good_) std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }
  std::string_view text() { return take(number()); }
  Status status() {
    const uint64_t code = number();
    std::string message = printable(text(), kMaxReport);
    if (code > static_cast<uint64_t>(Code::kInternal)) good_ = false;
    return code == 0 || !good_ ? Status() : Status(static_cast<Code>(code), std::move(message));
  }

 private:
  std::string_view take(uint64_t bytes) {
    good_ = good_ && bytes <= left_.size();
    if (!good_) return {};
    const std::string_view out = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return out;
  }
  std::string_view left_;
  bool good_ = true;
};

Result<Sighting> decode(std::string_view bytes) {
  SightingReader reader(bytes);
  Sighting out;
  out.version = one_line(reader.text());
  out.enumerated = reader.status();
  const std::string_view units = reader.text();
  out.units.resize(units.size() / sizeof(tenon_unit));
  if (!out.units.empty()) std::memcpy(out.units.data(), units.data(), out.units.size() * sizeof(tenon_unit));
  const uint64_t lines = reader.number();
  for (uint64_t i = 0; i < lines && i < bytes.size(); ++i) out.beside.push_back(one_line(reader.text()));
  out.open_tried = reader.number() != 0;
  out.opened = reader.status();
  for (std::string* fact : texts_of(out.facts)) *fact = one_line(reader.text());
  out.facts.trace_clock = static_cast<DeviceFacts::Clock>(std::min<uint64_t>(reader.number(), 2));
  if (!reader.good() || (out.enumerated.ok() && out.units.empty()))
    return Status(Code::kAbi, "said what makes no sense as it was tried");
  return out;
}

// ---- in the child ----

Result<std::string> try_here(const Trial& trial, const Use& use, const ProbeStage& stage) {
  const CheckedLibrary& library = *trial.library;
  BackendHost host(trial.name, library.copy.fingerprint());
  LoadedBackend backend{trial.name, {}, library.copy.path(), {}};
  const Conduct conduct;
  void* handle = nullptr;
  TENON_TRY(bring_up(library, trial.name, host.trial_table(), false, stage, &backend.table, &handle));
  TENON_TRY(conduct.check());
  backend.version = backend.table.version;
  const Sighting seen = look_at(backend, use, stage);
  TENON_TRY(conduct.check_after_use());
  stage("its destructors (exit)");
  if (!conduct.has_threads()) {  // a thread of a driver's may still be in its code
    forget_path(handle, library);
    ::dlclose(handle);
  }
  return encode(seen);
}

bool is_emulated(const Sighting& s) { return !s.units.empty() && (s.units[0].flags & TENON_UNIT_EMULATED); }

}  // namespace

Sighting look_at(const LoadedBackend& backend, const Use& use, const ProbeStage& stage) {
  Sighting out;
  out.version = backend.version;
  stage("enumerate");  // where vendors' drivers wake up
  Result<std::vector<tenon_unit>> units = raw_units(backend, use.spec);
  out.enumerated = units.status();
  if (!units.ok()) return out;
  out.units = std::move(*units);
  stage("its forecast extension");
  out.beside = beside_units(backend, use.spec);
  if (use.opens == Use::kNothing) {
    (void)forecast_machines(backend);
    return out;
  }
  if (use.opens == Use::kUnlessEmulated && is_emulated(out)) return out;
  out.open_tried = true;
  if (!describe_units(backend.name, out.units).ok()) return out;  // nobody will open these
  stage("device_open");
  const Result<DeviceFacts> facts = try_to_open(backend, use.spec, out.units);
  out.opened = facts.status();
  if (facts.ok()) out.facts = *facts;
  return out;
}

std::vector<Result<Sighting>> try_all(const std::vector<Trial>& trials, const Use& use, void (*on_child)(),
                                      std::chrono::milliseconds limit) {
  std::vector<ProbeWork> works;
  for (const Trial& trial : trials)
    works.push_back([&trial, &use, on_child](const ProbeStage& stage) {
      on_child();
      return try_here(trial, use, stage);
    });
  std::vector<Result<Sighting>> out;
  for (const Result<std::string>& answer : probe_all(works, limit)) {
    if (answer.ok())
      out.push_back(decode(*answer));
    else
      out.push_back(answer.status());
  }
  return out;
}

}  // namespace tenon
