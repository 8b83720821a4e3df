#include "step/parted_launch.h"

#include <algorithm>
#include <cstring>

#include "op/op.h"
#include "op/replicas.h"

namespace tenon {

Result<std::unique_ptr<PartedLaunch>> PartedLaunch::create(const Executable& executable) {
  std::unique_ptr<PartedLaunch> out(new PartedLaunch(executable));
  TENON_TRY(out->lay_out());
  return out;
}

PartedLaunch::PartedLaunch(const Executable& executable)
    : executable_(executable),
      graph_(executable.graph),
      units_(executable.device->units().size()),
      varying_(varying_values(graph_)),
      arguments_(static_cast<size_t>(executable.n_buffers)),
      place_(graph_.values.size(), -1),
      results_(graph_.results.size()),
      scalars_(static_cast<size_t>(executable.n_scalars) * static_cast<size_t>(executable.max_iterations)),
      feeds_(static_cast<size_t>(executable.n_feeds)) {}

// ---- laying out ----

Status PartedLaunch::lay_out() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i)
    if (graph_.inputs[i].role == Role::kFeed) arguments_[executable_.slot[i]].feed = true;
  for (const tenon::Output& r : graph_.results)
    if (r.alias >= 0) arguments_[executable_.slot[r.alias]].updated = true;
  for (const PlacedPart& placed : executable_.parted->parts) {
    const bool on_host = placed.kind == PartKind::kHost;
    if (on_host && !host_) {
      host_ = placed.program.device;
      TENON_ASSIGN(host_queue_, host_->create_queue());
    }
    const bool apart = on_host && std::any_of(placed.takes.begin(), placed.takes.end(),
                                                   [&](ValueId v) { return graph_.replicas > 1 && varying_[v]; });
    Part part{placed, {}};
    const Executable& program = placed.program;
    const int launches = placed.kind == PartKind::kExchange ? 0 : apart ? graph_.replicas : 1;
    for (int u = 0; u < launches; ++u)
      part.launches.emplace_back(program.program, program.n_buffers, static_cast<int>(program.graph.results.size()),
                                 program.n_scalars, 1);
    parts_.push_back(std::move(part));
  }
  for (Part& part : parts_)
    if (part.exchanges()) TENON_TRY(lay_out_exchange(part));
  for (Part& part : parts_)
    if (!part.exchanges()) TENON_TRY(lay_out(part));
  find_awaited();
  find_outputs();
  for (Part& part : parts_)
    for (const ValueId v : part.placed.gives)
      if (const int at = place_[v]; at >= 0 && places_[at].device && !places_[at].host.empty())
        if (std::find(part.crossing.begin(), part.crossing.end(), at) == part.crossing.end())
          part.crossing.push_back(at);
  return {};
}

Status PartedLaunch::lay_out(Part& part) {
  for (size_t i = 0; i < part.placed.takes.size(); ++i) TENON_TRY(bind_input(part, i));
  for (size_t r = 0; r < part.placed.gives.size(); ++r) TENON_TRY(bind_result(part, r));
  return {};
}

int PartedLaunch::place_of(ValueId v) {
  if (place_[v] < 0) {
    place_[v] = static_cast<int>(places_.size());
    places_.push_back({static_cast<uint64_t>(graph_.type(v).bytes()), graph_.type(v).shape, graph_.replicas > 1 && varying_[v]});
  }
  return place_[v];
}

Status PartedLaunch::allocate(Place& place, const Type& type, bool host) {
  if (host) {
    const size_t units = place.split ? static_cast<size_t>(graph_.replicas) : 1;
    while (place.host.size() < units) {
      TENON_ASSIGN(Buffer buffer, host_->allocate(type, true));
      place.host.push_back(std::move(buffer));
    }
  } else if (!place.device) {
    Type joined = type;
    if (place.split && type.shape.rank() == 0) joined.shape = Shape({1});
    if (place.split) joined.shape.set(0, joined.shape[0] * graph_.replicas);
    TENON_ASSIGN(place.device, executable_.device->allocate(joined, place.exchanged, place.split));
  }
  return {};
}

Status PartedLaunch::bind_input(Part& part, size_t i) {
  const Executable& program = part.placed.program;
  const ValueId v = part.placed.takes[i];
  const int slot = program.slot[i];
  if (graph_.values[v].node < 0) {
    const auto input = static_cast<size_t>(graph_.values[v].index);
    const int own = executable_.slot[input];
    if (graph_.inputs[input].role == Role::kScalar) {
      part.scalars.emplace_back(slot, own);
      return {};
    }
    if (part.on_device()) {
      arguments_[own].inputs.push_back({&part.launches[0], slot});
      return {};
    }
    arguments_[own].place = place_of(v);
  }
  Place& place = places_[place_of(v)];
  TENON_TRY(allocate(place, graph_.type(v), part.on_host()));
  for (size_t u = 0; u < part.launches.size(); ++u)
    part.launches[u].set_input(slot, part.on_host() ? place.host[place.split ? u : 0] : place.device);
  return {};
}

Status PartedLaunch::bind_result(Part& part, size_t r) {
  const ValueId v = part.placed.gives[r];
  if (const int state = part.placed.program.graph.results[r].alias; state >= 0) {
    const ValueId whole = part.placed.takes[static_cast<size_t>(state)];
    const int slot = executable_.slot[static_cast<size_t>(graph_.values[whole].index)];
    arguments_[slot].updates.push_back({&part.launches[0], static_cast<int>(r)});
    return {};
  }
  Place& place = places_[place_of(v)];
  place.from_host = part.on_host();
  TENON_TRY(allocate(place, graph_.type(v), part.on_host()));
  for (size_t u = 0; u < part.launches.size(); ++u)
    part.launches[u].set_result(static_cast<int>(r),
                                part.on_host() ? place.host[place.split ? u : 0] : place.device);
  return {};
}

void PartedLaunch::find_outputs() {
  size_t most = 0;
  for (size_t r = 0; r < graph_.results.size(); ++r) {
    const tenon::Output& result = graph_.results[r];
    const Output output{place_[result.value], static_cast<int>(r)};
    if (result.alias >= 0) {
      if (arguments_[executable_.slot[result.alias]].updates.empty()) next_.push_back(output);
      continue;
    }
    (result.mode == ResultMode::kEach ? each_ : last_).push_back(output);
    if (result.mode == ResultMode::kUntil) until_.push_back(output);
    most = std::max(most, places_[output.place].bytes * units_);
  }
  row_.resize(most);
}

void PartedLaunch::set_input(int slot, const Buffer& buffer) {
  Argument& argument = arguments_[slot];
  argument.buffer = &buffer;
  for (const Use& use : argument.inputs) use.launch->set_input(use.index, buffer);
  for (const Use& use : argument.updates) use.launch->set_result(use.index, buffer);
}

// ---- exchanges between processes ----

Status PartedLaunch::lay_out_exchange(Part& part) {
  const Graph& graph = part.placed.program.graph;
  std::vector<ValueId> whole(graph.values.size(), kAbsent);  // what the part's values are in the whole
  for (size_t i = 0; i < part.placed.takes.size(); ++i) whole[graph.inputs[i].value] = part.placed.takes[i];
  for (size_t r = 0; r < part.placed.gives.size(); ++r) whole[graph.results[r].value] = part.placed.gives[r];
  const auto exchanged = [&](ValueId v) -> Result<int> {
    const int at = place_of(whole[v]);
    places_[at].exchanged = true;
    TENON_TRY(allocate(places_[at], graph.type(v), false));
    return at;
  };
  for (const Node& node : graph.nodes) {
    const AttrReader attrs(node.attrs);
    Together together;
    together.gathers = node.op == "all_gather";
    if (together.gathers)
      together.axis = static_cast<int>(attrs.i64("axis"));
    else
      together.kind = static_cast<ReduceKind>(attrs.enumerator("kind"));
    together.dtype = graph.type(node.operands[0]).dtype;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (whole[node.results[k]] == kAbsent) continue;  // nobody reads it
      if (graph.type(node.operands[k]).dtype != together.dtype)
        return invalid(describe(node), " has operands of several dtypes, expected one between processes");
      TENON_ASSIGN(const int from, exchanged(node.operands[k]));
      TENON_ASSIGN(const int to, exchanged(node.results[k]));
      together.from.push_back(from);
      together.to.push_back(to);
    }
    part.together.push_back(std::move(together));
  }
  return {};
}

void PartedLaunch::find_awaited() {
  std::vector<int> maker(places_.size(), -1);
  for (size_t p = 0; p < parts_.size(); ++p)
    for (const Together& together : parts_[p].together)
      for (const int at : together.to) maker[static_cast<size_t>(at)] = static_cast<int>(p);
  for (Part& part : parts_)
    for (const ValueId v : part.placed.takes)
      if (const int at = place_[v]; at >= 0) part.awaits = std::max(part.awaits, maker[static_cast<size_t>(at)]);
}

// The values are laid out as they lie in memory that processes see.
Status PartedLaunch::begin_exchange(Queue& queue, Part& part) {
  const auto memory = [&](int at) {
    Place& place = places_[at];
    if (place.device.is_shared()) return static_cast<std::byte*>(place.device.host());
    std::vector<std::byte>& staged = staged_[at];
    staged.resize(place.bytes * (place.split ? units_ : 1));
    return staged.data();
  };
  for (Together& together : part.together) {
    together.arrays.resize(together.from.size());
    for (size_t k = 0; k < together.from.size(); ++k) {
      const Place& place = places_[together.from[k]];
      std::byte* const from = memory(together.from[k]);
      if (!place.device.is_shared()) TENON_TRY(queue.read(place.device, from, place.bytes * (place.split ? units_ : 1)));
      ReducedArray& array = together.arrays[k];
      array.from.resize(units_);
      for (size_t u = 0; u < units_; ++u) array.from[u] = from + (place.split ? u * place.bytes : 0);
      array.to = memory(together.to[k]);
      array.bytes = place.bytes;
    }
  }
  TENON_ASSIGN(World* const world, World::join());
  part.ticket = world->post([this, &part](Wire& wire, Reducer& reducer) -> Status {
    for (const Together& together : part.together)
      TENON_TRY(together.gathers ? gather_parts(wire, together)
                                 : reducer.all_reduce(together.kind, together.dtype, together.arrays));
    return {};
  });
  begun_ = static_cast<int>(&part - parts_.data());
  return {};
}

// All processes' parts, along an axis.
Status PartedLaunch::gather_parts(Wire& wire, const Together& together) {
  for (size_t k = 0; k < together.arrays.size(); ++k) {
    const ReducedArray& array = together.arrays[k];
    const size_t processes = static_cast<size_t>(wire.count()), bytes = array.bytes;
    gathered_.resize(bytes * units_ * (processes + 1));
    std::byte* const own = gathered_.data() + bytes * units_ * processes;
    for (size_t u = 0; u < units_; ++u) std::memcpy(own + u * bytes, array.from[u], bytes);
    TENON_TRY(all_gather(wire, own, gathered_.data(), bytes * units_));
    const Shape& shape = places_[together.from[k]].shape;
    size_t before = 1;
    for (int i = 0; i < together.axis; ++i) before *= static_cast<size_t>(shape[i]);
    const size_t run = bytes / std::max<size_t>(before, 1), replicas = units_ * processes;
    for (size_t b = 0; b < before; ++b)
      for (size_t r = 0; r < replicas; ++r)
        std::memcpy(array.to + (b * replicas + r) * run, gathered_.data() + r * bytes + b * run, run);
  }
  return {};
}

// Until the exchanges of that part, and of those before it, are done.
Status PartedLaunch::await(Queue& queue, int part) {
  if (part <= awaited_) return {};
  TENON_ASSIGN(World* const world, World::join());
  TENON_TRY(world->wait(parts_[static_cast<size_t>(part)].ticket));
  for (int p = awaited_ + 1; p <= part; ++p)
    for (const Together& together : parts_[static_cast<size_t>(p)].together)
      for (const int at : together.to)
        if (const auto staged = staged_.find(at); staged != staged_.end() && !places_[at].device.is_shared())
          TENON_TRY(queue.write(places_[at].device, staged->second.data(), staged->second.size()));
  awaited_ = part;
  return {};
}

// ---- running ----

Result<uint32_t> PartedLaunch::run(Queue& queue, uint32_t iterations, Feed* feed) {
  for (const Argument& argument : arguments_)
    if (!argument.updated && !(argument.feed && feed)) TENON_TRY(send(queue, argument));
  uint32_t done = 0;
  for (bool stopped = false; done < iterations && !stopped; ++done) {
    if (feed && !feed->next(done, feeds_)) break;
    if (feed) take(feeds_);
    for (const Argument& argument : arguments_)
      if (argument.updated || (argument.feed && feed)) TENON_TRY(send(queue, argument));
    TENON_TRY(iterate(queue, done));
    if (feed) feed->release(done);
    TENON_ASSIGN(stopped, stops(queue));
  }
  if (done > 0)
    for (const Output& output : last_) TENON_TRY(keep(queue, output, 0));
  return done;
}

// A batch, in the order of FEED inputs.
void PartedLaunch::take(const std::vector<Buffer*>& feeds) {
  size_t next = 0;
  for (size_t slot = 0; slot < arguments_.size(); ++slot)
    if (arguments_[slot].feed) set_input(static_cast<int>(slot), *feeds[next++]);
}

// Its copy on the host, for moved nodes.
Status PartedLaunch::send(Queue& queue, const Argument& argument) {
  if (argument.place < 0) return {};
  const Place& place = places_[argument.place];
  for (size_t u = 0; u < place.host.size(); ++u)
    TENON_TRY(queue.read(*argument.buffer, place.host[u].host(), place.bytes, u * place.bytes));
  return {};
}

Status PartedLaunch::iterate(Queue& queue, uint32_t i) {
  begun_ = awaited_ = -1;
  for (Part& part : parts_) {
    TENON_TRY(await(queue, part.awaits));
    for (const auto& [own, whole] : part.scalars)
      for (Launch& launch : part.launches)
        std::visit([&, scalar = own](auto value) { launch.set_scalar(0, scalar, value); },
                   scalars_[i * static_cast<size_t>(executable_.n_scalars) + static_cast<size_t>(whole)]);
    TENON_TRY(run_part(queue, part));
  }
  TENON_TRY(await(queue, begun_));
  for (const Output& output : next_) TENON_TRY(update(queue, output));
  for (const Output& output : each_) TENON_TRY(keep(queue, output, i));
  return {};
}

Status PartedLaunch::run_part(Queue& queue, Part& part) {
  if (part.exchanges()) return begin_exchange(queue, part);
  for (Launch& launch : part.launches) TENON_TRY((part.on_host() ? host_queue_ : queue).run(launch, 1).status());
  for (const int at : part.crossing) TENON_TRY(cross(queue, places_[at], part.on_host()));
  return {};
}

Status PartedLaunch::cross(Queue& queue, const Place& place, bool from_host) {
  for (size_t u = 0; u < place.host.size(); ++u)
    TENON_TRY(from_host ? queue.write(place.device, place.host[u].host(), place.bytes, u * place.bytes)
                        : queue.read(place.device, place.host[u].host(), place.bytes, u * place.bytes));
  return {};
}

// Row i of a result, or all of it.
Status PartedLaunch::keep(Queue& queue, const Output& output, uint32_t i) {
  const Place& place = places_[output.place];
  const bool split = graph_.results[output.result].split;
  const uint64_t units = split ? units_ : 1, bytes = place.bytes * units;
  const Buffer& to = *results_[output.result];
  if (!place.from_host && (place.split == split || units == 1)) return queue.copy(to, i * bytes, place.device, 0, bytes);
  for (uint64_t u = 0; u < units; ++u) {
    const uint64_t from = place.split ? u : 0;
    if (place.from_host)
      std::memcpy(row_.data() + u * place.bytes, place.host[from].host(), place.bytes);
    else
      TENON_TRY(queue.read(place.device, row_.data() + u * place.bytes, place.bytes, from * place.bytes));
  }
  return queue.write(to, row_.data(), bytes, i * bytes);
}

// Writes a state's next value, once all parts have read the one before.
Status PartedLaunch::update(Queue& queue, const Output& output) {
  const Place& place = places_[output.place];
  const Buffer& state = *arguments_[executable_.slot[graph_.results[output.result].alias]].buffer;
  return place.from_host ? queue.write(state, place.host[0].host(), place.bytes)
                         : queue.copy(state, 0, place.device, 0, place.bytes);
}

Result<bool> PartedLaunch::stops(Queue& queue) {
  for (const Output& output : until_) {
    const Place& place = places_[output.place];
    uint8_t stop = 0;
    if (place.from_host)
      std::memcpy(&stop, place.host[0].host(), 1);
    else
      TENON_TRY(queue.read(place.device, &stop, 1));
    if (stop) return true;
  }
  return false;
}

}  // namespace tenon
