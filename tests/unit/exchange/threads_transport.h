// A job whose processes are threads: messages wait in a mailbox.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "exchange/wire.h"
#include "tenon/plugin/transport.h"

namespace tenon {

class Mailbox {
 public:
  // On one machine, or on two in turn.
  explicit Mailbox(uint32_t count, bool one_host = false) : one_host_(one_host), places_(count) {
    for (uint32_t r = 0; r < count; ++r) places_[r] = {this, r, {}, {}};
  }

  tenon_transport transport(uint32_t rank) {
    tenon_transport t{};
    t.struct_size = sizeof t;
    t.version = TENON_TRANSPORT_VERSION;
    t.rank = rank;
    t.count = static_cast<uint32_t>(places_.size());
    t.self = &places_[rank];
    t.name = "threads";
    t.host = [](void* self, uint32_t r) {
      return static_cast<Place*>(self)->box->one_host_ || r % 2 == 0 ? "even" : "odd";
    };
    t.send = send;
    t.receive = receive;
    t.poll = poll;
    t.abort = [](void*, int32_t) {};
    t.close = [](void*) {};
    return t;
  }

  // Runs work(wire, rank) for each process, and waits for all.
  void run(const std::function<void(Wire&, int)>& work) {
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < places_.size(); ++r)
      threads.emplace_back([&, r] {
        Wire wire(transport(r));
        work(wire, static_cast<int>(r));
      });
    for (std::thread& t : threads) t.join();
  }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // from, to, tag
  struct Wanted {
    Key key;
    void* to;
    uint64_t bytes, token;
  };
  struct Place {
    Mailbox* box = nullptr;
    uint32_t rank = 0;
    std::deque<Wanted> wanted;
    std::vector<uint64_t> done;
  };

  static tenon_status send(void* self, uint32_t to, uint32_t tag, const void* data, uint64_t bytes, uint64_t token) {
    Place& place = *static_cast<Place*>(self);
    const std::lock_guard lock(place.box->mutex_);
    const auto* const from = static_cast<const char*>(data);
    place.box->messages_[{place.rank, to, tag}].emplace_back(from, from + bytes);
    place.done.push_back(token);
    return {};
  }
  static tenon_status receive(void* self, uint32_t from, uint32_t tag, void* data, uint64_t bytes, uint64_t token) {
    Place& place = *static_cast<Place*>(self);
    place.wanted.push_back({{from, place.rank, tag}, data, bytes, token});
    return {};
  }
  static tenon_status poll(void* self, uint64_t* tokens, uint32_t room, uint32_t* n) {
    Place& place = *static_cast<Place*>(self);
    const std::lock_guard lock(place.box->mutex_);
    for (auto w = place.wanted.begin(); w != place.wanted.end();) {
      std::deque<std::vector<char>>& here = place.box->messages_[w->key];
      if (here.empty()) {
        ++w;
        continue;
      }
      if (here.front().size() != w->bytes) return {TENON_INTERNAL, 0, "another size"};
      std::memcpy(w->to, here.front().data(), w->bytes);
      here.pop_front();
      place.done.push_back(w->token);
      w = place.wanted.erase(w);
    }
    for (*n = 0; *n < room && !place.done.empty(); ++*n) {
      tokens[*n] = place.done.back();
      place.done.pop_back();
    }
    return {};
  }

  const bool one_host_;
  std::mutex mutex_;
  std::map<Key, std::deque<std::vector<char>>> messages_;
  std::vector<Place> places_;
};

}  // namespace tenon
