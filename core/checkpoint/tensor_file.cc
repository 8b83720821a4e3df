#include "checkpoint/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/names/slot_names.h"
#include "base/process/job.h"
#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/forms/file_form.h"
#include "checkpoint/model_directory.h"

namespace tenon {
namespace {

constexpr std::string_view kRead =
    "read are .safetensors, .safetensors.index.json, .weights.h5, .keras, .h5, .pt, .pth and a checkpoint's PREFIX";
constexpr std::string_view kForms =
    "expected NAME.safetensors, NAME.weights.h5, or NAME for TensorFlow's NAME.index and NAME.data-00000-of-00001";

// Elements whose exponent is all ones: infinity and NaN.
template <class Bits>
bool all_finite(std::span<const std::byte> piece, Bits exponent) {
  for (size_t at = 0; at + sizeof(Bits) <= piece.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &piece[at], sizeof bits);
    if ((bits & exponent) == exponent) return false;
  }
  return true;
}

}  // namespace

bool all_finite(DType dtype, std::span<const std::byte> piece) {
  switch (dtype) {
    case DType::kF32:
      return all_finite<uint32_t>(piece, 0x7f800000);
    case DType::kF64:
      return all_finite<uint64_t>(piece, 0x7ff0000000000000);
    case DType::kBF16:
      return all_finite<uint16_t>(piece, 0x7f80);
    case DType::kF16:
      return all_finite<uint16_t>(piece, 0x7c00);
    default:
      return true;
  }
}

bool is_safetensors(std::string_view path) { return path.ends_with(".safetensors"); }

TensorFile::TensorFile(SafetensorsReader reader) : path_(reader.path()), reader_(std::move(reader)) {
  take(std::get<SafetensorsReader>(reader_).entries());
}

TensorFile::TensorFile(SafetensorsShards reader) : path_(reader.path()), reader_(std::move(reader)) {
  take(std::get<SafetensorsShards>(reader_).entries());
}

void TensorFile::take(const std::map<std::string, SafetensorsEntry, std::less<>>& entries) {
  for (const auto& [name, entry] : entries)
    if (entry.dtype == DType::kNone)
      unread_.emplace(name, entry.str());
    else
      tensors_.emplace(name, Type{entry.dtype, entry.shape});
}

TensorFile::TensorFile(KerasFile reader) : path_(reader.path()), reader_(std::move(reader)) {
  const auto& keras = std::get<KerasFile>(reader_);
  by_position_ = keras.by_position();
  unnamed_ = keras.unnamed();
  places_ = keras.places();
  for (const auto& [name, dataset] : keras.tensors())
    if (const DType dtype = dtype_of(dataset->type); dtype != DType::kNone)
      tensors_.emplace(name, Type{dtype, Shape(dataset->dims)});
    else
      unread_.emplace(name, cat(dataset->text, "[", join(dataset->dims, ","), "]"));
}

TensorFile::TensorFile(TorchFile reader) : path_(reader.path()), reader_(std::move(reader)) {
  for (const auto& [name, tensor] : std::get<TorchFile>(reader_).tensors())
    if (tensor.dtype != DType::kNone)
      tensors_.emplace(name, Type{tensor.dtype, Shape(tensor.dims)});
    else
      unread_.emplace(name, cat(tensor.type, "[", join(tensor.dims, ","), "]"));
}

TensorFile::TensorFile(BundleReader reader) : path_(reader.prefix()), reader_(std::move(reader)) {
  for (const auto& [name, entry] : std::get<BundleReader>(reader_).entries())
    if (entry.sliced || (entry.dtype == DType::kNone && !entry.is_string))
      unread_.emplace(name, cat(entry.sliced ? "partitioned " : "", entry.str()));
    else if (!entry.is_string)
      tensors_.emplace(name, Type{entry.dtype, entry.shape});
}

// A slot lies below its weight's name; counters are single numbers beside which there is no weight. Files of others have weights alone.
bool TensorFile::is_weight(std::string_view tensor) const {
  const auto note = tensors_.lower_bound("tenon/");
  if (!is_checkpoint() && (note == tensors_.end() || !note->first.starts_with("tenon/"))) return true;
  if (tensor.starts_with("tenon/") || tensor == "global_step") return false;
  for (size_t slash = tensor.find('/'); slash != tensor.npos; slash = tensor.find('/', slash + 1))
    if (tensors_.contains(tensor.substr(0, slash))) return false;
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end() || found->second.shape.rank() > 0) return true;
  const std::string scope = cat(scope_of_weight(tensor), "/");
  for (auto at = tensors_.lower_bound(scope); at != tensors_.end() && at->first.starts_with(scope); ++at)
    if (at->second.shape.rank() > 0 && scope_of_weight(at->first) == scope_of_weight(tensor)) return true;
  return false;
}

namespace {

// Names that other libraries' formats have are no prefixes of a bundle.
Status check_form(std::string_view path, std::string_view forms) {
  for (const std::string_view foreign : {".npz", ".onnx"})
    if (path.ends_with(foreign))
      return invalid("'", path, "': files of ", foreign, " are neither written nor read; ", forms);
  return {};
}

Status check_is_name(std::string_view path) {
  if (path.empty() || path.ends_with('/')) return invalid("'", path, "' names no file; ", kForms);
  if (is_keras_file(path) && !is_keras_weights(path))
    return invalid("'", path, "': of Keras's files .weights.h5 alone is written; ", kForms);
  if (is_torch_file(path)) return invalid("'", path, "': PyTorch's files are not written; ", kForms);
  return check_form(path, kForms);
}

}  // namespace

Result<TensorFile> TensorFile::open(const std::string& path, const std::string& rules) {
  TENON_ASSIGN(TensorFile file, open_as_it_is(path));
  if (rules.empty()) return file;
  TENON_ASSIGN(const WeightRules read, WeightRules::read(rules));
  TENON_TRY(file.apply(read));
  return file;
}

Status TensorFile::apply(const WeightRules& rules) {
  TENON_ASSIGN(taken_, rules.taken(tensors_));
  std::map<std::string, Type, std::less<>> renamed;
  for (const auto& [name, taken] : taken_) renamed.emplace(name, taken.type);
  for (auto layer = by_position_.begin(); layer != by_position_.end();)  // layers that no rule names
    layer = taken_.contains(cat(layer->first, layer->first.empty() ? "" : "/", 0)) ? std::next(layer)
                                                                                   : by_position_.erase(layer);
  unnamed_.clear();
  places_.clear();
  TENON_ASSIGN(unread_, rules.renamed(unread_));
  types_there_ = std::exchange(tensors_, std::move(renamed));
  ruled_ = true;
  return {};
}

Result<TensorFile> TensorFile::open_as_it_is(const std::string& path) {
  TENON_TRY(check_form(path, kRead));
  const auto of = [](auto reader) -> Result<TensorFile> {
    if (!reader.ok()) return reader.status();
    return TensorFile(reader.take());
  };
  TENON_ASSIGN(const FileForm form, form_of(path));
  switch (form) {
    case FileForm::kSafetensors:
      return of(SafetensorsReader::open(path));
    case FileForm::kShards:
      return of(SafetensorsShards::open(path));
    case FileForm::kKeras:
      return of(KerasFile::open(path));
    case FileForm::kTorch:
      return of(TorchFile::open(path));
    case FileForm::kCheckpoint:
      break;
  }
  return of(open_checkpoint(path));
}

Status TensorFile::read_raw(std::string_view name, std::span<std::byte> out) const {
  if (const auto unread = unread_.find(name); unread != unread_.end())
    return unread_tensor(path_, unread->first, unread->second);
  if (!ruled_) return std::visit([&](const auto& reader) { return reader.read(name, out); }, reader_);
  const auto taken = taken_.find(name);
  if (taken == taken_.end()) return invalid("'", path_, "' has no tensor '", abbreviated(name), "'");
  return read_ruled(taken->second, out);
}

Status TensorFile::read_ruled(const WeightRules::Taken& taken, std::span<std::byte> out) const {
  const auto read = [&](std::span<std::byte> to) {
    return std::visit([&](const auto& reader) { return reader.read(taken.from, to); }, reader_);
  };
  if (taken.axes.empty() && taken.parts == 1) return read(out);
  const Type& there = types_there_.find(taken.from)->second;
  const auto size = static_cast<size_t>(there.bytes());
  TENON_TRY(room_for(size, cat("'", abbreviated(taken.from), "' of '", path_, "'")));
  std::vector<std::byte> bytes(size);
  TENON_TRY(read(bytes));
  const size_t part = size / static_cast<size_t>(taken.parts);
  const auto own = std::span(bytes).subspan(part * static_cast<size_t>(taken.part), part);
  if (taken.axes.empty()) return std::copy(own.begin(), own.end(), out.begin()), Status();
  turn_axes(own, taken.turned, taken.axes, dtype_bytes(taken.type.dtype), out);
  return {};
}

Status TensorFile::read(std::string_view name, std::span<std::byte> out) const {
  TENON_TRY(read_raw(name, out));
  const auto found = tensors_.find(name);
  if (found == tensors_.end() || all_finite(found->second.dtype, out)) return {};
  return invalid("'", path_, "': variable '", abbreviated(name), "' holds nan or infinity, expected finite numbers");
}

Result<int64_t> TensorFile::scalar(std::string_view name, int64_t missing) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return missing;
  const Type& type = found->second;
  int64_t value = 0;
  int32_t narrow = 0;
  const bool wide = type.dtype == DType::kI64;
  if (type.shape.elements() != 1 || (!wide && type.dtype != DType::kI32))
    return invalid("'", path_, "': '", abbreviated(name), "' is ", type.str(), ", expected one i64");
  TENON_TRY(
      read(name, wide ? std::as_writable_bytes(std::span(&value, 1)) : std::as_writable_bytes(std::span(&narrow, 1))));
  return wide ? value : int64_t{narrow};
}

bool TensorFile::is_of_tensorflow1() const {
  const auto* bundle = std::get_if<BundleReader>(&reader_);
  const auto note = tensors_.lower_bound("tenon/");
  return bundle && !bundle->find("_CHECKPOINTABLE_OBJECT_GRAPH") &&
         (note == tensors_.end() || !note->first.starts_with("tenon/"));
}

Result<std::string> name_in_file(const TensorFile& file, const std::string& variable) {
  const bool has = file.tensors().contains(variable);
  const auto is_slot = [&](std::string_view slot) { return variable.ends_with(cat("/", slot)); };
  if (has && is_slot(kKerasMomentum) && file.is_of_tensorflow1())
    return invalid("'", file.path(), "': its '", variable,
                   "' is TensorFlow 1's, of the other sign and without the learning ",
                   "rate: Momentum() goes on with it, SGD cannot");
  if (has || !is_slot(kTF1Momentum) || !file.is_of_tensorflow1()) return has ? variable : std::string();
  const std::string theirs = variable.substr(0, variable.size() - kTF1Momentum.size()) + std::string(kKerasMomentum);
  return file.tensors().contains(theirs) ? theirs : std::string();
}

void note_writer(std::vector<TensorSource>& tensors) {
  tensors.push_back({"tenon/writer", {DType::kI64, {}}, [](std::span<std::byte> piece) {
                       std::fill(piece.begin(), piece.end(), std::byte{0});
                       return Status();
                     }});
}

std::map<std::string, std::string> tensors_by_position(const TensorFile::ByPosition& layers,
                                                       const std::vector<std::string>& variables) {
  std::map<std::string, std::vector<const std::string*>> inside;
  for (const std::string& name : variables) {
    const std::string scope(scope_of_weight(name)), nameless = scope_without_names(scope);
    inside[scope].push_back(&name);
    if (nameless != scope) inside[nameless].push_back(&name);
  }
  std::map<std::string, std::string> out;
  for (const auto& [layer, count] : layers) {
    const auto found = inside.find(layer);
    if (found != inside.end())
      std::stable_sort(found->second.begin(), found->second.end(), [](const std::string* a, const std::string* b) {
        return rank_of_weight(leaf_of_weight(*a)) < rank_of_weight(leaf_of_weight(*b));
      });
    if (found == inside.end() || found->second.size() != count) continue;
    for (size_t i = 0; i < count; ++i) out.emplace(layer.empty() ? cat(i) : cat(layer, "/", i), *found->second[i]);
  }
  return out;
}

Status unread_tensor(const std::string& path, const std::string& tensor, const std::string& type) {
  return Status(Code::kUnsupported,
                cat("'", path, "': tensor '", abbreviated(tensor), "' is ", type, ", which Tenon does not read"));
}

Status check_variable(const TensorFile& file, std::string_view name, const Type& type) {
  const auto found = file.tensors().find(name);
  if (const auto unread = file.unread().find(name); unread != file.unread().end())
    return unread_tensor(file.path(), unread->first, unread->second);
  if (found == file.tensors().end()) return invalid("checkpoint ", file.path(), " has no variable '", name, "'");
  if (found->second == type) return {};
  return invalid("checkpoint ", file.path(), ": variable '", name, "' is ", found->second.str(), ", model expects ",
                 type.str());
}

Status write_tensor_file(const std::string& path, std::vector<TensorSource> tensors, const KerasPlaces& places) {
  TENON_TRY(check_is_name(path));
  if (is_keras_weights(path) &&
      std::any_of(tensors.begin(), tensors.end(), [](const TensorSource& t) { return t.name.starts_with("tenon/"); }))
    return invalid("'", path, "' takes weights alone, as save_weights() writes them, not what training is made of");
  return as_first_does([&]() -> Status {
    if (is_safetensors(path)) return write_safetensors(path, std::move(tensors));
    if (is_keras_weights(path)) return write_keras_weights(path, tensors, places);
    TENON_ASSIGN(BundleWriter writer, BundleWriter::create(path));
    for (const TensorSource& tensor : tensors) TENON_TRY(writer.add(tensor.name, tensor.type, tensor.fill));
    return writer.commit();
  });
}

}  // namespace tenon
