// Winograd's F(4x4, 3x3): a 3x3 convolution of stride 1, four by four results at a time, in 36 products a pair of
// channels instead of 144. Y = A^T [(G g G^T) . (B^T d B)] A for a tile d of 6x6 points and a filter g, the products
// summed over channels (A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", 2015,
// arXiv:1509.09308). The gradient of the filter is its transpose: dg = G^T [(B^T d B) . (A dy A^T)] G.
//
// Polynomials are taken at 0, +-a, +-b and infinity: with a = 3/4 and b = 3/2 the errors are a quarter of those at the
// usual 1 and 2, for as much work, and all of A and B is exact. s = a^2 + b^2 = 2.8125, p = a^2 b^2 = 1.265625:
//
//        p     0     -s   0  1  0        64/81   0    0
//        0  -a b^2  -b^2  a  1  0          k    k a  k a^2          1   1    1   1    1   0
//  B^T = 0   a b^2  -b^2 -a  1  0    G =   k   -k a  k a^2    A^T = 0   a   -a   b   -b   0
//        0  -b a^2  -a^2  b  1  0          l    l b  l b^2          0  a^2  a^2 b^2  b^2  0
//        0   b a^2  -a^2 -b  1  0          l   -l b  l b^2          0  a^3 -a^3 b^3 -b^3  1
//        0     p      0  -s  0  1          0     0    1       with k = -128/243, l = 32/243
//
// Here are those transforms, over many tiles and channels. A transformed tile, filter or sum is 36 planes; each holds
// rows (a tile, or a channel of the source) of channels side by side.
#pragma once

#include "kernels/element.h"
#include "kernels/gemm/gemm_tile.h"

namespace tenon::cpu::TENON_CPU_ISA {

constexpr int kWinogradStep = 4;     // results of a tile each way
constexpr int kWinogradPlanes = 36;  // 6 x 6

// Where element [plane, row, channel] is: rows begin at 64 bytes, planes do not share the sets of a cache.
struct Planes {
  int64_t pitch = 0, plane = 0;  // floats from a row to the next, from a plane to the next
  Planes() = default;
  Planes(int64_t rows, int64_t channels) : pitch(round_up(channels, 16)), plane(rows * pitch + 16) {}
  int64_t floats() const { return kWinogradPlanes * plane; }
};

// The tiles of a batch, row by row, image by image.
struct TileGrid {
  int64_t rows = 0, columns = 0;  // of an image
  int64_t per_image() const { return rows * columns; }
};

// Images that are read or written in tiles; tile (i, j) of an image begins at point (4 i - low, 4 j - low).
struct TiledImages {
  int64_t h = 0, w = 0, c = 0, low_h = 0, low_w = 0;
};

// Channels [first, first + n), at most kTileChannels of them, of the tiles of a slice, as B^T d B: outside the images
// there are zeros. Channels up to the next vector's end become zero. Points are f32 or bf16.
constexpr int64_t kTileChannels = 128;
template <class T>
void transform_images(const T* from, const TiledImages& images, const TileGrid& grid, Slice tiles, int64_t first,
                      int64_t n, const Planes& planes, float* to);
// The same of tiles of 4x4 points, as A dy A^T.
template <class T>
void transform_slopes(const T* from, const TiledImages& images, const TileGrid& grid, Slice tiles, int64_t first,
                      int64_t n, const Planes& planes, float* to);

// Filters [3, 3, rows, n], taps `tap` floats apart and rows `row`, as G g G^T.
void transform_filters(const float* from, int64_t tap, int64_t row, int64_t rows, int64_t n, const Planes& planes,
                       float* to);
// Sums of products to the gradient of filters, G^T s G, laid out as above.
void restore_filters(const float* from, const Planes& planes, int64_t rows, int64_t n, int64_t tap, int64_t row,
                     float* to);

// What happens to a result on its way out. Pointers at the first of its channels.
struct TileEpilogue {
  const float* bias = nullptr;
  ColumnNorm norm;
  const float* residual = nullptr;  // laid out as the result; nullptr where that is bf16
  int act = TENON_ACT_NONE;
  float alpha = 0;
};
// Sums of products to results, A^T s A: n channels of the tiles of a slice. `to` is the images' first point. Results of
// bf16 take no activation but a ReLU.
template <class T>
void restore_images(const float* from, const Planes& planes, Slice tiles, const TileGrid& grid,
                    const TiledImages& images, int64_t n, const TileEpilogue& epilogue, T* to);

}  // namespace tenon::cpu::TENON_CPU_ISA
