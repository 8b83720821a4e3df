// The description of a cluster for `tenon preflight --cluster FILE` (share/doc/preflight.md).
#pragma once

#include <optional>
#include <string>

#include "tenon/scaling.h"

namespace tenon::runner {

struct ClusterFile {
  Cluster cluster;
  MeasuredStep step;
  double input_examples_per_s = 0;  // of a host; 0: it does not say
};

// Throws Error with one line. What it has from other files, which are named from where it is, is read too.
ClusterFile read_cluster_file(const std::string& path);

}  // namespace tenon::runner
