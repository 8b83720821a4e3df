// What a model is made of, as Keras prints it.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/strings.h"
#include "model/display/summary_table.h"
#include "model/model_order.h"
#include "model/model_trace.h"
#include "model/model_training.h"

namespace tenon {

// The rows of a model, from what it is put together of and what was noted when it was traced.
class ModelSummary {
 public:
  ModelSummary(const ModelTrace& trace, bool expand_nested) : trace_(trace), expand_nested_(expand_nested) {}

  SummaryTable table(const Model& model) {
    SummaryTable out;
    out.model = model.name();
    add_rows(model, 0, &out);
    for (const auto& [name, weight] : trace_.weights)
      add_to(weight.type, weight.trainable ? &out.trainable : &out.other);
    return out;
  }

  static void add_to(const Type& type, SummaryCount* count) {
    count->elements += type.shape.elements();
    count->bytes += type.bytes();
  }

 private:
  using Node = Symbol::Node;

  void add_rows(const Model& model, int level, SummaryTable* out) {
    if (const auto* sequential = dynamic_cast<const Sequential*>(&model)) {
      for (const AnyLayer& layer : sequential->layers()) add_layer(*layer, model, level, "-", out);
    } else if (!model.outputs_.empty()) {
      add_functional(model, level, out);
    } else {
      add_called(model, level, out);
    }
  }

  void add_functional(const Model& model, int level, SummaryTable* out) {
    const auto key_of = [&](const Node& node) { return node.layer ? (*node.layer)->name() : input_name(model, node); };
    const ModelOrder order = order_of(*model.inputs_, model.outputs_, key_of);
    if (level == 0) out->branching = order.branching;
    for (const OrderedLayer& layer : order.layers) {
      const std::string connected = level == 0 ? connections(model, order, layer) : "-";
      if (const Node& first = *layer.calls[0]; first.layer) {
        add_layer(**first.layer, model, level, connected, out);
      } else {
        std::vector<int64_t> shape = first.example.shape.vec();
        for (const int axis : first.any_size) shape[static_cast<size_t>(axis)] = kUnknownSize;
        shape.insert(shape.begin(), kUnknownSize);
        out->rows.push_back({indented(layer.key, level), "InputLayer", {shape}, 0, "-", '-'});
      }
    }
  }

  // A model with a call() of its own has the layers that it called.
  void add_called(const Model& model, int level, SummaryTable* out) {
    const TracedLayer* own = traced(model.name());
    if (!own) return;
    const int depth = own->depth + 1;
    const auto end = static_cast<size_t>(own - trace_.layers.data());
    size_t begin = end;
    while (begin > 0 && trace_.layers[begin - 1].depth >= depth) --begin;
    std::vector<std::string> done;
    for (size_t i = begin; i < end; ++i) {
      const TracedLayer& layer = trace_.layers[i];
      if (layer.depth != depth || std::find(done.begin(), done.end(), layer.name) != done.end()) continue;
      done.push_back(layer.name);
      out->rows.push_back(row_of(layer, model, level, "-"));
    }
  }

  void add_layer(const Layer& layer, const Model& parent, int level, const std::string& connected, SummaryTable* out) {
    const TracedLayer* found = traced(layer.name());
    if (!found) fail("summary: the layer '", layer.name(), "' of model '", parent.name(), "' was not called");
    out->rows.push_back(row_of(*found, parent, level, connected));
    const auto* model = dynamic_cast<const Model*>(&layer);
    if (!model) return;
    if (!model->outputs_.empty()) out->rows.back().class_name = "Functional";
    if (expand_nested_) add_rows(*model, level + 1, out);
  }

  SummaryRow row_of(const TracedLayer& layer, const Model& parent, int level, const std::string& connected) const {
    SummaryRow row{indented(short_name(layer.name, parent), level), layer.class_name, layer.shapes, 0, connected, '-'};
    for (const std::string& name : layer.variables)
      if (const auto it = trace_.weights.find(name); it != trace_.weights.end())
        row.params += it->second.type.shape.elements();
    if (!layer.variables.empty()) row.trainable = layer.trainable ? 'Y' : 'N';
    return row;
  }

  // The last call of it.
  const TracedLayer* traced(const std::string& name) const {
    const auto it = std::find_if(trace_.layers.rbegin(), trace_.layers.rend(),
                                 [&](const TracedLayer& layer) { return layer.name == name; });
    return it == trace_.layers.rend() ? nullptr : &*it;
  }

  std::string connections(const Model& model, const ModelOrder& order, const OrderedLayer& layer) const {
    std::vector<std::string> all;
    for (const Node* call : layer.calls)
      for (const Symbol& from : call->from)
        for (const OrderedLayer& other : order.layers)
          if (const auto at = std::find(other.calls.begin(), other.calls.end(), &from.node()); at != other.calls.end())
            all.push_back(cat(short_name(other.key, model), "[", at - other.calls.begin(), "][", from.result(), "]"));
    return all.empty() ? "-" : join(all);
  }

  // Keras's names of inputs that were given none.
  static std::string input_name(const Model& model, const Node& node) {
    if (!node.name.empty()) return node.name;
    size_t number = 0;
    for (const Symbol& input : *model.inputs_) {
      if (&input.node() == &node) break;
      number += input.node().name.empty();
    }
    return number == 0 ? "input_layer" : cat("input_layer_", number);
  }

  static std::string short_name(const std::string& name, const Model& parent) {
    const std::string scope = parent.name() + "/";
    return name.starts_with(scope) ? name.substr(scope.size()) : name;
  }

  static std::string indented(const std::string& name, int level) {
    if (level == 0) return name;
    std::string out;
    for (int i = 0; i < level; ++i) out += "   ";
    return out + "└ " + name;
  }

  const ModelTrace& trace_;
  bool expand_nested_;
};

namespace {

SummaryLayout layout_of_stdout(const SummaryOptions& options) {
  SummaryLayout layout{.line_length = options.line_length, .show_trainable = options.show_trainable};
  if (::isatty(STDOUT_FILENO) != 1) return layout;
  const char* no_color = std::getenv("NO_COLOR");
  layout.colours = !(no_color && *no_color);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) layout.columns = size.ws_col;
  return layout;
}

}  // namespace

SummaryTable Model::summarized(const SummaryOptions& options) {
  if (options.line_length < 0) fail("summary: line_length is ", options.line_length, ", expected 0 or more");
  SummaryTable table = ModelSummary(traced("summary"), options.expand_nested).table(*this);
  if (!compiled_->training) return table;
  const std::vector<std::string> names = compiled_->training->optimizer_variables();
  if (!names.empty()) table.optimizer.emplace();
  for (const auto& v : compiled_->training->strategy.variables())
    if (std::find(names.begin(), names.end(), v.name) != names.end()) ModelSummary::add_to(v.type, &*table.optimizer);
  return table;
}

std::string Model::summary_text(const SummaryOptions& options) {
  return to_text(summarized(options), {.line_length = options.line_length, .show_trainable = options.show_trainable});
}

void Model::summary(const SummaryOptions& options) {
  const std::string text = to_text(summarized(options), layout_of_stdout(options));
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace tenon
