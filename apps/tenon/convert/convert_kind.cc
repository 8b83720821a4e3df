#include "convert/convert_kind.h"

#include <charconv>

#include "process.h"
#include "tenon/processes.h"

namespace tenon::runner {
namespace {

// "I/N"
void read_part(const Flags& flags, ConvertOptions& options) {
  const std::string& text = flags.text("part");
  if (text.empty()) return;
  const char* const end = text.data() + text.size();
  const auto part = std::from_chars(text.data(), end, options.part);
  const bool slash = part.ec == std::errc() && part.ptr != end && *part.ptr == '/';
  const auto parts = std::from_chars(slash ? part.ptr + 1 : end, end, options.parts);
  if (!slash || parts.ec != std::errc() || parts.ptr != end || options.part < 0 || options.part >= options.parts)
    throw UsageError{"--part is '" + text + "', expected I/N, 0/N to N-1/N"};
  if (options.merge) throw UsageError{"--part and --merge exclude each other"};
  if (process_count() > 1)
    throw UsageError{
        format("--part is for a process alone, these are %d, which share the work without it", process_count())};
}

}  // namespace

void read_common(const Flags& flags, ConvertOptions& options) {
  options.output = flags.required("output");
  options.seed = static_cast<uint64_t>(flags.integer("seed"));
  options.overwrite = flags.boolean("overwrite");
  options.interrupted = interrupted;
  options.merge = flags.boolean("merge");
  read_part(flags, options);
}

void declare_shard_bytes(Flags& flags) {
  flags.integer("shard_bytes", 32 << 20, "size of a file aimed at", 1 << 10, 1e12);
}

std::vector<std::string> list_of(const Flags& flags, const char* name) {
  std::vector<std::string> out;
  const std::string& text = flags.text(name);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end == at) throw UsageError{format("--%s is '%s', expected FILE,FILE..", name, text.c_str())};
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace tenon::runner
