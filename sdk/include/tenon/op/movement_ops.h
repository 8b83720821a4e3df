// Ops that move, order and fold elements; collectives; images.
// Rows of the table of ops: tenon/op/table.h.
#pragma once

#include "tenon/op/row.h"

namespace tenon::op {

// clang-format off
inline constexpr Row kMovementOps[] = {
    {"reshape",
     "x:A ; shape:list -> y",
     Level::kInfers, Category::kMovement, Values::kMoved, {Units::kRows}, 1, "",
     "The same elements in row-major order under another shape."},
    {"transpose",
     "x:A ; perm:list -> y",
     Level::kInfers, Category::kMovement, Values::kMoved, {Units::kTranspose}, 1, "",
     "Reorders the axes: axis i of the result is axis perm[i] of x."},
    {"broadcast",
     "x:A ; shape:list dims:list= -> y",
     Level::kInfers, Category::kMovement, Values::kMoved, {Units::kBroadcast}, 1, "BroadcastTo",
     "Repeats x: its axis i becomes axis dims[i] of the result, whose size there is equal, or any if x's is 1. dims "
     "increase; the other axes of the result are new."},
    {"slice",
     "x:A ; start:list limit:list stride:list=1 -> y",
     Level::kInfers, Category::kMovement, Values::kMoved, {Units::kSlice}, 1, "StridedSlice",
     "Elements start, start + stride, .. below limit of each axis."},
    {"pad",
     "x:A ; low:list high:list interior:list=0 value:f64=0 -> y",
     Level::kInfers, Category::kMovement, Values::kTaken, {Units::kPad}, 1, "PadV2",
     "Puts `low` elements before, `high` after and `interior` between those of each axis, all of one value."},
    {"concat",
     "x:A.. ; axis:i64 -> y",
     Level::kInfers, Category::kMovement, Values::kTaken, {Units::kAxis}, 1, "ConcatV2",
     "Joins tensors along one axis; the other axes are equal."},
    {"reverse",
     "x:A ; axes:list -> y",
     Level::kTrains, Category::kMovement, Values::kMoved, {Units::kAxes}, 1, "ReverseV2",
     "Reverses the order of the elements along the axes."},
    {"gather",
     "x:A i:I ; axis:i64 batch:i64=0 -> y",
     Level::kInfers, Category::kMovement, Values::kTaken, {Units::kGather}, 1, "GatherV2",
     "Takes entries along one axis: y[b,p,j,s] = x[b,p,i[b,j],s], where b are the first `batch` axes, p those up to "
     "`axis`, s those after. An index outside [0, n) reads 0."},
    {"scatter",
     "x:A i:I u:A ; axis:i64 batch:i64=0 kind:enum(scatter)=0 -> y",
     Level::kTrains, Category::kMovement, Values::kComputed, {Units::kScatter}, 1, "TensorScatterAdd",
     "x with updates put in along one axis, gather's transpose: y[b,p,i[b,j],s] += or = u[b,p,j,s], as if in "
     "row-major order of u. An index outside [0, n) writes nothing; for set, the last wins."},
    {"sort",
     "x:N ; k:i64 descending:bool=false -> values indices",
     Level::kTrains, Category::kSort, Values::kChosen, {Units::kLastAxis}, 60, "TopKV2",
     "The first k of each row of the last axis in order, stable, and their i32 positions. NaN sorts above +inf."},
    {"reduce",
     "x:M ; axes:list kind:enum(reduce) -> y",
     Level::kInfers, Category::kReduction, Values::kComputed, {Units::kReduce}, 1, "",
     "Folds the axes away by sum, prod, max or min; of bools max is or, min is and. Nothing folded is a copy; sums "
     "of bf16 and f16 accumulate in f32. NaN wins max and min."},
    {"all_gather",
     "x:A ; axis:i64 group:i64=0 replicas:i64=1 -> y",
     Level::kTrains, Category::kCollective, Values::kTaken, {}, 0, "AllToAll",
     "Joins the replicas' tensors along one axis in replica order. `group` replicas in a row belong together (0: "
     "all); `replicas` is how many take part."},
    {"argmax",
     "x:N ; axis:i64 kind:enum(extreme)=2 -> y",
     Level::kComposite, Category::kReduction, Values::kComputed, {Units::kAxis}, 3, "ArgMax",
     "The lowest i32 index along one axis of the largest element (kind max) or the smallest (min). The first NaN "
     "wins."},
    {"cumsum",
     "x:N ; axis:i64 exclusive:bool=false reverse:bool=false -> y",
     Level::kComposite, Category::kReduction, Values::kComputed, {Units::kAxis}, 14, "",
     "Sums of the elements up to each one along an axis: with it, or before it when exclusive; from the end when "
     "reverse. bf16 and f16 are summed in f32."},
    {"global_norm",
     "x:F.. -> y",
     Level::kComposite, Category::kReduction, Values::kComputed, {}, 2, "L2Loss",
     "The square root of the sum of the squares of all elements of all operands, a scalar: f64 if one of them is, "
     "else f32. Its gradient at all zeros is 0."},
    {"all_reduce",
     "x:N.. ; kind:enum(reduce)=0 group:i64=0 replicas:i64=1 -> y",
     Level::kComposite, Category::kCollective, Values::kComputed, {}, 0, "CrossReplicaSum",
     "Folds each operand over the replicas by sum, prod, max or min, in replica order; every replica gets the "
     "result. `group` replicas in a row belong together (0: all); `replicas` is how many take part. One result an "
     "operand."},
    {"reduce_scatter",
     "x:N ; axis:i64 group:i64=0 replicas:i64=1 -> y",
     Level::kComposite, Category::kCollective, Values::kComputed, {}, 0, "CrossReplicaSum",
     "Sums over the replicas of a group in replica order and gives each its part, in order, along one axis, whose "
     "size divides by `replicas`, the number that take part."},
    {"resize",
     "x:F ; h:i64 w:i64 method:enum(resize)=1 coords:enum(coords)=1 -> y",
     Level::kComposite, Category::kImage, Values::kComputed, {Units::kRows}, 12, "",
     "Images x[N,H,W,C] made [N,h,w,C]: the nearest pixel or the bilinear mix of four. Result i of an axis lies at "
     "i H/h (legacy, whose nearest rounds down), (i + 0.5) H/h - 0.5 (half_pixel) or i (H-1)/(h-1) (align_corners); "
     "places outside take the edge. Nothing is averaged when an image gets smaller."},
    {"affine_image",
     "x:A theta:F ; h:i64 w:i64 method:enum(resize)=1 fill:enum(fill)=0 -> y",
     Level::kComposite, Category::kImage, Values::kComputed, {Units::kRows}, 40, "ImageProjectiveTransformV3",
     "Images x[N,H,W,C] read through theta[N,8] = a0 a1 a2 b0 b1 b2 c0 c1: pixel (x, y) of the h x w result lies at "
     "((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1, and is the nearest pixel (halves up) "
     "or the bilinear mix. fill says what is outside: 0, the edge, the mirrored or the repeated image; k = 0 gives "
     "0 (TensorFlow's ImageProjectiveTransformV3). Integers are mixed in f32 and truncated."},
    {"crop_flip",
     "x:A top:I left:I flip:B ; h:i64 w:i64 -> y",
     Level::kComposite, Category::kImage, Values::kComputed, {Units::kRows}, 1, "RandomCrop",
     "Cuts h x w pixels out of each image of x[N,H,W,C] at its own top[N] and left[N], mirrored left to right where "
     "flip[N]; what lies outside the image is 0."},
};
// clang-format on

}  // namespace tenon::op
