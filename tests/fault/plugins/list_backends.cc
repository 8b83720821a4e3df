// Prints each backend that is found and each refusal; with an argument, opens that device instead.
#include <cstdio>

#include "backend/registry.h"

int main(int argc, char** argv) {
  if (argc > 1) {
    const auto device = tenon::open_device(argv[1]);
    std::printf("%s\n", device.ok() ? "opened" : device.status().message().c_str());
    return device.ok() ? 0 : 1;
  }
  const tenon::Discovery found = tenon::discover_backends();
  for (const auto& d : found.directories) std::printf("directory %s\n", d.c_str());
  for (const auto& b : found.backends) std::printf("backend %s %s\n", b.name.c_str(), b.path.c_str());
  for (const auto& r : found.refusals) std::printf("refused %s: %s\n", r.path.c_str(), r.cause.c_str());
}
