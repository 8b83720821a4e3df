#include "decode/decode_trace.h"

#include "base/strings.h"

namespace tenon {
namespace {

constexpr const char* kState = "state/";
constexpr const char* kWriters = "writers";

}  // namespace

Tensor DecodeVariables::get(Tensor like, const std::string& name) {
  const auto found = traced_.find(name);
  if (found != traced_.end()) return found->second;
  const Type& type = types_.at(name);
  return traced_[name] = variable(like, prefix_ + name, type.shape, zeros(), false, type.dtype);
}

void DecodeVariables::put(const std::string& name, Tensor value) {
  types_[name] = value.type();
  assign(get(value, name), value);
}

Tensor DecodeState::operator[](const std::string& name) const {
  for (const auto* tensors : {&next_, &now_})
    if (const auto found = tensors->find(name); found != tensors->end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [n, tensor] : now_) names.push_back(n);
  fail("decoding: nothing is kept as '", name, "'; there are ", join(names));
}

void DecodeState::set(const std::string& name, Tensor next) {
  const Tensor now = (*this)[name];
  if (next.type() != now.type())
    fail("decoding: '", name, "' becomes ", next.type().str(), ", expected ", now.type().str());
  next_[name] = next;
}

// Which rows each sequence's tokens were appended in, this one's too.
Tensor DecodeState::rows_read() {
  if (read_) return read_;
  const int64_t rows = writers_.dim(0), length = writers_.dim(1);
  Graph& graph = *writers_.graph();
  const Tensor own = iota(graph, DType::kI32, {rows, 1}, 0);
  writers_with_this_ = scatter(writers_, reshape(position_, {1}), own, 1, 0, ScatterKind::kSet);
  const Tensor place = iota(graph, DType::kI32, {rows, length}, 1);
  read_ = reshape(writers_with_this_ * scalar_like(place, static_cast<double>(length)) + place, {rows * length});
  return read_;
}

Tensor DecodeState::append(const std::string& name, Tensor row) {
  const Tensor now = (*this)[name];
  std::vector<int64_t> one = now.shape().vec();
  if (one.size() > 1) one[1] = 1;
  if (one.size() < 2 || row.type() != Type{now.dtype(), Shape(one)})
    fail("decoding: ", row.type().str(), " is appended to '", name, "', ", now.type().str(),
         ", expected a row of it, [rows, 1, ..]");
  if (next_.contains(name)) fail("decoding: '", name, "' is appended to, but was set or appended to in this step");
  const Tensor all = scatter(now, reshape(position_, {1}), row, 1, 0, ScatterKind::kSet);
  next_[name] = all;
  if (!writers_) return all;
  if (now.dim(1) != writers_.dim(1))
    fail("decoding: '", name, "' is ", now.type().str(), ", expected max_length, ", writers_.dim(1), ", places");
  appended_.insert(name);
  const int64_t lines = now.dim(0) * now.dim(1);
  return reshape(gather(reshape(all, {lines, now.elements() / lines}), rows_read(), 0), now.shape());
}

void DecodeTrace::begin_writers(Tensor like, DecodeVariables& variables, int64_t rows, int64_t length) {
  variables.put(kWriters, iota(*like.graph(), DType::kI32, {rows, length}, 0));
}

DecodeState DecodeTrace::read(Tensor like, DecodeVariables& variables) {
  DecodeState state;
  state.position_ = variables.get(like, "position");
  if (variables.types().contains(kWriters)) state.writers_ = variables.get(like, kWriters);
  for (const auto& [name, type] : variables.types())
    if (name.starts_with(kState)) state.now_[name.substr(std::string_view(kState).size())] = variables.get(like, name);
  return state;
}

void DecodeTrace::write(const DecodeState& state, DecodeVariables& variables, Tensor of) {
  const auto in_place = [&](Tensor x) {
    if (!of) return x;
    std::vector<int64_t> dims{of.dim(0), of.dim(1)};
    dims.insert(dims.end(), x.shape().begin() + 1, x.shape().end());
    return reshape(gather(reshape(x, Shape(dims)), of, 1, 1), x.shape());
  };
  for (const auto& [name, tensor] : state.next_)
    variables.put(kState + name, state.appended_.contains(name) ? tensor : in_place(tensor));
  if (state.writers_with_this_) variables.put(kWriters, in_place(state.writers_with_this_));
}

}  // namespace tenon
