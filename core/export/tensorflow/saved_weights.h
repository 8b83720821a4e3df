// Variables of TensorFlow's graph, with the ops that save and restore them; or constants in their place.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "export/portable_graph.h"
#include "export/tensorflow/graph_def.h"
#include "tenon/array.h"

namespace tenon::tensorflow {

class Weights {
 public:
  using Values = std::function<Result<Array>(const std::string& variable)>;
  // With `frozen` they are constants with these values.
  Weights(NodeWriter* nodes, const Values& frozen) : nodes_(nodes), frozen_(frozen) {}

  // What the variable is read as; one that was asked for before is the same. Throws Error.
  Ref value(const std::string& name, const PortableValue& type);
  // SaverDef, ops and collections, where there are variables. After all values.
  void finish(MetaGraphDef& meta);

 private:
  struct Resource {
    std::string name;  // in files
    DType dtype;
    Ref handle, read, initial, initializer;
  };

  Ref constant(const std::string& name, const Type& type);
  Ref resource(const std::string& name, const Type& type);
  Ref strings(const std::string& name, const std::vector<std::string>& values);
  Ref write_save(const Ref& file, const Ref& names, const Ref& slices, const Field& types);
  std::string write_restore(const Ref& file, const Ref& names, const Ref& slices, const Field& types);

  NodeWriter* nodes_;
  const Values& frozen_;
  std::map<std::string, Ref> values_;
  std::vector<Resource> resources_;
  int64_t bytes_ = 0;  // of constants
};

// Protocol buffers end there.
constexpr int64_t kMostGraphBytes = (int64_t{1} << 31) - 1;

}  // namespace tenon::tensorflow
