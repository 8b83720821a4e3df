// tenon devices: backends, their units, and every library that was refused.
#include "tenon/devices.h"

#include <filesystem>

#include "command.h"
#include "process.h"
#include "tenon/processes.h"

namespace tenon::runner {
namespace {

bool exists(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory, ignored);
}

void declare_devices(Flags& flags, const std::vector<std::string>&) { flags.leave_out({"threads", "seed"}); }

std::string unit_json(const UnitInfo& u) {
  return Json()
      .add("name", u.name)
      .add("version", u.version)
      .add("kind", u.kind)
      .add("memory_bytes", u.memory_bytes)
      .add("max_buffer_bytes", u.max_buffer_bytes)
      .add("emulated", u.emulated)
      .str();
}

const char* clock_name(DeviceFacts::Clock clock) {
  if (clock == DeviceFacts::Clock::kMonotonic) return "monotonic";
  return clock == DeviceFacts::Clock::kPredicted ? "predicted" : "own";
}

std::string facts_json(const DeviceFacts& f) {
  return Json()
      .add("kind", f.kind)
      .add("vendor", f.vendor)
      .add("driver", f.driver)
      .add("topology", f.topology)
      .add("trace_clock", clock_name(f.trace_clock))
      .str();
}

// What there is of them: "     kind TPU, topology 2x2x1, trace clock predicted"
void print_facts(const DeviceFacts& f) {
  std::string text;
  for (const auto& [name, fact] :
       {std::pair("kind", &f.kind), {"vendor", &f.vendor}, {"driver", &f.driver}, {"topology", &f.topology}})
    if (!fact->empty()) add_item(text, format("%s %s", name, fact->c_str()));
  if (!text.empty()) print("     %s, trace clock %s\n", text.c_str(), clock_name(f.trace_clock));
}

void print_devices_json(const Discovery& found) {
  for (const BackendInfo& b : found.backends) {
    print_line(Json("backend")
                   .add("name", b.name)
                   .add("version", b.version)
                   .add("path", b.path)
                   .raw("units", json_list_of(b.units, unit_json))
                   .raw("beside", json_strings(b.beside))
                   .raw("facts", facts_json(b.facts))
                   .add("error", b.status.message())
                   .str());
  }
  for (const Refusal& r : found.refusals) print_line(Json("refusal").add("path", r.path).add("cause", r.cause).str());
  for (const std::string& d : found.directories)
    print_line(Json("directory").add("path", d).add("exists", exists(d)).str());
  print_line(Json("result")
                 .add("backends", static_cast<int64_t>(found.backends.size()))
                 .add("refusals", static_cast<int64_t>(found.refusals.size()))
                 .str());
}

// ", 21.5 GiB, values up to 5.37 GiB"
std::string memory_text(const UnitInfo& u) {
  if (u.memory_bytes == 0) return {};
  std::string text = ", " + bytes_text(static_cast<double>(u.memory_bytes));
  if (u.max_buffer_bytes && u.max_buffer_bytes < u.memory_bytes)
    text += ", values up to " + bytes_text(static_cast<double>(u.max_buffer_bytes));
  return text;
}

void print_devices(const Discovery& found, bool verbose) {
  for (const BackendInfo& b : found.backends) {
    print("%s %s  %s\n", b.name.c_str(), b.version.c_str(), b.path.c_str());
    if (!b.status.ok()) print("  no device now: %s\n", b.status.message().c_str());
    for (size_t i = 0; i < b.units.size(); ++i) {
      const UnitInfo& u = b.units[i];
      print("  %zu  %s, %s%s%s\n", i, u.name.c_str(), u.kind.c_str(), u.emulated ? ", emulated" : "",
            memory_text(u).c_str());
    }
    for (const std::string& line : b.beside) print("     %s\n", line.c_str());
    if (verbose) print_facts(b.facts);
  }
  for (const Refusal& r : found.refusals) print("refused %s: %s\n", r.path.c_str(), r.cause.c_str());
  print("looked in:\n");
  for (const std::string& d : found.directories) print("  %s%s\n", d.c_str(), exists(d) ? "" : "  (is not there)");
}

// A backend that is not listed was refused, or there is none of that name.
void expect_refused(const Discovery& found, const std::string& device) {
  const std::string file = "/" + device.substr(0, device.find(':')) + ".so";
  for (const Refusal& r : found.refusals)
    if (r.path.ends_with(file)) return;
  std::vector<std::string> others;
  for (const BackendInfo& b : discover_backends().backends) others.push_back(b.name);
  throw Error(Status(Code::kUnavailable,
                     "device '" + device + "': no such backend; found " + (others.empty() ? "none" : listed(others))));
}

// "cpu (2 units), opencl-gpu (1 unit)"
std::string summary_of(const Discovery& found) {
  std::string out;
  for (const BackendInfo& b : found.backends)
    if (b.status.ok()) add_item(out, b.name + " (" + counted(static_cast<int64_t>(b.units.size()), "unit") + ")");
  return out.empty() ? "none" : out;
}

// What each process of a job has.
void print_processes(const Discovery& found, bool json) {
  if (process_count() == 1) return;
  const std::vector<std::string> all = gather_from_processes(summary_of(found)).take();
  for (int rank = 0; rank < process_count(); ++rank) {
    const std::string host = process_host(rank);
    if (json)
      print_line(
          Json("process").add("rank", rank).add("host", host).add("devices", all[static_cast<size_t>(rank)]).str());
    else
      print("process %d on %s: %s\n", rank, host.c_str(), all[static_cast<size_t>(rank)].c_str());
  }
}

int run_devices(const Flags& flags, const std::vector<std::string>& words) {
  expect_words(words, 0, 0, "no argument");
  meet_processes();
  const std::string& device = flags.text("device");
  const Discovery found = discover_backends(device);
  if (found.backends.empty() && device != "auto" && device != "tpu") expect_refused(found, device);
  print_processes(found, flags.boolean("json"));
  if (flags.boolean("json"))
    print_devices_json(found);
  else
    print_devices(found, flags.boolean("verbose"));
  for (const BackendInfo& b : found.backends)
    if (b.status.ok()) return 0;
  throw Error(Status(Code::kUnavailable, "there is no device to train on"));
}

}  // namespace

const Command kDevices{"devices", "[--json]", "Lists what can be trained on, and why a library was refused",
                       declare_devices, run_devices};

}  // namespace tenon::runner
