#include "requests.h"

#include <algorithm>

namespace tenon::mpi {
namespace {

using plugin::Error;

#ifndef TENON_MPI_PART_BYTES
#define TENON_MPI_PART_BYTES (uint64_t{1} << 30)
#endif
constexpr uint64_t kPartBytes = TENON_MPI_PART_BYTES;
#undef TENON_MPI_PART_BYTES
constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr uint32_t kTags = 32768;  // MPI promises no more

// An empty message is one part, too.
uint64_t parts_of(uint64_t bytes) { return std::max<uint64_t>(1, (bytes + kPartBytes - 1) / kPartBytes); }

}  // namespace

void Requests::send(uint32_t to, uint32_t tag, const void* data, uint64_t bytes, uint64_t token) {
  check_arguments(to, tag, data, bytes);
  begin(to, bytes, token, false, [&](uint64_t at, int size, MPI_Request* request) {
    const char* from = static_cast<const char*>(data) + at;
    return MPI_Isend(from, size, MPI_BYTE, static_cast<int>(to), static_cast<int>(tag), job_.comm(), request);
  });
}

void Requests::receive(uint32_t from, uint32_t tag, void* data, uint64_t bytes, uint64_t token) {
  check_arguments(from, tag, data, bytes);
  begin(from, bytes, token, true, [&](uint64_t at, int size, MPI_Request* request) {
    char* to = static_cast<char*>(data) + at;
    return MPI_Irecv(to, size, MPI_BYTE, static_cast<int>(from), static_cast<int>(tag), job_.comm(), request);
  });
}

uint32_t Requests::poll(uint64_t* tokens, uint32_t room) {
  if (given_ == done_.size()) look();
  const uint32_t n = static_cast<uint32_t>(std::min<size_t>(room, done_.size() - given_));
  std::copy_n(done_.begin() + static_cast<ptrdiff_t>(given_), n, tokens);
  given_ += n;
  return n;
}

void Requests::check_arguments(uint32_t peer, uint32_t tag, const void* data, uint64_t bytes) const {
  if (peer >= job_.count())
    throw Error(TENON_INVALID,
                "a message with rank " + std::to_string(peer) + ": expected one below " + std::to_string(job_.count()));
  if (tag >= kTags)
    throw Error(TENON_INVALID, "a message's tag is " + std::to_string(tag) + ": expected one below 32768");
  if (bytes > kMostBytes)
    throw Error(TENON_INVALID, "a message of " + std::to_string(bytes) + " bytes: expected at most 2^40");
  if (!data && bytes > 0) throw Error(TENON_INVALID, "a message of " + std::to_string(bytes) + " bytes lies nowhere");
}

// Takes all memory that the message needs until it is done: what MPI has begun cannot be undone.
uint32_t Requests::add_message(uint64_t parts, uint64_t token) {
  const size_t most = requests_.size() + parts;
  if (most > requests_.capacity()) {
    const size_t room = std::max(most, 2 * requests_.capacity());
    requests_.reserve(room);
    parts_.reserve(room);
    indices_.resize(room);
    statuses_.resize(room);
  }
  if (free_.empty()) {
    messages_.push_back({});
    free_.reserve(messages_.capacity());
    done_.reserve(messages_.capacity());
    free_.push_back(static_cast<uint32_t>(messages_.size() - 1));
  }
  const uint32_t message = free_.back();
  free_.pop_back();
  messages_[message] = {token, parts};
  return message;
}

template <class Begin>
void Requests::begin(uint32_t peer, uint64_t bytes, uint64_t token, bool received, Begin begin) {
  const uint64_t parts = parts_of(bytes);
  const uint32_t message = add_message(parts, token);
  for (uint64_t i = 0; i < parts; ++i) {
    const uint64_t at = i * kPartBytes;
    const Part part{message, peer, static_cast<int>(std::min(bytes - at, kPartBytes)), received};
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int code = begin(at, part.bytes, &request)) check(code, about(part));
    requests_.push_back(request);
    parts_.push_back(part);
  }
}

// All tokens of earlier looks are given.
void Requests::look() {
  done_.clear();
  given_ = 0;
  if (requests_.empty()) return move_on();
  int finished = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &finished, indices_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) fail(finished);
  check(code, "MPI_Testsome");
  if (finished <= 0) return;  // MPI_UNDEFINED is below
  for (int i = 0; i < finished; ++i) finish(parts_[static_cast<size_t>(indices_[i])], statuses_[i]);
  drop_finished();
}

void Requests::finish(const Part& part, const MPI_Status& status) {
  int bytes = part.bytes;
  if (part.received) MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (bytes != part.bytes)
    throw Error(TENON_DEVICE_LOST,
                about(part) + ": expected " + std::to_string(part.bytes) + " bytes, found " + std::to_string(bytes));
  Message& message = messages_[part.message];
  if (--message.parts > 0) return;
  done_.push_back(message.token);
  free_.push_back(part.message);
}

void Requests::drop_finished() {
  size_t kept = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    parts_[kept++] = parts_[i];
  }
  requests_.resize(kept);
  parts_.resize(kept);
}

// What MPI calls sent may lie in it until the wire has room, and it looks at the wire only when it is called. Once a tick of
// the kernel's clock, which is read without a call into the kernel.
void Requests::move_on() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (now.tv_nsec == moved_.tv_nsec && now.tv_sec == moved_.tv_sec) return;
  moved_ = now;
  int there = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job_.comm(), &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

void Requests::fail(int finished) const {
  for (int i = 0; i < finished; ++i) check(statuses_[i].MPI_ERROR, about(parts_[static_cast<size_t>(indices_[i])]));
  throw Error(TENON_DEVICE_LOST, "MPI_Testsome failed and does not say where");
}

std::string Requests::about(const Part& part) const {
  return std::string("a message ") + (part.received ? "from" : "to") + " rank " + std::to_string(part.peer) + " on " +
         job_.host(part.peer);
}

}  // namespace tenon::mpi
