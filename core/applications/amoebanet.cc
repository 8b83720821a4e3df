#include <array>

#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

enum class Step : uint8_t { kNone, k1x1, k3x3, k1x7, kMax2, kMax3, kMean3 };

// Five sums of two states each: the cell's input, what came before it, and the sums so far. States that no sum takes are its
// result.
struct Cell {
  std::array<Step, 10> steps;
  std::array<size_t, 10> states;
  std::array<bool, 7> taken;
};
constexpr Cell kNormal{{Step::k1x1, Step::kMax3, Step::kNone, Step::k1x7, Step::k1x1, Step::k1x7, Step::kMax3,
                        Step::kNone, Step::kMean3, Step::k1x1},
                       {1, 1, 1, 0, 0, 0, 2, 2, 1, 5},
                       {false, true, true, false, false, true, false}};
constexpr Cell kReduction{{Step::kMax2, Step::kMax3, Step::kNone, Step::k3x3, Step::k1x7, Step::kMax3, Step::kNone,
                           Step::kMax2, Step::kMean3, Step::k1x1},
                          {0, 0, 2, 1, 2, 2, 3, 1, 2, 3},
                          {true, true, true, true, false, false, false}};

class Amoeba {
 public:
  explicit Amoeba(double dropped) : dropped_(dropped) {}

  Map cell(const Cell& cell, const Map& in, const std::optional<Map>& before, int64_t filters, int64_t stride,
           const std::string& name) const {
    const Map beside = before ? as_large(*before, in, filters, name) : in;
    std::vector<Map> states{rectified(in, filters, 1, 1, name + "/1x1", name + "/beginning_bn"), beside};
    for (size_t i = 0; i < 10; i += 2) {
      const std::string sum = cat(name, "/comb_iter_", i / 2);
      const auto side = [&](size_t j, const char* which) {
        const size_t from = cell.states[j];
        return stepped(states[from], cell.steps[j], filters, from < 2 ? stride : 1, sum + which);
      };
      const Map left = side(i, "/left"), right = side(i + 1, "/right");
      states.push_back(add(left, right, sum + "/combine"));
    }
    return joined(states, cell, name + "/cell_output");
  }

  static Map plain(const Map& x, int64_t filters, const Extent& kernel, const Extent& strides, Padding padding,
                   const std::string& name) {
    return conv(x, {.filters = filters,
                    .kernel = kernel,
                    .strides = strides,
                    .padding = padding,
                    .use_bias = false,
                    .kernel_initializer = fan_out_kernel(),
                    .name = name});
  }
  static Map normed(const Map& x, const std::string& name) {
    return norm(x, {.momentum = 0.9997, .epsilon = 1e-3, .name = name});
  }

 private:
  static Map rectified(const Map& x, int64_t filters, const Extent& kernel, const Extent& strides,
                       const std::string& name, const std::string& norm_name) {
    return normed(plain(act(x, relu, name + "_relu"), filters, kernel, strides, same, name), norm_name);
  }

  // Half the places, no pixel of them lost.
  static Map halved(const Map& x, int64_t filters, const std::string& name) {
    const auto every_other = [&](const Map& from, const std::string& path) {
      const Map y = average_pool(from, {.pool_size = 1, .strides = Extent(2), .name = name + path + "_pool"});
      return plain(y, filters / 2, 1, 1, same, name + path + "_conv");
    };
    const Map first = every_other(x, "/path1");
    Map moved = pad(x, {0, 1, 0, 1}, name + "/path2_pad");
    moved = {Cropping2D({1, 0, 1, 0}, name + "/path2_crop")(moved.x), x.height, x.width, x.channels};
    const Map second = every_other(moved, "/path2");
    return normed(concat({first, second}, name + "/path_concat"), name + "/final_path_bn");
  }

  static Map as_large(const Map& before, const Map& in, int64_t filters, const std::string& name) {
    if (before.width != in.width) return halved(act(before, relu, name + "/prev_relu"), filters, name);
    if (before.channels == filters) return before;
    return rectified(before, filters, 1, 1, name + "/prev_1x1", name + "/prev_bn");
  }

  // A convolution of a quarter of the filters, between two of 1x1.
  Map narrowed(const Map& in, Step step, int64_t filters, int64_t stride, const std::string& name) const {
    const int64_t few = filters / 4;
    Map x = rectified(in, few, 1, 1, name + "/pre_1x1", name + "/pre_bn");
    if (step == Step::k3x3) {
      x = rectified(x, few, 3, stride, name + "/3x3", name + "/bn");
    } else {
      x = rectified(x, few, {1, 7}, {1, stride}, name + "/1x7", name + "/bn_1x7_7x1");
      x = rectified(x, few, {7, 1}, {stride, 1}, name + "/7x1", name + "/bn");
    }
    return rectified(x, filters, 1, 1, name + "/post_1x1", name + "/post_bn");
  }

  static Map pooled_step(const Map& in, Step step, int64_t filters, int64_t stride, const std::string& name) {
    const PoolLayerOptions options{
        .pool_size = step == Step::kMax2 ? 2 : 3, .strides = Extent(stride), .padding = same, .name = name + "/pool"};
    const Map x = step == Step::kMean3 ? average_pool(in, options) : max_pool(in, options);
    return x.channels == filters ? x : normed(plain(x, filters, 1, 1, same, name + "/1x1"), name + "/bn_1");
  }

  Map stepped(const Map& in, Step step, int64_t filters, int64_t stride, const std::string& name) const {
    const bool same_size = stride == 1 && in.channels == filters;
    if (step == Step::kNone) return same_size ? in : rectified(in, filters, 1, stride, name + "/1x1", name + "/bn_1");
    Map x = in;
    if (step == Step::k1x1)
      x = rectified(in, filters, 1, stride, name + "/1x1", name + "/bn_1");
    else if (step == Step::k3x3 || step == Step::k1x7)
      x = narrowed(in, step, filters, stride, name);
    else
      x = pooled_step(in, step, filters, stride, name);
    return dropped_ > 0 ? apply(x, DropPath(dropped_, name + "/drop_path")) : x;
  }

  static Map joined(const std::vector<Map>& states, const Cell& cell, const std::string& name) {
    Maps left;
    for (size_t i = 0; i < states.size(); ++i) {
      if (cell.taken[i]) continue;
      const Map& last = states.back();
      Map state = states[i];
      const std::string reduction = cat(name, "/reduction_", i);
      if (state.width != last.width)
        state = halved(state, last.channels, reduction);
      else if (state.channels != last.channels)
        state = normed(plain(state, last.channels, 1, 1, same, reduction + "/path_conv"), reduction + "/path_bn");
      left.push_back(state);
    }
    return concat(left, name);
  }

  double dropped_;
};

}  // namespace

Model AmoebaNetD(const Options& options) {
  expect_options(options, "AmoebaNetD", {.dropout = true, .drop_connect = true, .cells = true});
  const int64_t cells = options.num_layers.value_or(18), filters = options.num_filters.value_or(256);
  if (cells < 3 || cells > 1000) fail("applications: num_layers is ", cells, ", expected 3 to 1000");
  if (filters < 16 || filters % 16 != 0 || filters > (1 << 20))
    fail("applications: num_filters is ", filters, ", expected a multiple of 16");
  const Map input = image(options, {.size = 331, .any = false});
  const Amoeba amoeba(options.drop_connect_rate.value_or(0));
  Map x = Amoeba::normed(Amoeba::plain(input, 32, 3, 2, valid, "stem/conv0"), "stem/conv0_bn");
  std::optional<Map> before;
  const auto next = [&](const Cell& cell, int64_t n, int64_t stride, const std::string& name) {
    const Map y = amoeba.cell(cell, x, before, n, stride, name);
    before = x;
    x = y;
  };
  next(kReduction, filters / 4, 2, "cell_stem_0");
  next(kReduction, filters / 2, 2, "cell_stem_1");
  int64_t wide = filters;
  for (int64_t i = 0, reductions = 0; i < cells; ++i) {
    if (reductions < 2 && i == (reductions + 1) * cells / 3) {
      wide *= 2;
      next(kReduction, wide, 2, cat("reduction_cell_", reductions++));
    }
    next(kNormal, wide, 1, cat("cell_", i));
  }
  x = act(x, relu, "final_layer/relu");
  Top top = named_top();
  top.dropout = options.dropout.value_or(0.5);
  return finish(input, x, options, "amoebanet_d", top);
}

}  // namespace tenon::applications
