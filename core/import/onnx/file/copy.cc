// A model's file with all that it needs, elsewhere.
#include "import/onnx/file/copy.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/within_memory.h"
#include "import/onnx/file/scan.h"
#include "import/onnx/file/tensor_data.h"
#include "tenon/onnx.h"
#include "tenon/text.h"

namespace tenon::onnx {
namespace {

constexpr size_t kCopiedPiece = size_t{1} << 20;
constexpr int64_t kTagBytes = 16;  // what a field's tag and length take, at most

// Calls visit(TensorProto&) of all tensors of a model; scan_model has bounded how deep graphs lie in graphs.
template <class Visit>
class EachTensor {
 public:
  explicit EachTensor(Visit visit) : visit_(std::move(visit)) {}

  Status of(ModelProto& model) {
    TENON_TRY(of(*model.mutable_graph()));
    for (FunctionProto& function : *model.mutable_functions()) {
      TENON_TRY(of(*function.mutable_attribute_proto()));
      for (NodeProto& node : *function.mutable_node()) TENON_TRY(of(*node.mutable_attribute()));
    }
    return {};
  }

 private:
  Status of(GraphProto& graph) {
    for (TensorProto& tensor : *graph.mutable_initializer()) TENON_TRY(visit_(tensor));
    for (NodeProto& node : *graph.mutable_node()) TENON_TRY(of(*node.mutable_attribute()));
    return {};
  }
  Status of(google::protobuf::RepeatedPtrField<AttributeProto>& attributes) {
    for (AttributeProto& one : attributes) {
      if (one.has_t()) TENON_TRY(visit_(*one.mutable_t()));
      for (TensorProto& tensor : *one.mutable_tensors()) TENON_TRY(visit_(tensor));
      if (one.has_g()) TENON_TRY(of(*one.mutable_g()));
      for (GraphProto& graph : *one.mutable_graphs()) TENON_TRY(of(graph));
    }
    return {};
  }

  Visit visit_;
};

template <class Visit>
Status each_tensor(ModelProto& model, Visit visit) {
  return EachTensor<Visit>(std::move(visit)).of(model);
}

bool is_external(const TensorProto& tensor) { return tensor.data_location() == TensorProto::EXTERNAL; }

Result<ModelProto> model_in(const std::string& path) {
  TENON_ASSIGN(const std::string bytes, read_file(path, kMostMessageBytes));
  TENON_TRY(scan_model(bytes));
  ModelProto model;
  if (!model.ParseFromString(bytes) || !model.has_graph()) return invalid("it is no ONNX model");
  return model;
}

std::string* location_of(TensorProto& tensor) {
  for (StringStringEntryProto& entry : *tensor.mutable_external_data())
    if (entry.key() == "location") return entry.mutable_value();
  return nullptr;
}

class ToFile : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit ToFile(AtomicFile& file) : file_(file) {}
  bool Write(const void* data, int bytes) override {
    if (status_.ok()) status_ = file_.write(data, static_cast<size_t>(bytes));
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  AtomicFile& file_;
  Status status_;
};

Status write_model(const ModelProto& model, const std::string& to) {
  return atomic_write(to, [&](AtomicFile& file) -> Status {
    ToFile out(file);
    google::protobuf::io::CopyingOutputStreamAdaptor stream(&out);
    const bool written = model.SerializeToZeroCopyStream(&stream) && stream.Flush();
    return written || !out.status().ok() ? out.status() : invalid("the model is too large to write");
  });
}

Status copy_file(const File& from, const std::string& to) {
  return atomic_write(to, [&](AtomicFile& file) -> Status {
    std::string piece(kCopiedPiece, '\0');
    for (int64_t at = 0; at < from.size(); at += static_cast<int64_t>(piece.size())) {
      piece.resize(std::min(kCopiedPiece, static_cast<size_t>(from.size() - at)));
      TENON_TRY(from.read_exactly_at(at, piece.data(), piece.size()));
      TENON_TRY(file.write(piece));
    }
    return {};
  });
}

// Its external data become its own.
Status take_inside(ModelProto& model, ExternalFiles& files) {
  return each_tensor(model, [&](TensorProto& tensor) -> Status {
    if (!is_external(tensor)) return {};
    TENON_ASSIGN(const TensorData data, tensor_of(tensor, files));
    std::string raw(data.bytes ? static_cast<size_t>(data.bytes->size()) : 0, '\0');
    if (data.bytes) TENON_TRY(data.bytes->read({reinterpret_cast<std::byte*>(raw.data()), raw.size()}));
    tensor.set_raw_data(std::move(raw));
    tensor.clear_external_data();
    tensor.clear_data_location();
    return {};
  });
}

// Its external files lie beside `to`, under its name.
Status take_beside(ModelProto& model, ExternalFiles& files, const std::string& to) {
  const std::string stem = to.substr(to.find_last_of('/') + 1) + ".data";
  std::map<std::string, std::string> names;
  return each_tensor(model, [&](TensorProto& tensor) -> Status {
    std::string* const location = is_external(tensor) ? location_of(tensor) : nullptr;
    if (!location) return {};
    std::string& name = names[*location];
    if (name.empty()) {
      name = names.size() == 1 ? stem : cat(stem, "-", names.size() - 1);
      TENON_ASSIGN(const std::shared_ptr<const File> file, files.open(*location));
      TENON_TRY(copy_file(*file, directory_of(to) + "/" + name));
    }
    *location = name;
    return {};
  });
}

Status copied(const std::string& path, const std::string& to, int64_t most) {
  TENON_ASSIGN(ModelProto model, model_in(path));
  ExternalFiles files(directory_of(path));
  auto total = static_cast<int64_t>(model.ByteSizeLong());
  bool any = false;
  TENON_TRY(each_tensor(model, [&](TensorProto& tensor) -> Status {
    if (!is_external(tensor)) return {};
    TENON_ASSIGN(const TensorData data, tensor_of(tensor, files));
    any = true;
    if (total <= most) total += kTagBytes + (data.bytes ? data.bytes->size() : 0);
    return {};
  }));
  if (!any) {
    model.Clear();
    TENON_ASSIGN(const File file, File::open(path));
    return copy_file(file, to);
  }
  if (total <= most) {
    TENON_TRY(take_room(static_cast<uint64_t>(total), "an ONNX model"));
    TENON_TRY(take_inside(model, files));
  } else {
    TENON_TRY(take_beside(model, files, to));
  }
  return write_model(model, to);
}

// A model without its tensors' bytes, and these.
struct Parts {
  std::string rest;
  std::vector<std::shared_ptr<const Bytes>> tensors;
};

Result<Parts> parts_of(const std::string& path) {
  TENON_ASSIGN(ModelProto model, model_in(path));
  ExternalFiles files(directory_of(path));
  Parts out;
  TENON_TRY(each_tensor(model, [&](TensorProto& tensor) -> Status {
    if (!is_external(tensor) && !tensor.has_raw_data()) return {};
    TENON_ASSIGN(TensorData data, tensor_of(tensor, files));
    out.tensors.push_back(std::move(data.bytes));
    tensor.clear_raw_data();
    tensor.clear_external_data();
    tensor.clear_data_location();
    return {};
  }));
  out.rest = model.SerializeAsString();
  return out;
}

Result<std::string> text_of(const Bytes& bytes) {
  TENON_TRY(take_room(static_cast<uint64_t>(bytes.size()), "a tensor"));
  std::string out(static_cast<size_t>(bytes.size()), '\0');
  TENON_TRY(bytes.read({reinterpret_cast<std::byte*>(out.data()), out.size()}));
  return out;
}

Result<bool> have_same_parts(const std::string& a, const std::string& b) {
  TENON_ASSIGN(const Parts one, parts_of(a));
  TENON_ASSIGN(const Parts other, parts_of(b));
  if (one.rest != other.rest || one.tensors.size() != other.tensors.size()) return false;
  for (size_t i = 0; i < one.tensors.size(); ++i) {
    const std::shared_ptr<const Bytes>&x = one.tensors[i], &y = other.tensors[i];
    if (!x || !y || x->size() != y->size()) {
      if (!x && !y) continue;
      return false;
    }
    TENON_ASSIGN(const std::string left, text_of(*x));
    TENON_ASSIGN(const std::string right, text_of(*y));
    if (left != right) return false;
  }
  return true;
}

Status told_of(const Status& status, const std::string& path) {
  return status.ok() ? status : Status(status.code(), terminal_text(cat("ONNX file '", path, "': ", status.message())));
}

}  // namespace

Status copy_file_with_data(const std::string& path, const std::string& to, int64_t most) {
  return told_of(within_memory("read", path, [&] { return copied(path, to, most); }), path);
}

}  // namespace tenon::onnx

namespace tenon {

Status copy_onnx(const std::string& path, const std::string& to) {
  return onnx::copy_file_with_data(path, to, onnx::kMostMessageBytes);
}

Result<bool> is_same_onnx(const std::string& a, const std::string& b) {
  return within_memory("read", a, [&] { return onnx::have_same_parts(a, b); });
}

}  // namespace tenon
