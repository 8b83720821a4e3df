#include "decode/decode_trace.h"

#include "base/text.h"

namespace tenon {
namespace {

constexpr const char* kState = "state/";

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

DecodeState DecodeTrace::read(Tensor like, DecodeVariables& variables) {
  DecodeState state;
  for (const auto& [name, type] : variables.types())
    if (name.starts_with(kState)) state.now_[name.substr(std::string_view(kState).size())] = variables.get(like, name);
  return state;
}

void DecodeTrace::write(const DecodeState& state, DecodeVariables& variables, Tensor of) {
  for (const auto& [name, tensor] : state.next_) {
    Tensor x = tensor;
    if (of) {
      std::vector<int64_t> dims{of.dim(0), of.dim(1)};
      dims.insert(dims.end(), x.shape().begin() + 1, x.shape().end());
      x = reshape(gather(reshape(x, Shape(dims)), of, 1, 1), x.shape());
    }
    variables.put(kState + name, x);
  }
}

}  // namespace tenon
