// An ONNX file as plain data: what it says, checked, and nothing that it means. Values have names; nodes stand in an order in which
// each uses what is there.
//
// Numbers of a file are never believed: sizes are held against the bytes that there are before anything is allocated, and external
// data lies in the file's own directory or the file is refused. Errors are one line that names the file, what was expected and found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/status.h"

namespace tenon::onnx {

// ONNX's numbers of element types.
enum class Element : int32_t {
  kNone = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBF16 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,
  kI2 = 26,
};
std::string element_name(Element element);  // "f32", "u16", "string"; "element type 99"
// What a tensor of it is in a graph: narrow integers in i32 or i64, narrow floats in f32; kNone: nothing, as for strings.
DType stored_as(Element element);
Element element_of(DType dtype);
int64_t element_bits(Element element);  // in a file; 0: none

// The bytes of a tensor, in memory or in a file beside the model's.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual int64_t size() const = 0;
  virtual Status read(std::span<std::byte> out) const = 0;  // all of them
};

struct TensorData {
  std::string name;
  Element element = Element::kNone;
  std::vector<int64_t> dims;
  std::shared_ptr<const Bytes> bytes;  // little-endian, row-major, as many as the type says
  std::vector<std::string> strings;    // of kString

  int64_t elements() const;
  std::string str() const;  // "f32[3,4]"
};
// Its numbers as stored_as says. kUnsupported where that is nothing.
Result<Array> to_array(const TensorData& tensor);

struct GraphData;

struct AttrData {
  enum class Kind : uint8_t { kReal, kInteger, kText, kTensor, kGraph, kReals, kIntegers, kTexts, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  std::vector<double> reals;      // one or a list
  std::vector<int64_t> integers;  // one or a list
  std::vector<std::string> texts;
  std::shared_ptr<const TensorData> tensor;
  std::shared_ptr<const GraphData> graph;
  std::string refers_to;  // in a function: the attribute of the call that it is
};

struct NodeData {
  std::string op, domain, name;              // domain "": ONNX's own
  std::vector<std::string> inputs, outputs;  // "": absent
  std::vector<AttrData> attrs;

  const AttrData* attr(std::string_view name) const;
  std::string str() const;  // "Conv 'layer1/conv'", or by its first output where it has no name
};

struct DimData {
  int64_t size = -1;  // -1: any
  std::string name;   // of one that is any
};

struct ValueData {
  std::string name;
  Element element = Element::kNone;  // kNone: no tensor, or not said
  bool has_shape = false;
  std::vector<DimData> dims;
};

// Outputs are values of nodes, initializers or inputs; each value has one origin. A body of If and its like also uses values of the
// graphs around it.
struct GraphData {
  std::vector<NodeData> nodes;
  std::vector<TensorData> initializers;
  std::vector<ValueData> inputs;  // those that initializers give a default are not among them
  std::vector<ValueData> outputs;
};

using Opsets = std::map<std::string, int64_t>;  // version by domain

// An op that the file defines by others.
struct FunctionData {
  std::vector<std::string> inputs, outputs;
  std::vector<AttrData> defaults;
  std::vector<NodeData> nodes;
  Opsets opsets;
};

struct OnnxFile {
  std::string path;
  int64_t ir_version = 0;
  std::string producer;
  Opsets opsets;
  GraphData graph;
  std::map<std::string, FunctionData> functions;  // by "DOMAIN:NAME"
};

Result<OnnxFile> open_file(const std::string& path);
// `path` is for messages, and where external data is looked for; "": there is none.
Result<OnnxFile> parse_file(std::string bytes, const std::string& path);
// A TensorProto alone, as input_0.pb of ONNX's test cases.
Result<TensorData> open_tensor(const std::string& path);

}  // namespace tenon::onnx
