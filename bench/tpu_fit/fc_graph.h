// The training step of a dense network for one core, as the core hands it to a backend: `layers` hidden layers of `nodes`
// with ReLU and an output layer, softmax cross entropy, gradients summed over the cores, RMSProp with momentum.
#pragma once

#include <string>
#include <vector>

#include "tenon/plugin/graph_builder.h"

namespace tpu_fit {

struct FcNet {
  int64_t layers = 1, nodes = 1, input = 1, output = 1;
  int64_t batch = 1;  // of one core
};

class FcGraph {
 public:
  explicit FcGraph(const FcNet& net) : net_(net) {}

  tenon::plugin::FlatGraph build() {
    const uint32_t x = b_.input(TENON_F32, {net_.batch, net_.input}, TENON_ROLE_FEED, "image", TENON_SPLIT);
    const uint32_t label = b_.input(TENON_F32, {net_.batch, net_.output}, TENON_ROLE_FEED, "label", TENON_SPLIT);
    for (int64_t i = 0; i <= net_.layers; ++i) state(i);
    step_ = b_.input(TENON_I64, {}, TENON_ROLE_STATE, "global_step");
    lr_ = b_.input(TENON_F32, {}, TENON_ROLE_SCALAR, "learning_rate");
    forward(x);
    const uint32_t loss = losses(label);
    backward();
    reduce_and_update();
    b_.result(loss, TENON_MODE_EACH);
    return b_.build();
  }

 private:
  struct Layer {
    int64_t in = 0, out = 0;
    uint32_t w = 0, bias = 0, w_slots[2] = {}, bias_slots[2] = {}, inputs = 0;
    uint32_t x = 0, y = 0, dw = 0, dbias = 0;
  };

  uint32_t value(const std::vector<int64_t>& dims, int32_t dtype = TENON_F32) { return b_.value(dtype, dims); }

  void state(int64_t i) {
    Layer layer;
    layer.in = i == 0 ? net_.input : net_.nodes;
    layer.out = i == net_.layers ? net_.output : net_.nodes;
    layer.inputs = n_inputs_;
    const auto add = [&](const std::vector<int64_t>& dims, const std::string& name) {
      ++n_inputs_;
      return b_.input(TENON_F32, dims, TENON_ROLE_STATE, "dense_" + std::to_string(i) + name);
    };
    layer.w = add({layer.in, layer.out}, "/kernel");
    layer.w_slots[0] = add({layer.in, layer.out}, "/kernel/v");
    layer.w_slots[1] = add({layer.in, layer.out}, "/kernel/u");
    layer.bias = add({layer.out}, "/bias");
    layer.bias_slots[0] = add({layer.out}, "/bias/v");
    layer.bias_slots[1] = add({layer.out}, "/bias/u");
    layers_.push_back(layer);
  }

  void forward(uint32_t x) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      Layer& layer = layers_[i];
      layer.x = x;
      layer.y = x = value({net_.batch, layer.out});
      b_.node("dot_bias_act", {layer.x, layer.w, layer.bias}, {x}).name(name("dense", i));
      b_.attr_enum("act", i + 1 < layers_.size() ? TENON_ACT_RELU : TENON_ACT_NONE);
    }
  }

  uint32_t losses(uint32_t label) {
    const uint32_t rows = value({net_.batch}), lse = value({net_.batch}), sum = value({}), mean = value({});
    const float share = 1.0f / static_cast<float>(net_.batch);
    const uint32_t scale = b_.constant(TENON_F32, {}, &share, sizeof share);
    const uint32_t logits = layers_.back().y;
    b_.node("softmax_cross_entropy", {logits, label}, {rows, lse}).name("loss");
    b_.node("reduce", {rows}, {sum}).name("reduce").attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
    b_.node("mul", {sum, scale}, {mean}).name("mean");
    const uint32_t each = value({net_.batch});
    b_.node("broadcast", {scale}, {each}).name("each").attr_list("shape", {net_.batch});
    gradient_ = value({net_.batch, net_.output});
    b_.node("softmax_cross_entropy_grad", {each, logits, label, lse}, {gradient_}).name("loss/grad");
    return mean;
  }

  void backward() {
    for (size_t i = layers_.size(); i-- > 0;) {
      Layer& layer = layers_[i];
      layer.dbias = value({layer.out});
      if (i + 1 == layers_.size()) {
        b_.node("reduce", {gradient_}, {layer.dbias}).name(name("dbias", i));
        b_.attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
      } else {
        const uint32_t dz = value({net_.batch, layer.out});
        b_.node("bias_act_grad", {gradient_, layer.y}, {dz, layer.dbias}).name(name("dz", i));
        b_.attr_enum("act", TENON_ACT_RELU);
        gradient_ = dz;
      }
      const uint32_t dz = gradient_;
      if (i > 0) {
        gradient_ = value({net_.batch, layer.in});
        b_.node("dot", {dz, layer.w}, {gradient_}).name(name("dx", i)).attr_bool("tb", true);
      }
      layer.dw = value({layer.in, layer.out});
      b_.node("dot", {layer.x, dz}, {layer.dw}).name(name("dw", i)).attr_bool("ta", true);
    }
  }

  void reduce_and_update() {
    std::vector<uint32_t> gradients, sums;
    for (Layer& layer : layers_) {
      gradients.insert(gradients.end(), {layer.dw, layer.dbias});
      sums.insert(sums.end(), {value({layer.in, layer.out}), value({layer.out})});
    }
    b_.node("all_reduce", gradients, sums).name("gradients/all_reduce").attr_enum("kind", TENON_REDUCE_SUM);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      update(name("kernel", i), layer.w, sums[2 * i], layer.w_slots, {layer.in, layer.out}, layer.inputs);
      update(name("bias", i), layer.bias, sums[2 * i + 1], layer.bias_slots, {layer.out}, layer.inputs + 3);
    }
  }

  void update(const std::string& name, uint32_t p, uint32_t g, const uint32_t* slots, const std::vector<int64_t>& dims,
              uint32_t first_input) {
    const uint32_t out[] = {value(dims), value(dims), value(dims)};
    b_.node("rmsprop_update", {p, g, lr_, step_, TENON_NONE, TENON_NONE, TENON_NONE, slots[0], slots[1]},
            {out[0], out[1], out[2]});
    b_.name(name).attr_f64("rho", 0.9).attr_f64("mu", 0.9).attr_f64("eps", 1e-10);
    for (uint32_t k = 0; k < 3; ++k) b_.result(out[k], TENON_MODE_LAST, 1 + first_input + k);
  }

  static std::string name(const char* what, size_t i) { return std::string(what) + "_" + std::to_string(i); }

  FcNet net_;
  tenon::plugin::GraphBuilder b_;
  std::vector<Layer> layers_;
  uint32_t n_inputs_ = 2, step_ = 0, lr_ = 0, gradient_ = 0;
};

}  // namespace tpu_fit
