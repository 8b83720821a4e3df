// Owners of buffers, queues and programs.
#include <algorithm>
#include <cstring>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kWhole = 64;  // HOST memory is a whole number of so many bytes long

uint64_t dense_bytes(int32_t dtype, const std::vector<int64_t>& dims) {
  uint64_t bytes = static_cast<uint64_t>(plugin::dtype_bytes(dtype));
  for (int64_t d : dims) bytes *= static_cast<uint64_t>(d);
  return bytes;
}

void fill_with_rubbish(uint8_t* at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i) at[i] = kRubbish[i % 2];
}

tenon_desc describe(int32_t dtype, const std::vector<int64_t>& dims, const BufferOptions& options) {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.flags = options.host ? TENON_DESC_HOST : 0;
  desc.dtype = dtype;
  desc.rank = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), desc.dims);
  desc.placement = options.placement;
  return desc;
}

}  // namespace

Buffer::Buffer(Subject& subject, tenon_device* device, int32_t dtype, const std::vector<int64_t>& dims,
               BufferOptions options)
    : backend_(&subject.backend()), bytes_(dense_bytes(dtype, dims)), dtype_(dtype), dims_(dims) {
  tenon_desc desc = describe(dtype, dims, options);
  expect_ok(allocate(subject, device, desc), "buffer_alloc");
  expect(handle_ != nullptr, "buffer_alloc: OK without a buffer");
  if (!(desc.flags & TENON_DESC_HOST)) return;
  expect(host_ != nullptr, "buffer_alloc: OK for a HOST buffer without its memory");
  fill_with_rubbish(host_, host_bytes());
}

tenon_status Buffer::allocate(Subject& subject, tenon_device* device, tenon_desc& desc) {
  const auto attempt = [&] {
    void* host = nullptr;
    const tenon_status status = backend_->buffer_alloc(device, &desc, &handle_, &host);
    host_ = status.code == TENON_OK ? static_cast<uint8_t*>(host) : nullptr;
    return status;
  };
  tenon_status status = attempt();
  if (!(desc.flags & TENON_DESC_HOST)) return status;
  if (status.code == TENON_OK) subject.note_host_memory(device, true);
  if (status.code == TENON_OK || status.code == TENON_OUT_OF_MEMORY) return status;
  expect_code(status, TENON_UNSUPPORTED, "buffer_alloc of a HOST buffer");
  desc.flags &= ~TENON_DESC_HOST;
  status = attempt();
  if (status.code == TENON_OK) subject.note_host_memory(device, false);
  return status;
}

Buffer::Buffer(Buffer&& other) noexcept
    : backend_(other.backend_),
      handle_(other.handle_),
      host_(other.host_),
      bytes_(other.bytes_),
      dtype_(other.dtype_),
      dims_(std::move(other.dims_)) {
  other.handle_ = nullptr;
}

Buffer::~Buffer() {
  if (handle_) backend_->buffer_free(handle_);
}

uint64_t Buffer::host_bytes() const { return (bytes_ + kWhole - 1) / kWhole * kWhole; }

void Buffer::check_end(const std::string& what) const {
  for (uint64_t i = bytes_; host_ && i < host_bytes(); ++i)
    if (host_[i] != kRubbish[i % 2])
      throw Overrun{{what + " of " + std::to_string(bytes_) + " bytes: a byte was written " +
                     std::to_string(i - bytes_ + 1) + " bytes behind its last"}};
}

Queue::Queue(Subject& subject, tenon_device* device) : backend_(&subject.backend()) {
  expect_ok(backend_->queue_create(device, 0, &handle_), "queue_create");
  expect(handle_ != nullptr, "queue_create: OK without a queue");
}

Queue::Queue(Queue&& other) noexcept : backend_(other.backend_), handle_(other.handle_) { other.handle_ = nullptr; }

Queue::~Queue() {
  if (handle_) backend_->queue_destroy(handle_);
}

void Queue::write(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset) {
  tenon_copy copy{};
  copy.struct_size = sizeof copy;
  copy.dst = to.handle();
  copy.dst_offset = offset;
  copy.src_host = from;
  copy.bytes = bytes;
  uint64_t ticket = 0;
  expect_ok(backend_->copy(handle_, &copy, &ticket), "copy to the device");
  wait(ticket);
}

void Queue::read(const Buffer& from, void* to, uint64_t bytes, uint64_t offset) {
  tenon_copy copy{};
  copy.struct_size = sizeof copy;
  copy.dst_host = to;
  copy.src = from.handle();
  copy.src_offset = offset;
  copy.bytes = bytes;
  uint64_t ticket = 0;
  expect_ok(backend_->copy(handle_, &copy, &ticket), "copy from the device");
  wait(ticket);
}

std::vector<uint8_t> bytes_of(const reference::Tensor& x) {
  std::vector<uint8_t> bytes = reference::to_bytes(x);
  const size_t width = static_cast<size_t>(plugin::dtype_bytes(x.dtype));
  for (size_t i = 0, form = 3; i < x.f.size(); ++i) {
    if (x.f[i] == x.f[i]) continue;
    uint8_t* const last = bytes.data() + (i + 1) * width - 1;  // the sign and the highest bits of the exponent
    if (form & 1) *last ^= 0x80;
    if (form & 2) std::fill(last + 1 - width, last, uint8_t{0xFF});
    form = (form + 1) % 4;
  }
  return bytes;
}

void Queue::write(const Buffer& to, const reference::Tensor& from) {
  std::vector<uint8_t> bytes = bytes_of(from);
  expect(bytes.size() == to.bytes(),
         "write: a buffer of " + std::to_string(to.bytes()) + " bytes, given " + std::to_string(bytes.size()));
  bytes.insert(bytes.begin(), 0);
  write(to, bytes.data() + 1, to.bytes());
}

reference::Tensor Queue::read(const Buffer& from) {
  std::vector<uint8_t> bytes(from.bytes() + 1);
  fill_with_rubbish(bytes.data(), bytes.size());
  read(from, bytes.data() + 1, from.bytes());
  for (uint64_t i = 1; i < bytes.size() && from.dtype() == TENON_BOOL; ++i)
    expect(bytes[i] <= 1,
           "element " + std::to_string(i - 1) + " of a bool is " + std::to_string(bytes[i]) + ", expected 0 or 1");
  return reference::from_bytes(from.dtype(), from.dims(), bytes.data() + 1);
}

void Queue::write_rubbish(const Buffer& to) {
  std::vector<uint8_t> bytes(to.bytes());
  fill_with_rubbish(bytes.data(), bytes.size());
  write(to, bytes.data(), bytes.size());
}

uint64_t Queue::submit(tenon_run run, uint32_t* done) {
  run.struct_size = sizeof run;
  run.iterations = std::max(run.iterations, 1u);
  uint64_t ticket = 0;
  uint32_t completed = 0;
  expect_ok(backend_->run(handle_, &run, &ticket, &completed), "run");
  expect(ticket != 0, "run: the ticket is 0");
  if (done) *done = completed;
  return ticket;
}

void Queue::wait(uint64_t ticket) { expect_ok(backend_->wait(handle_, ticket, UINT64_MAX), "wait"); }

Program::Program(Subject& subject, tenon_device* device, const tenon_graph& graph, tenon_options options)
    : backend_(&subject.backend()) {
  std::vector<uint8_t> copy(graph.data_size + 64);
  const uint64_t shift = (64 - reinterpret_cast<uintptr_t>(copy.data()) % 64) % 64;
  if (graph.data_size) std::memcpy(copy.data() + shift, graph.data, graph.data_size);
  tenon_graph borrowed = graph;
  borrowed.data = copy.data() + shift;
  options.struct_size = sizeof options;
  info_.struct_size = sizeof info_;
  const tenon_status status = backend_->compile(device, &borrowed, &options, &handle_, &info_);
  std::fill(copy.begin(), copy.end(), uint8_t{0xA5});  // compile keeps no pointer into the graph
  expect_ok(status, "compile");
  expect(handle_ != nullptr, "compile: OK without a program");
}

Program::Program(Program&& other) noexcept : backend_(other.backend_), handle_(other.handle_), info_(other.info_) {
  other.handle_ = nullptr;
}

Program::~Program() {
  if (handle_) backend_->program_destroy(handle_);
}

}  // namespace tenon::conformance
