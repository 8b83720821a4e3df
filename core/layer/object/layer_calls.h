// What the layers that a function calls are and give, noted while somebody asks: for a summary.
#pragma once

#include <string>
#include <vector>

#include "tenon/types.h"

namespace tenon {

struct LayerCall {
  std::string name, class_name;        // "model/dense_1", "Dense"
  int depth = 0;                       // of layers that it was called in
  std::vector<Type> results;           // with the batch of this trace
  std::vector<std::string> variables;  // that it has built, those of layers that it calls among them
  bool trainable = true;
};

// While it lives, each call of a layer on this thread is noted when it ends.
class NotedCalls {
 public:
  explicit NotedCalls(std::vector<LayerCall>* to);
  ~NotedCalls();
  NotedCalls(const NotedCalls&) = delete;
  NotedCalls& operator=(const NotedCalls&) = delete;
  // Where to; nullptr: nobody asks.
  static std::vector<LayerCall>* noting();

 private:
  std::vector<LayerCall>* before_;
};

}  // namespace tenon
