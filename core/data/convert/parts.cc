#include "data/convert/parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/convert/generation.h"

namespace tenon {
namespace {

constexpr std::string_view kJobLine = "tenon conversion parts\n";
constexpr const char *kJob = "job", *kLocks = "locks", *kDone = ".done";
constexpr int64_t kMaxJob = 1 << 20, kMaxCounts = 64 << 20;
constexpr uint64_t kHashStart = 0xcbf29ce484222325, kHashFactor = 0x100000001b3;  // FNV-1a

uint64_t hashed(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kHashFactor;
  return (hash ^ 0xff) * kHashFactor;  // where it ends
}

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

bool is_part_file(std::string_view name) {
  if (const std::string_view target = target_of_temporary(name); !target.empty()) name = target;
  if (name.ends_with(kDone)) name.remove_suffix(std::string_view(kDone).size());
  return name == kJob || name == kLocks || name == "vocabulary" || name.starts_with("unit-") || is_conversions(name);
}

// Those that conversions put there, but the locks, which others may wait for.
void clear(const OpenDirectory& parts) {
  for (const std::string& name : parts.names())
    if (name != kLocks && is_part_file(name)) (void)::unlinkat(parts.fd(), name.c_str(), 0);
}

Parts::Lock unit_lock(int64_t group, int64_t index) {
  return static_cast<Parts::Lock>(static_cast<int64_t>(Parts::Lock::kFirstUnit) + (group << 40) + index);
}

// "12 " of the text, which loses it; nothing where there is no such number.
std::optional<int64_t> next_number(std::string_view& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const size_t digits = static_cast<size_t>(end - text.data());
  if (error != std::errc() || value < 0 || digits == text.size() || text[digits] != ' ') return {};
  text.remove_prefix(digits + 1);
  return value;
}

// Takes a number of bytes, so many bytes and the end of their line off the text.
std::optional<std::string> next_text(std::string_view& text) {
  const std::optional<int64_t> bytes = next_number(text);
  if (!bytes || *bytes >= static_cast<int64_t>(text.size()) || text[static_cast<size_t>(*bytes)] != '\n') return {};
  std::string out(text.substr(0, static_cast<size_t>(*bytes)));
  text.remove_prefix(out.size() + 1);
  return out;
}

std::string text_of(const PartCounts& counts) {
  std::string out = cat(counts.size(), " ");
  for (const ConvertSummary::Split& split : counts) {
    out += cat(split.records, " ", split.bytes, " ", split.shortened, " ", split.left_out.size(), " ");
    out += cat(split.name.size(), " ", split.name, "\n");
    for (const ConvertSummary::LeftOut& l : split.left_out)
      out += cat(l.count, " ", l.why.size(), " ", l.why, "\n", l.first.size(), " ", l.first, "\n");
  }
  return out;
}

bool read_split(std::string_view& text, ConvertSummary::Split& split) {
  const std::optional<int64_t> records = next_number(text), bytes = next_number(text), shortened = next_number(text),
                               left_out = next_number(text);
  const std::optional<std::string> name = next_text(text);
  if (!name || !left_out || !shortened || !bytes || !records) return false;
  split.name = *name, split.records = *records, split.bytes = *bytes, split.shortened = *shortened;
  for (int64_t i = 0; i < *left_out; ++i) {
    const std::optional<int64_t> count = next_number(text);
    std::optional<std::string> why = next_text(text), first = next_text(text);
    if (!count || !why || !first) return false;
    split.left_out.push_back({std::move(*why), *count, std::move(*first)});
  }
  return true;
}

std::optional<PartCounts> parse_counts(std::string_view text) {
  const std::optional<int64_t> splits = next_number(text);
  if (!splits) return {};
  PartCounts out;
  for (int64_t i = 0; i < *splits; ++i)
    if (!read_split(text, out.emplace_back())) return {};
  return text.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

Status interrupted_status(const ConvertOptions& options) {
  return Status(Code::kInterrupted, cat("interrupted; '", options.output, "' is as it was"));
}

JobText::JobText(std::string_view kind) : files_(kHashStart) { text_ = cat(kJobLine, kind, "\n"); }

JobText& JobText::line(std::string_view name, std::string_view value) {
  text_ += cat(name, " ", value.size(), " ", value, "\n");
  return *this;
}

JobText& JobText::add_file(const std::string& path) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  files_ = hashed(files_, path);
  if (there) files_ = hashed(files_, cat(info.st_size, " ", info.st_mtim.tv_sec, " ", info.st_mtim.tv_nsec));
  return *this;
}

JobText& JobText::add_files(std::string_view name, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) add_file(path);
  return add(name, join(paths, ","));
}

std::string JobText::text() const { return cat(text_, "files ", files_, "\n"); }

void add_counts(const ConvertSummary::Split& more, ConvertSummary::Split* to) {
  to->records += more.records, to->bytes += more.bytes, to->shortened += more.shortened;
  for (const ConvertSummary::LeftOut& l : more.left_out)
    to->leave_out(
        l.why, [&] { return l.first; }, l.count);
}

bool Parts::are_in(const std::string& output) { return static_cast<bool>(OpenDirectory(cat(output, "/", kParts))); }

Result<Parts> Parts::open(const ConvertOptions& options, const std::string& job, Role role) {
  Parts parts(options);
  for (;;) {
    TENON_TRY(parts.open_locks());
    if (role != Role::kPart) break;
    for (;;) {
      TENON_ASSIGN(const bool locked, parts.try_lock(Lock::kSetup));
      if (locked) break;
      if (options.interrupted && options.interrupted()) return interrupted_status(options);
      wait_a_little();
    }
    struct stat held, named;  // one that failed may have removed it meanwhile
    if (::fstat(parts.locks_.get(), &held) == 0 && ::stat(parts.path(kLocks).c_str(), &named) == 0 &&
        held.st_ino == named.st_ino)
      break;
  }
  if (role == Role::kHelps) return parts;
  const Status begun = role == Role::kLeads ? parts.lead(job) : parts.take_part(job);
  if (!begun.ok() && !parts.has(kJob)) parts.remove();
  TENON_TRY(begun);
  if (role == Role::kPart) TENON_TRY(parts.unlock(Lock::kSetup));
  return parts;
}

Status Parts::open_locks() {
  if (::mkdir(directory_.c_str(), 0777) != 0 && errno != EEXIST)
    return file_error("cannot make directory", directory_, errno);
  const OpenDirectory opened(directory_);
  if (!opened) return invalid("output '", options_.output, "': expected '", kParts, "' of a conversion or none");
  locks_ = open_file(path(kLocks), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
  return locks_ ? Status() : file_error("cannot open", path(kLocks), errno);
}

Status Parts::in_use() const {
  return Status(Code::kUnavailable, cat("data directory '", options_.output, "' is in use by another conversion"));
}

Status Parts::lead(const std::string& job) {
  TENON_ASSIGN(const bool alone, try_lock(Lock::kPresence));
  return alone ? begin_job(job, true) : in_use();
}

// Looks for a conversion that has the directory to itself, and for records that are there.
Status Parts::take_part(const std::string& job) {
  TENON_TRY(Generation::begin(options_.output, options_.overwrite).status());
  TENON_ASSIGN(const bool alone, try_lock(Lock::kPresence));
  if (alone) TENON_TRY(begin_job(job, true));
  TENON_ASSIGN(const bool present, try_lock(Lock::kPresence, true));
  if (!present) return in_use();
  return alone ? Status() : begin_job(job, false);
}

// Goes on with the same job; another one is replaced where nobody is at it.
Status Parts::begin_job(const std::string& job, bool alone) {
  if (has(kJob)) {
    TENON_ASSIGN(const std::string found, read_file(path(kJob), kMaxJob));
    if (found == job) return {};
    if (!options_.overwrite)
      return invalid("output '", options_.output,
                     "': it has parts of a conversion with other arguments or other input; finish that one, choose "
                     "another directory, or replace them (--overwrite)");
  }
  if (!alone) return in_use();
  clear(OpenDirectory(directory_));
  return as_asked(atomic_write(path(kJob), job));
}

bool Parts::has(const std::string& name) const { return ::access(path(name).c_str(), F_OK) == 0; }

Result<bool> Parts::lock_byte(int64_t byte, short kind) {
  struct flock lock {};
  lock.l_type = kind, lock.l_whence = SEEK_SET, lock.l_start = byte, lock.l_len = 1;
  if (retry([&] { return ::fcntl(locks_.get(), F_OFD_SETLK, &lock); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return file_error("cannot lock", path(kLocks), errno);
}

Result<bool> Parts::try_lock(Lock lock, bool shared) {
  return lock_byte(static_cast<int64_t>(lock), shared ? F_RDLCK : F_WRLCK);
}

Status Parts::unlock(Lock lock) { return lock_byte(static_cast<int64_t>(lock), F_UNLCK).status(); }

Result<bool> Parts::lock_or_wait(Lock lock, const std::string& name) {
  for (;;) {
    TENON_ASSIGN(const bool locked, try_lock(lock));
    if (has(name)) {
      if (locked) TENON_TRY(unlock(lock));
      return false;
    }
    if (locked) return true;
    if (options_.interrupted && options_.interrupted()) return interrupted_status(options_);
    wait_a_little();
  }
}

Result<bool> Parts::claim(int64_t group, int64_t index, const std::string& name) {
  if (is_done(name)) return false;
  const Lock unit = unit_lock(group, index);
  TENON_ASSIGN(const bool locked, try_lock(unit));
  if (!locked || !is_done(name)) return locked;
  TENON_TRY(unlock(unit));  // it was finished just now
  return false;
}

Status Parts::finish(int64_t group, int64_t index, const std::string& name, const PartCounts& counts) {
  TENON_TRY(as_asked(atomic_write(path(name + kDone), text_of(counts))));
  return unlock(unit_lock(group, index));
}

Status Parts::mark(const std::string& name) const { return as_asked(atomic_write(path(name + kDone), "0 ")); }

Result<PartCounts> Parts::counts(const std::string& name) const {
  TENON_ASSIGN(const std::string text, read_file(path(name + kDone), kMaxCounts));
  std::optional<PartCounts> counts = parse_counts(text);
  if (!counts) return invalid("'", path(name + kDone), "': expected what a conversion writes there");
  return *std::move(counts);
}

Status Parts::wait_for(const std::string& name) const {
  while (!is_done(name)) {
    if (options_.interrupted && options_.interrupted()) return interrupted_status(options_);
    wait_a_little();
  }
  return {};
}

Status Parts::as_asked(const Status& error) const {
  std::string message = error.message();
  for (size_t at; (at = message.find(directory_)) != std::string::npos;)
    message.replace(at, directory_.size(), options_.output);
  return Status(error.code(), std::move(message));
}

void Parts::give_up() const { (void)::unlink(path(kJob).c_str()); }

void Parts::remove() { remove_parts(OpenDirectory(options_.output, true)); }

void remove_parts(const OpenDirectory& output) {
  const OpenDirectory parts(output, kParts);
  if (!parts) return;
  clear(parts);
  (void)::unlinkat(parts.fd(), kLocks, 0);
  (void)::unlinkat(output.fd(), kParts, AT_REMOVEDIR);
}

}  // namespace tenon
