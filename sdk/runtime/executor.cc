#include "runtime/executor.h"

#include <string>

#include "runtime/handles.h"

namespace tenon::plugin {
namespace {

[[noreturn]] void refuse_run(const char* text) { throw Error(TENON_INVALID, std::string("run: ") + text); }

}  // namespace

Executor::Executor(Plan plan, bool bases_are_pointers)
    : plan_(std::move(plan)), bases_are_pointers_(bases_are_pointers) {
  const auto n = static_cast<size_t>(result_base(plan_.n_results)) + plan_.arena_parts.size();
  arenas_.reserve(plan_.arena_parts.size());
  bases_.resize(n);
  base_offsets_.resize(n);
}

void Executor::check(const tenon_run& run) const {
  if (!plan_.scalars.empty() && !run.scalars) refuse_run("the program takes scalars and there are none");
  if ((plan_.n_buffers && !run.inputs) || (plan_.n_results && !run.results)) refuse_run("inputs or results are NULL");
  for (int32_t i = 0; i < plan_.n_buffers; ++i) {
    const Buffer* b = as_buffer(run.inputs[i]);
    if (!b && !is_fed(run, i)) refuse_run("an input buffer is NULL");
    if (b && b->bytes < plan_.input_bytes[i]) refuse_run("an input buffer is smaller than the program's input");
  }
  for (int32_t r = 0; r < plan_.n_results; ++r) {
    const Buffer* b = as_buffer(run.results[r]);
    if (!b) refuse_run("a result buffer is NULL");
    const int32_t alias = plan_.result_alias[r];
    if (alias >= 0 && run.inputs[alias] != run.results[r]) refuse_run("an aliased result is not its input's buffer");
    const uint64_t rows = plan_.result_mode[r] == TENON_MODE_EACH ? run.iterations : 1;
    if (b->bytes < plan_.result_bytes[r] * rows) refuse_run("a result buffer is smaller than the program's result");
  }
}

void Executor::set_base(int32_t base, void* memory, uint64_t offset) {
  bases_[base] = static_cast<uint8_t*>(memory) + (bases_are_pointers_ ? offset : 0);
  base_offsets_[base] = offset;
}

void Executor::bind_arena() {
  for (size_t part = 0; part < arenas_.size(); ++part) set_base(plan_.part_base(part), arenas_[part].data, 0);
}

void Executor::bind_row(const tenon_run& run, int32_t r, uint64_t offset) {
  set_base(result_base(r), as_buffer(run.results[r])->memory, offset);
}

void Executor::bind(const tenon_run& run) {
  for (int32_t i = 0; i < plan_.n_buffers; ++i)
    if (!is_fed(run, i)) set_base(kBaseFirstInput + i, as_buffer(run.inputs[i])->memory, 0);
  for (int32_t r = 0; r < plan_.n_results; ++r) bind_row(run, r, 0);
}

void Executor::check_batch(tenon_buffer* const* fed) const {
  for (size_t f = 0; f < plan_.feeds.size(); ++f) {
    const Buffer* b = as_buffer(fed[f]);
    if (!b || b->bytes < plan_.input_bytes[plan_.feeds[f]]) refuse_run("a fed buffer is missing or too small");
  }
}

void Executor::bind_batch(tenon_buffer* const* fed) {
  for (size_t f = 0; f < plan_.feeds.size(); ++f)
    set_base(kBaseFirstInput + plan_.feeds[f], as_buffer(fed[f])->memory, 0);
}

}  // namespace tenon::plugin
