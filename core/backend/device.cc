#include "backend/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backend/abi.h"
#include "backend/units.h"
#include "base/process/job.h"
#include "base/strings.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon {

// The numbers of the ABI are those of the core.
static_assert(static_cast<int>(DType::kF32) == TENON_F32 && static_cast<int>(DType::kBF16) == TENON_BF16 &&
              static_cast<int>(DType::kF16) == TENON_F16 && static_cast<int>(DType::kF64) == TENON_F64 &&
              static_cast<int>(DType::kI32) == TENON_I32 && static_cast<int>(DType::kI64) == TENON_I64 &&
              static_cast<int>(DType::kU8) == TENON_U8 && static_cast<int>(DType::kBool) == TENON_BOOL);
static_assert(static_cast<int>(GraphImage::Role::kScalar) == TENON_ROLE_SCALAR &&
              static_cast<int>(GraphImage::Mode::kUntil) == TENON_MODE_UNTIL);
static_assert(static_cast<int>(NodeVerdict::Answer::kTake) == TENON_TAKE);

// ---- GraphImage ----

struct GraphImage::Impl {
  plugin::GraphBuilder builder;
  plugin::FlatGraph flat;
};

GraphImage::GraphImage() : impl_(std::make_unique<Impl>()) {}
GraphImage::~GraphImage() = default;
GraphImage::GraphImage(GraphImage&&) noexcept = default;
GraphImage& GraphImage::operator=(GraphImage&&) noexcept = default;

namespace {

std::vector<uint32_t> abi_ids(std::span<const int64_t> ids) {
  std::vector<uint32_t> out;
  for (int64_t id : ids) out.push_back(id < 0 ? TENON_NONE : static_cast<uint32_t>(id));
  return out;
}

}  // namespace

uint32_t GraphImage::input(const Type& type, Role role, bool split, std::string_view name) {
  return impl_->builder.input(static_cast<int32_t>(type.dtype), type.shape.vec(), static_cast<tenon_role>(role), name,
                              split ? TENON_SPLIT : TENON_REPLICATED);
}
uint32_t GraphImage::value(const Type& type) {
  return impl_->builder.value(static_cast<int32_t>(type.dtype), type.shape.vec());
}
uint32_t GraphImage::constant(const Type& type, std::string_view bytes) {
  return impl_->builder.constant(static_cast<int32_t>(type.dtype), type.shape.vec(), bytes.data(), bytes.size());
}
void GraphImage::node(std::string_view op, int version, std::string_view name, std::string_view origin,
                      std::span<const int64_t> operands, std::span<const int64_t> results) {
  impl_->builder.node(op, abi_ids(operands), abi_ids(results), static_cast<uint32_t>(version)).name(name, origin);
}
void GraphImage::attr(std::string_view name, int64_t v) { impl_->builder.attr_i64(name, v); }
void GraphImage::attr(std::string_view name, double v) { impl_->builder.attr_f64(name, v); }
void GraphImage::attr(std::string_view name, bool v) { impl_->builder.attr_bool(name, v); }
void GraphImage::attr(std::string_view name, DType v) { impl_->builder.attr_dtype(name, static_cast<int64_t>(v)); }
void GraphImage::attr(std::string_view name, const std::string& v) {
  impl_->builder.attr_bytes(name, v.data(), v.size());
}
void GraphImage::attr(std::string_view name, const std::vector<int64_t>& v) { impl_->builder.attr_list(name, v); }
void GraphImage::attr_enum(std::string_view name, int32_t number) { impl_->builder.attr_enum(name, number); }
void GraphImage::result(uint32_t value, Mode mode, int alias, bool split) {
  impl_->builder.result(value, static_cast<tenon_mode>(mode), static_cast<uint32_t>(alias + 1),
                        split ? TENON_SPLIT : TENON_REPLICATED);
}
void GraphImage::finish() { impl_->flat = impl_->builder.build(); }
const tenon_graph* GraphImage::flat() const { return impl_->flat.graph(); }

// ---- Device ----

// Where a backend's events go, as long as the device is there: a call that comes too late finds nobody, and two that come at
// once, against the contract, take turns.
struct Device::Trace {
  std::mutex mutex;
  TraceSink* to = nullptr;
  tenon_sink sink{};

  static void emit(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride) noexcept;
};

Device::Device(const tenon_backend& backend, tenon_device* handle, std::string name, std::vector<UnitInfo> units)
    : backend_(backend),
      handle_(handle),
      name_(std::move(name)),
      units_(std::move(units)),
      rank_(job().rank),
      processes_(job().count) {}

namespace {

constexpr uintptr_t kHostAlignment = 64;

}  // namespace

namespace {

tenon_stats read_stats(const tenon_backend& backend, tenon_device* device, const std::string& name) {
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  if (!backend.stats) return stats;
  tenon_status told{TENON_INTERNAL, 0, nullptr};
  call_void_entry(name, "stats", [&] { told = backend.stats(device, &stats); });
  return told.code == TENON_OK && is_readable(stats.flags) ? stats : tenon_stats{};
}

}  // namespace

Status Device::with_memory(const Status& refused, uint64_t asked) const {
  if (refused.code() != Code::kOutOfMemory || refused.message().find('\n') != std::string::npos) return refused;
  const tenon_stats stats = read_stats(backend_, handle_, name_);
  std::string text = refused.message();
  if (asked) text += cat("; asked for ", asked, " bytes");
  if (stats.bytes_in_use || stats.bytes_free) text += cat("; ", stats.bytes_in_use, " bytes are in use");
  if (stats.bytes_free) text += cat(", ", stats.bytes_free, " are free");
  if (stats.bytes_largest_free && stats.bytes_largest_free < stats.bytes_free)
    text += cat(", of them ", stats.bytes_largest_free, " in one piece");
  return Status(refused.code(), std::move(text));
}

// What the backend emits as it closes finds nobody, but a lock.
Device::~Device() {
  if (trace_) send_trace_to(nullptr);
  call_void_entry(name_, "device_close", [&] { backend_.device_close(handle_); });
}

namespace {

// Memory that the device does not see, in the place of a HOST buffer's.
std::shared_ptr<void> plain_memory(uint64_t bytes) {
  const uint64_t whole = (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  return {std::aligned_alloc(kHostAlignment, std::max<uint64_t>(whole, kHostAlignment)), std::free};
}

}  // namespace

Result<Buffer> Device::allocate(const Type& whole, bool host, bool split) {
  Type type = whole;
  if (split && processes_ > 1) type.shape.set(0, type.shape[0] / processes_);
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.flags = host ? TENON_DESC_HOST : 0;
  desc.dtype = static_cast<int32_t>(type.dtype);
  desc.rank = static_cast<uint32_t>(type.shape.rank());
  std::copy(type.shape.begin(), type.shape.end(), desc.dims);
  desc.placement = split ? TENON_SPLIT : TENON_REPLICATED;
  Buffer buffer;
  const auto allocate = [&] {
    return call_entry(name_, "buffer_alloc",
                      [&] { return backend_.buffer_alloc(handle_, &desc, &buffer.handle_, &buffer.host_); });
  };
  Status status = allocate();
  const bool staged = host && status.code() == Code::kUnsupported;
  if (staged) {
    desc.flags = 0;
    status = allocate();
  }
  TENON_TRY(with_memory(status, static_cast<uint64_t>(type.bytes())));
  buffer.device_ = shared_from_this();
  buffer.type_ = type;
  if (!buffer.handle_) return broke_abi(name_, "buffer_alloc gave no buffer");
  if (staged) {
    buffer.staging_ = plain_memory(static_cast<uint64_t>(type.bytes()));
    if (!buffer.staging_) return Status(Code::kOutOfMemory, cat(name_, ": no memory of the host for a batch"));
    buffer.host_ = buffer.staging_.get();
    return buffer;
  }
  if (!host)
    buffer.host_ = nullptr;
  else if (!buffer.host_ || reinterpret_cast<uintptr_t>(buffer.host_) % kHostAlignment)
    return broke_abi(name_, "buffer_alloc gave a HOST buffer without memory that is aligned to 64 bytes");
  return buffer;
}

Result<Queue> Device::create_queue() {
  Queue queue;
  TENON_TRY(call_entry(name_, "queue_create", [&] { return backend_.queue_create(handle_, 0, &queue.handle_); }));
  if (!queue.handle_) return broke_abi(name_, "queue_create gave no queue");
  queue.device_ = shared_from_this();
  return queue;
}

namespace {

tenon_options abi_options(const ProgramOptions& o) {
  tenon_options out{};
  out.struct_size = sizeof out;
  out.flags = (o.deterministic ? TENON_OPTION_DETERMINISTIC : 0) | (o.trace ? TENON_OPTION_TRACE : 0) |
              (o.forecast_only ? TENON_OPTION_FORECAST : 0);
  out.max_iterations = static_cast<uint32_t>(o.max_iterations);
  return out;
}

// Backends count all units together, and units are alike.
ProgramInfo info_of(const tenon_info& i, uint64_t units) {
  if (!is_readable(i.flags)) return {};
  ProgramInfo out;
  const auto share = [units](uint64_t of_all) { return of_all / units + (of_all % units != 0); };
  out.argument_bytes = share(i.argument_bytes);
  out.result_bytes = share(i.result_bytes);
  out.workspace_bytes = share(i.workspace_bytes);
  out.code_bytes = share(i.code_bytes);
  out.reserved_bytes = share(i.reserved_bytes);
  out.peak_bytes = share(i.peak_bytes);
  out.capacity_bytes = i.capacity_bytes / units;
  out.flops = share(i.flops);
  out.bytes_moved = share(i.bytes_moved);
  out.device_ns = i.device_ns;
  out.feed_ns = i.feed_ns;
  out.host_ns = i.host_ns;
  constexpr uint32_t kMaxAllocations = 1 << 20;
  const uint32_t n = i.allocations ? std::min(i.n_allocations, kMaxAllocations) : 0;
  for (uint32_t k = 0; k < n; ++k) {
    tenon_allocation a{};
    std::memcpy(&a, reinterpret_cast<const uint8_t*>(i.allocations) + k * i.allocation_stride,
                std::min<uint64_t>(i.allocation_stride, sizeof a));
    out.allocations.push_back({a.node, a.first, a.last, a.bytes, a.dense_bytes, a.offset});
  }
  return out;
}

}  // namespace

Result<std::vector<NodeVerdict>> Device::supports(const GraphImage& graph, std::span<const uint32_t> nodes,
                                                  const ProgramOptions& options) {
  const tenon_options o = abi_options(options);
  std::vector<tenon_verdict> verdicts(nodes.size());
  TENON_TRY(call_entry(name_, "supports", [&] {
    return backend_.supports(handle_, graph.flat(), &o, nodes.data(), static_cast<uint32_t>(nodes.size()),
                             verdicts.data(), sizeof(tenon_verdict));
  }));
  std::vector<NodeVerdict> out;
  for (const tenon_verdict& v : verdicts) {
    if (v.answer < TENON_REFUSE || v.answer > TENON_TAKE)
      return broke_abi(name_, cat("supports answered ", v.answer, ", expected 0 to 2"));
    out.push_back({static_cast<NodeVerdict::Answer>(v.answer), printable(v.reason)});
  }
  return out;
}

Result<Program> Device::compile(const GraphImage& graph, const ProgramOptions& options, ProgramInfo* info) {
  const tenon_options o = abi_options(options);
  tenon_info filled{};
  filled.struct_size = sizeof filled;
  Program program;
  const Status status = call_entry(
      name_, "compile", [&] { return backend_.compile(handle_, graph.flat(), &o, &program.handle_, &filled); });
  const uint64_t units = std::max<size_t>(units_.size(), 1);
  if (info) *info = info_of(filled, units);
  TENON_TRY(with_memory(status, filled.workspace_bytes));
  if (!program.handle_) return broke_abi(name_, "compile gave no program");
  program.device_ = shared_from_this();
  program.info_ = info_of(filled, units);
  return program;
}

namespace {

// Names as they nearly always are need no copy.
bool is_plain(const char* name) {
  size_t n = 0;
  while (n < kMaxText && name[n] >= ' ' && name[n] <= '~') ++n;
  return n < kMaxText && name[n] == '\0';
}

}  // namespace

void Device::Trace::emit(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride) noexcept {
  auto& trace = *static_cast<Trace*>(ctx);
  const std::lock_guard lock(trace.mutex);
  if (!trace.to) return;
  for (uint32_t i = 0; i < n; ++i) {
    tenon_event e{};
    std::memcpy(&e, reinterpret_cast<const uint8_t*>(events) + i * stride, std::min<uint64_t>(stride, sizeof e));
    const std::string cleaned = !e.name || is_plain(e.name) ? "" : one_line(printable(e.name));
    const char* name = !e.name ? "" : cleaned.empty() ? e.name : cleaned.c_str();
    trace.to->emit({name, e.node, e.unit, e.lane, e.start_ps, e.duration_ps, e.flops, e.bytes});
  }
}

bool Device::send_trace_to(TraceSink* sink) {
  if (!trace_) trace_ = std::make_unique<Trace>();
  const std::lock_guard lock(trace_->mutex);
  if (sink && trace_->to) return false;
  trace_->to = sink;
  return true;
}

Status Device::begin_trace(TraceSink& sink) {
  if (!backend_.trace) return Status(Code::kUnsupported, cat(name_, ": the backend does not trace"));
  if (!send_trace_to(&sink)) return invalid(name_, ": a trace is running already");
  trace_->sink = {sizeof(tenon_sink), 0, trace_.get(), Trace::emit};
  const Status status = call_entry(name_, "trace", [&] { return backend_.trace(handle_, &trace_->sink); });
  if (!status.ok()) send_trace_to(nullptr);
  return status;
}

Status Device::end_trace() {
  if (!trace_ || !trace_->to) return {};
  const Status status = call_entry(name_, "trace", [&] { return backend_.trace(handle_, nullptr); });
  send_trace_to(nullptr);
  return status;
}

DeviceFacts Device::facts() const { return facts_of(backend_, handle_, name_); }

uint64_t Device::bytes_in_use() const { return read_stats(backend_, handle_, name_).bytes_in_use; }
uint64_t Device::bytes_peak() const { return read_stats(backend_, handle_, name_).bytes_peak; }

// ---- handles ----

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(host_, other.host_);
  std::swap(staging_, other.staging_);
  std::swap(type_, other.type_);
  return *this;
}
Buffer::~Buffer() {
  if (handle_ && device_)
    call_void_entry(device_->name(), "buffer_free", [&] { device_->backend().buffer_free(handle_); });
}

Program& Program::operator=(Program&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(info_, other.info_);
  return *this;
}
Program::~Program() {
  if (handle_ && device_)
    call_void_entry(device_->name(), "program_destroy", [&] { device_->backend().program_destroy(handle_); });
}

Queue& Queue::operator=(Queue&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(last_ticket_, other.last_ticket_);
  std::swap(failure_, other.failure_);
  std::swap(feeder_, other.feeder_);
  return *this;
}
Queue::~Queue() {
  feeder_.reset();
  if (handle_ && device_)
    call_void_entry(device_->name(), "queue_destroy", [&] { device_->backend().queue_destroy(handle_); });
}

}  // namespace tenon
