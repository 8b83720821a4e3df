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
  find_awaited();
  TENON_TRY(allocate_exchanged());
  for (Part& part : parts_)
    if (!part.exchanges()) TENON_TRY(lay_out(part));
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
    places_.push_back({static_cast<uint64_t>(graph_.type(v).bytes()), graph_.type(v).shape,
                       graph_.replicas > 1 && units_ > 1 && varying_[v]});
  }
  return place_[v];
}

Type PartedLaunch::joined(const Place& place, const Type& type) const {
  Type out = type;
  if (place.split && type.shape.rank() == 0) out.shape = Shape({1});
  if (place.split) out.shape.set(0, out.shape[0] * graph_.replicas);
  return out;
}

Status PartedLaunch::allocate(Place& place, const Type& type, bool host) {
  if (host) {
    const size_t units = place.split ? static_cast<size_t>(graph_.replicas) : 1;
    while (place.host.size() < units) {
      TENON_ASSIGN(Buffer buffer, host_->allocate(type, true));
      place.host.push_back(std::move(buffer));
    }
  } else if (!place.device) {
    TENON_ASSIGN(Buffer buffer, executable_.device->allocate(joined(place, type), place.exchanged, place.split));
    place.device = std::make_shared<const Buffer>(std::move(buffer));
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
    part.launches[u].set_input(slot, part.on_host() ? place.host[place.split ? u : 0] : *place.device);
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
    part.launches[u].set_result(static_cast<int>(r), part.on_host() ? place.host[place.split ? u : 0] : *place.device);
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
    TENON_TRY(from_host ? queue.write(*place.device, place.host[u].host(), place.bytes, u * place.bytes)
                        : queue.read(*place.device, place.host[u].host(), place.bytes, u * place.bytes));
  return {};
}

// Row i of a result, or all of it.
Status PartedLaunch::keep(Queue& queue, const Output& output, uint32_t i) {
  const Place& place = places_[output.place];
  const bool split = graph_.results[output.result].split;
  const uint64_t units = split ? units_ : 1, bytes = place.bytes * units;
  const Buffer& to = *results_[output.result];
  if (!place.from_host && (place.split == split || units == 1))
    return queue.copy(to, i * bytes, *place.device, 0, bytes);
  for (uint64_t u = 0; u < units; ++u) {
    const uint64_t from = place.split ? u : 0;
    if (place.from_host)
      std::memcpy(row_.data() + u * place.bytes, place.host[from].host(), place.bytes);
    else
      TENON_TRY(queue.read(*place.device, row_.data() + u * place.bytes, place.bytes, from * place.bytes));
  }
  return queue.write(to, row_.data(), bytes, i * bytes);
}

// Writes a state's next value, once all parts have read the one before.
Status PartedLaunch::update(Queue& queue, const Output& output) {
  const Place& place = places_[output.place];
  const auto alias = static_cast<size_t>(graph_.results[output.result].alias);
  const Buffer& state = *arguments_[executable_.slot[alias]].buffer;
  if (place.from_host) return queue.write(state, place.host[0].host(), place.bytes);
  const auto bytes = static_cast<uint64_t>(graph_.type(graph_.inputs[alias].value).bytes());
  return queue.copy(state, 0, *place.device, 0, bytes * (graph_.inputs[alias].split ? units_ : 1));
}

Result<bool> PartedLaunch::stops(Queue& queue) {
  for (const Output& output : until_) {
    const Place& place = places_[output.place];
    uint8_t stop = 0;
    if (place.from_host)
      std::memcpy(&stop, place.host[0].host(), 1);
    else
      TENON_TRY(queue.read(*place.device, &stop, 1));
    if (stop) return true;
  }
  return false;
}

}  // namespace tenon
