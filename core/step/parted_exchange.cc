// What processes do together between the parts of a step.
#include <algorithm>
#include <cstring>

#include "step/feed/host_watch.h"
#include "step/parted_launch.h"

namespace tenon {

using Work = ExchangeGroup::Work;

Status PartedLaunch::lay_out_exchange(Part& part) {
  TENON_ASSIGN(const std::vector<ExchangeGroup> groups,
               exchange_groups(part.placed.program.graph, part.placed.takes, part.placed.gives, units_, varying_));
  const auto exchanged = [&](ValueId v) {
    const int at = place_of(v);
    places_[at].exchanged = true;
    return at;
  };
  for (const ExchangeGroup& group : groups) {
    Together& together = part.together.emplace_back(group);
    for (const ValueId v : group.from) together.from.push_back(exchanged(v));
    for (const ValueId v : group.to) together.to.push_back(exchanged(v));
  }
  return {};
}

void PartedLaunch::find_awaited() {
  std::vector<TakenAndGiven> parts;
  for (const Part& part : parts_) parts.push_back({part.placed.kind, &part.placed.takes, &part.placed.gives});
  const std::vector<int> awaited = awaited_exchanges(parts);
  for (size_t p = 0; p < parts_.size(); ++p) parts_[p].awaits = awaited[p];
}

// Places whose memory exchanges read or write. It is used again by such as come once all who need what lies there are through.
Status PartedLaunch::allocate_exchanged() {
  const int end = static_cast<int>(parts_.size());
  std::vector<int> first(places_.size(), end), last(places_.size(), -1);
  std::vector<Type> types(places_.size());
  const auto is_done_by = [&](int exchange) {
    int p = exchange;
    while (p < end && parts_[static_cast<size_t>(p)].awaits < exchange) ++p;
    return p;
  };
  for (int p = 0; p < end; ++p) {
    const Part& part = parts_[static_cast<size_t>(p)];
    const int through = part.exchanges() ? is_done_by(p) : p;
    for (const auto* values : {&part.placed.takes, &part.placed.gives})
      for (const ValueId v : *values)
        if (const int at = place_[v]; at >= 0) {
          types[at] = graph_.type(v);
          first[at] = std::min(first[at], p);
          last[at] = std::max(last[at], through);
        }
  }
  for (const tenon::Output& r : graph_.results)
    if (const int at = place_[r.value]; at >= 0) last[at] = end;
  std::vector<int> order, holders;  // the place that has each piece of memory last
  for (int at = 0; at < static_cast<int>(places_.size()); ++at)
    if (places_[at].exchanged) order.push_back(at);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return first[a] < first[b]; });
  for (const int at : order) {
    const auto fits = [&](int before) {
      return last[before] < first[at] && types[before] == types[at] && places_[before].split == places_[at].split;
    };
    const auto free = std::find_if(holders.begin(), holders.end(), fits);
    if (free == holders.end()) {
      TENON_TRY(allocate(places_[at], types[at], false));
      holders.push_back(at);
    } else {
      places_[at].device = places_[*free].device;
      *free = at;
    }
  }
  return {};
}

uint64_t PartedLaunch::bytes_of(const Part& exchange) {
  uint64_t bytes = 0;
  for (const Together& together : exchange.together)
    for (const ReducedArray& array : together.arrays) bytes += array.bytes;
  return bytes;
}

// The values are laid out as they lie in memory that processes see.
Status PartedLaunch::begin_exchange(Queue& queue, Part& part) {
  const auto memory = [&](int at) {
    Place& place = places_[at];
    if (place.device->is_shared()) return static_cast<std::byte*>(place.device->host());
    std::vector<std::byte>& staged = staged_[at];
    staged.resize(place.bytes * (place.split ? units_ : 1));
    return staged.data();
  };
  for (Together& together : part.together) {
    together.arrays.resize(together.from.size());
    for (size_t k = 0; k < together.from.size(); ++k) {
      const Place& place = places_[together.from[k]];
      std::byte* const from = memory(together.from[k]);
      if (!place.device->is_shared())
        TENON_TRY(queue.read(*place.device, from, place.bytes * (place.split ? units_ : 1)));
      ReducedArray& array = together.arrays[k];
      const bool one = together.does.work == Work::kJoin;
      array.from.resize(one ? 1 : units_);
      for (size_t u = 0; u < array.from.size(); ++u) array.from[u] = from + (place.split ? u * place.bytes : 0);
      array.to = memory(together.to[k]);
      array.bytes = one ? places_[together.to[k]].bytes : place.bytes;
    }
  }
  TENON_ASSIGN(World* const world, World::join());
  part.ticket = world->post([this, &part, world](Wire& wire, Reducer& reducer) -> Status {
    const uint64_t start = steady_ps();
    for (const Together& together : part.together) TENON_TRY(exchange(wire, reducer, together));
    if (ExchangeWatch* const watch = world->watch())
      watch->exchanged(part.placed.program.graph.nodes[0].name, bytes_of(part), start, steady_ps());
    return {};
  });
  begun_ = static_cast<int>(&part - parts_.data());
  return {};
}

Status PartedLaunch::exchange(Wire& wire, Reducer& reducer, const Together& together) {
  switch (together.does.work) {
    case Work::kReduce:
      return reducer.all_reduce(together.does.kind, together.does.dtype, together.arrays);
    case Work::kDeal:
      return reducer.reduce_scatter(ReduceKind::kSum, together.does.dtype, together.arrays);
    case Work::kJoin:
      return reducer.all_gather(together.arrays);
    case Work::kGather:
      break;
  }
  return gather_parts(wire, together);
}

// All replicas' parts, along an axis.
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
    for (int i = 0; i < together.does.axis; ++i) before *= static_cast<size_t>(shape[i]);
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
        if (const auto staged = staged_.find(at); staged != staged_.end() && !places_[at].device->is_shared())
          TENON_TRY(queue.write(*places_[at].device, staged->second.data(), staged->second.size()));
  awaited_ = part;
  return {};
}

}  // namespace tenon
