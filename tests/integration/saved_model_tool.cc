// Writes SavedModels and ONNX's models, and beside them what they have to answer, so that the answers of TensorFlow and ONNX Runtime can
// be held against it (share/interop).
//   saved_model_tool corpus DIRECTORY [OP..]       every op of forward passes, by the conformance suite's cases
//   saved_model_tool models DIRECTORY IMAGES [NAME..]   small models with variables and frozen, for batches of 1, 3 and 8
#include "integration/saved_model_tool.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/file/file.h"

namespace tenon {

void make_directory(const std::string& path) { std::filesystem::create_directories(path); }

void write_file(const std::string& path, std::string_view bytes) { check(atomic_write(path, bytes)); }

}  // namespace tenon

int main(int argc, char** argv) {
  const std::string_view what = argc > 2 ? argv[1] : "";
  const auto names = [&](int from) { return std::set<std::string>(argv + std::min(from, argc), argv + argc); };
  try {
    if (what == "corpus")
      tenon::write_corpus_models(argv[2], names(3));
    else if (what == "models" && argc > 3)
      tenon::write_models(argv[2], argv[3], names(4));
    else
      return std::fprintf(stderr,
                          "usage: saved_model_tool corpus DIRECTORY [OP..] | models DIRECTORY IMAGES [NAME..]\n"),
             2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "saved_model_tool: %s\n", e.what());
    return 1;
  }
  return 0;
}
