// Shows the models of the catalogue to another program, and runs them for it (share/interop/check_applications.py).
//   application_tool list
//   application_tool layers NAME [OPTION=VALUE..]
//   application_tool predict NAME WEIGHTS ROWS [OPTION=VALUE..]  f32s of the images on stdin, of what it gives on stdout
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include "base/strings.h"
#include "tenon/applications.h"

namespace tenon {
namespace {

using applications::Application;
using applications::Options;

const Application& named(const std::string& name) {
  const Application* found = applications::find(name);
  if (!found) fail("application_tool: no application '", name, "'");
  return *found;
}

Options options_of(int argc, char** argv, int first) {
  Options o;
  for (int i = first; i < argc; ++i) {
    const std::string word = argv[i], key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    if (key == "include_top")
      o.include_top = value == "1";
    else if (key == "size")
      o.input_shape = {std::stoll(value), std::stoll(value), 3};
    else if (key == "pooling")
      o.pooling = value;
    else if (key == "classes")
      o.classes = std::stoll(value);
    else if (key == "alpha")
      o.alpha = std::stod(value);
    else if (key == "depth_multiplier")
      o.depth_multiplier = std::stoll(value);
    else if (key == "minimalistic")
      o.minimalistic = value == "1";
    else if (key == "include_preprocessing")
      o.include_preprocessing = value == "1";
    else if (key == "imagenet_weights")
      o.imagenet_weights = value == "1";
    else if (key == "classifier_activation")
      o.classifier_activation = value;
    else
      fail("application_tool: no option '", key, "'");
  }
  return o;
}

void print_layers(Model model) {
  const int64_t parameters = model.count_params();
  for (const AnyLayer& layer : model.layers()) std::cout << "layer\t" << layer->name() << "\n";
  std::cout << "parameters\t" << parameters << "\n";
}

void predict(Model model, const std::string& weights, int64_t rows) {
  model.load_weights(weights);
  const std::string bytes((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  const auto side =
      static_cast<int64_t>(std::sqrt(static_cast<double>(values.size()) / static_cast<double>(3 * rows)) + 0.5);
  const Array out = model.predict(Array(values, {rows, side, side, 3}), {.batch_size = rows})[0];
  std::fwrite(out.bytes().data(), 1, out.bytes().size(), stdout);
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "list") {
    for (const Application& a : applications::all()) std::cout << a.name << "\n";
  } else if (what == "layers" && argc > 2) {
    print_layers(named(argv[2]).build(options_of(argc, argv, 3)));
  } else if (what == "predict" && argc > 4) {
    predict(named(argv[2]).build(options_of(argc, argv, 5)), argv[3], std::stoll(argv[4]));
  } else {
    fail("application_tool: expected list, layers or predict");
  }
  return 0;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  try {
    return tenon::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
