#include "tenon/strategy.h"

#include "base/array_dtype.h"
#include "base/number.h"
#include "base/strings.h"
#include "compile/compile.h"
#include "step/function_impl.h"
#include "step/variables/loaded_tensors.h"
#include "tenon/ops.h"

namespace tenon {
Strategy::Strategy(const std::string& device, const StrategyOptions& options) : impl_(std::make_shared<Impl>()) {
  impl_->options = options;
  impl_->policy = Policy::named(options.dtype_policy).take();
  check(check_between({options.all_reduce_dtype, options.shard_optimizer_state}, "StrategyOptions"));
  impl_->device = open_joined_device(device).take();
  impl_->queue = impl_->device->create_queue().take();
  impl_->variables = std::make_unique<VariableStore>(impl_->device, impl_->queue, options.seed);
}

Function Strategy::function(TensorFunction function, const FunctionOptions& options) const {
  if (!function) fail(options.name, " is no function");
  expect_number(cat(options.name, ": steps_per_call"), options.steps_per_call, 1, kMostStepsPerCall);
  check(check_dynamic(options, impl_->device->replicas()));
  return Function(std::make_shared<Function::Impl>(impl_, std::move(function), options));
}

void Strategy::Impl::set_variable(const std::string& name, const Array& value) {
  const auto waits = variables->waiting().find(name);
  if (waits != variables->waiting().end())
    return check(variables->give(name, as_dtype(value, waits->second.value.dtype())));
  const auto here = variables->all().find(name);
  if (here != variables->all().end()) check(variables->write(name, as_dtype(value, here->second->type().dtype)));
}

// An input is read by what makes another type of it.
bool Strategy::Impl::takes(DType dtype) {
  const auto [found, is_new] = taken_.try_emplace(dtype, true);
  if (!is_new) return found->second;
  Graph graph;
  const Tensor x(&graph, graph.add_input({dtype, {1}}, Role::kFeed, "x"));
  const Tensor y = cast(x, dtype == DType::kF32 ? DType::kI32 : DType::kF32);
  graph.results.push_back({y.id(), ResultMode::kLast, -1, false, "y"});
  found->second = lower(graph, *device).status().code() != Code::kUnsupported;
  return found->second;
}

const std::string& Strategy::device() const { return impl_->device->name(); }
const std::string& Strategy::dtype_policy() const { return impl_->options.dtype_policy; }
int Strategy::num_replicas_in_sync() const { return impl_->device->replicas(); }

std::vector<UnitInfo> Strategy::logical_devices() const { return impl_->device->units(); }

namespace {

thread_local const Strategy::Scope* innermost_scope = nullptr;

}  // namespace

Strategy::Scope Strategy::scope() const { return Scope(*this); }
Strategy::Scope::Scope(Strategy strategy)
    : strategy_(std::make_unique<Strategy>(std::move(strategy))), outer_(std::exchange(innermost_scope, this)) {}
Strategy::Scope::~Scope() { innermost_scope = outer_; }
std::optional<Strategy> Strategy::Scope::innermost() {
  return innermost_scope ? std::optional<Strategy>(*innermost_scope->strategy_) : std::nullopt;
}

OneDeviceStrategy::OneDeviceStrategy(const std::string& device, const StrategyOptions& options)
    : Strategy(device, options) {
  if (num_replicas_in_sync() != 1)
    fail("OneDeviceStrategy: ", this->device(), " has ", num_replicas_in_sync(), " units, expected 1");
}

TPUStrategy::TPUStrategy(const std::string& device, const StrategyOptions& options) : Strategy(device, options) {
  const std::string kind = logical_devices()[0].kind;
  if (kind != "accelerator") fail("TPUStrategy: ", this->device(), " is a ", kind, ", expected a TPU");
}

std::vector<Strategy::VariableInfo> Strategy::variables() const {
  std::vector<VariableInfo> out;
  for (const auto& [name, buffer] : impl_->variables->all()) out.push_back({name, buffer->type()});
  return out;
}

Array Strategy::read(std::string_view variable) const { return impl_->variables->read(variable).take(); }

void Strategy::write(std::string_view variable, const Array& value) {
  VariableStore& store = *impl_->variables;
  const bool waits = store.waiting().count(variable) > 0;
  check(waits || store.empty() ? store.give(std::string(variable), value) : store.write(variable, value));
}

void Strategy::save(const std::string& path) const {
  std::vector<TensorSource> all = impl_->variables->sources();
  note_writer(all);
  check(write_tensor_file(path, std::move(all)));
}

void Strategy::load(const std::string& path) {
  VariableStore& store = *impl_->variables;
  LoadedTensors loaded = LoadedTensors::read(path).take();
  store.drop_dead();
  Types here;
  for (const auto& [name, buffer] : store.all()) here.emplace(name, buffer->type());
  check(loaded.types().check_has(here));
  check(loaded.give(store, true));
  store.let_optimizers_begin_anew(false);
  store.end_warm_start();
}

WarmStartReport Strategy::warm_start(const WarmStartSettings& settings) {
  check(impl_->variables->warm_start(WarmStart::open(settings).take()));
  return warm_started();
}

WarmStartReport Strategy::warm_started() const {
  const WarmStart* warm = impl_->variables->warm_started();
  return warm ? warm->report() : WarmStartReport();
}

std::vector<std::string> Strategy::waiting() const {
  std::vector<std::string> names;
  for (const auto& entry : impl_->variables->waiting()) names.push_back(entry.first);
  return names;
}

}  // namespace tenon
