#include "conformance/host/session.h"

#include <algorithm>
#include <cstring>

namespace tenon::conformance {

using reference::Tensor;

std::vector<Answer> answers(Subject& subject, tenon_device* device, const tenon_graph& graph) {
  struct Wide {  // the backend steps by the stride that it is given
    tenon_verdict verdict;
    uint64_t beyond;
  };
  constexpr uint64_t kMark = 0x5EEDF00D;
  const uint32_t n = graph.nodes.count;
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < n; ++i) nodes.push_back(i);
  std::vector<Wide> wide(n, Wide{{TENON_REFUSE, 0, nullptr}, kMark});
  tenon_options options{};
  options.struct_size = sizeof options;
  if (n)
    expect_ok(subject.backend().supports(device, &graph, &options, nodes.data(), n, &wide[0].verdict, sizeof(Wide)),
              "supports");
  std::vector<Answer> out;
  for (const Wide& w : wide) {
    expect(w.beyond == kMark, "supports: wrote more than a verdict, though its stride leaves room");
    expect(w.verdict.answer >= TENON_REFUSE && w.verdict.answer <= TENON_TAKE,
           "supports: the answer is " + std::to_string(w.verdict.answer) + ", expected 0 to 2");
    out.push_back({w.verdict.answer, one_line(w.verdict.reason)});
  }
  return out;
}

Session::Session(Subject& subject, const tenon_graph& graph, Place place, tenon_options options)
    : subject_(subject),
      graph_(graph),
      place_(place),
      program_(subject, subject.device(), graph, options),
      queue_(subject, subject.device()),
      aliased_(graph_.n_inputs()) {
  for (uint32_t r = 0; r < graph_.n_results(); ++r)
    if (const uint32_t alias = graph_.result(r).alias) aliased_.at(alias - 1) = true;
  for (uint32_t i = 0; i < graph_.n_inputs(); ++i) {
    const tenon_input& input = graph_.input(i);
    const bool scalar = input.role == TENON_ROLE_SCALAR;
    input_at_.push_back(scalar ? -1 : static_cast<int>(inputs_.size()));
    const plugin::ValueView value = graph_.value(input.value);
    if (!scalar) inputs_.push_back(make_buffer(value.dtype(), value.dims().vec(), input.placement));
  }
  for (uint32_t r = 0; r < graph_.n_results(); ++r) {
    const tenon_result& result = graph_.result(r);
    result_at_.push_back(result.alias ? -1 : static_cast<int>(results_.size()));
    const plugin::ValueView value = graph_.value(result.value);
    std::vector<int64_t> dims = value.dims().vec();
    if (result.mode == TENON_MODE_EACH) dims.insert(dims.begin(), 1);
    if (!result.alias) results_.push_back(make_buffer(value.dtype(), dims, result.placement));
  }
  written_.resize(inputs_.size());
}

Buffer Session::make_buffer(int32_t dtype, std::vector<int64_t> dims, int32_t placement) const {
  BufferOptions options;
  options.host = place_ == Place::kHost;
  options.placement = placement;
  return Buffer(subject_, subject_.device(), dtype, dims, options);
}

const Buffer& Session::result(uint32_t r) const {
  if (result_at_[r] >= 0) return results_[static_cast<size_t>(result_at_[r])];
  return inputs_[static_cast<size_t>(input_at_.at(graph_.result(r).alias - 1))];
}

void Session::write(const std::vector<Tensor>& inputs, bool states) {
  expect(inputs.size() == input_at_.size(),
         "the graph has " + std::to_string(input_at_.size()) + " inputs, given " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_at_[i] < 0 || (aliased_[i] && !states)) continue;
    const size_t at = static_cast<size_t>(input_at_[i]);
    written_[at] = bytes_of(inputs[i]);
    if (inputs_[at].host())
      std::memcpy(inputs_[at].host(), written_[at].data(), written_[at].size());
    else
      queue_.write(inputs_[at], inputs[i]);
  }
}

std::vector<tenon_scalar> Session::scalars_of(const std::vector<Tensor>& inputs) const {
  std::vector<tenon_scalar> scalars;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_at_[i] >= 0) continue;
    tenon_scalar scalar{};
    if (plugin::is_float(inputs[i].dtype))
      scalar.f64 = inputs[i].f.at(0);
    else
      scalar.i64 = inputs[i].i.at(0);
    scalars.push_back(scalar);
  }
  return scalars;
}

std::vector<Tensor> Session::run(const std::vector<Tensor>& inputs) {
  std::vector<tenon_buffer*> in, out;
  for (const Buffer& b : inputs_) in.push_back(b.handle());
  for (uint32_t r = 0; r < result_at_.size(); ++r) out.push_back(result(r).handle());
  for (const Buffer& b : results_) queue_.write_rubbish(b);
  const std::vector<tenon_scalar> scalars = scalars_of(inputs);
  subject_.poison(program_.info().workspace_bytes);
  tenon_run run{};
  run.program = program_.handle();
  run.inputs = in.data();
  run.results = out.data();
  run.scalars = scalars.data();
  uint32_t done = 0;
  queue_.wait(queue_.submit(run, &done));
  expect(done == 1, "run: " + std::to_string(done) + " iterations done, expected 1");
  std::vector<Tensor> results;
  for (uint32_t r = 0; r < result_at_.size(); ++r) {
    results.push_back(queue_.read(result(r)));
    results.back().dims = graph_.value(graph_.result(r).value).dims().vec();
  }
  return results;
}

void Session::check() {
  for (size_t i = 0; i < input_at_.size(); ++i) {
    if (input_at_[i] < 0) continue;
    const size_t at = static_cast<size_t>(input_at_[i]);
    const std::string what = "input " + std::to_string(i);
    inputs_[at].check_end(what);
    if (aliased_[i] || written_[at].empty()) continue;
    std::vector<uint8_t> now(written_[at].size());
    queue_.read(inputs_[at], now.data(), now.size());
    const auto changed = std::mismatch(now.begin(), now.end(), written_[at].begin()).first;
    expect(changed == now.end(), what + " was changed by the run, at byte " + std::to_string(changed - now.begin()));
  }
  for (uint32_t r = 0; r < result_at_.size(); ++r) result(r).check_end("result " + std::to_string(r));
}

std::vector<Tensor> run_graph(Subject& subject, const tenon_graph& graph, const std::vector<Tensor>& inputs,
                              Place place, tenon_options options) {
  Session session(subject, graph, place, options);
  session.write(inputs);
  std::vector<Tensor> results = session.run(inputs);
  session.check();
  return results;
}

}  // namespace tenon::conformance
