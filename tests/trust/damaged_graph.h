// A graph for a backend to read, damaged in one place.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "tenon/plugin/graph.h"

namespace tenon::conformance {

// A graph in bytes that end before a page which nobody may read.
class DamagedGraph {
 public:
  explicit DamagedGraph(const tenon_graph& graph) : header_(graph) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    room_ = (graph.data_size + 63) / 64 * 64;
    mapped_ = (room_ + page - 1) / page * page + page;
    auto* base =
        static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED || mprotect(base + mapped_ - page, page, PROT_NONE) != 0) std::_Exit(2);
    base_ = base;
    header_.data = base + mapped_ - page - room_;
    std::memcpy(data(), graph.data, graph.data_size);
  }
  ~DamagedGraph() { munmap(base_, mapped_); }
  DamagedGraph(const DamagedGraph&) = delete;
  DamagedGraph& operator=(const DamagedGraph&) = delete;

  tenon_graph& header() { return header_; }
  uint8_t* data() { return base_ + (mapped_ - static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) - room_); }
  template <class T>
  T* element(const tenon_array& array, uint64_t i) {
    return reinterpret_cast<T*>(data() + array.at + i * array.stride);
  }

 private:
  tenon_graph header_;
  uint8_t* base_ = nullptr;
  uint64_t room_ = 0, mapped_ = 0;
};

// One place of a graph, drawn by a seed, and what is written there: a size, an offset, an id, an attribute or a pointer.
class Damage {
 public:
  Damage(DamagedGraph& graph, uint64_t seed) : g_(graph), random_(seed * 0x9E3779B97F4A7C15u + 1) {}

  // Does it, and says what in words; nothing where the graph has no such place.
  std::string make();

 private:
  template <class T>
  void set(T* number);
  template <class T>
  T* pick(const tenon_array& array);
  std::string header();
  std::string value();
  std::string node();
  std::string id();
  std::string attribute();
  std::string payload();
  std::string input();
  std::string result();
  std::string constant();

  DamagedGraph& g_;
  std::mt19937_64 random_;
};

}  // namespace tenon::conformance
