#include "tenon/weights_file.h"

#include <algorithm>
#include <set>

#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/forms/file_form.h"
#include "checkpoint/keras/keras_names.h"
#include "checkpoint/tensor_file.h"

namespace tenon {

struct WeightsFile::Impl {
  TensorFile file;
};

WeightsFile::WeightsFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WeightsFile::WeightsFile(WeightsFile&&) noexcept = default;
WeightsFile& WeightsFile::operator=(WeightsFile&&) noexcept = default;
WeightsFile::~WeightsFile() = default;

Result<WeightsFile> WeightsFile::open(const std::string& path, const std::string& rules) {
  TENON_ASSIGN(TensorFile file, TensorFile::open(path, rules));
  return WeightsFile(std::unique_ptr<Impl>(new Impl{std::move(file)}));
}

const std::string& WeightsFile::path() const { return impl_->file.path(); }
const std::map<std::string, Type, std::less<>>& WeightsFile::tensors() const { return impl_->file.tensors(); }

Result<Array> WeightsFile::read(std::string_view name) const {
  const auto found = tensors().find(name);
  if (found == tensors().end()) return invalid("'", path(), "' has no tensor '", abbreviated(name), "'");
  TENON_TRY(room_for(static_cast<uint64_t>(found->second.bytes()), cat("'", abbreviated(name), "' of '", path(), "'")));
  Array value(found->second);
  TENON_TRY(impl_->file.read(name, value.bytes()));
  return value;
}

const std::map<std::string, std::string, std::less<>>& WeightsFile::unread() const { return impl_->file.unread(); }
bool WeightsFile::is_weight(std::string_view name) const { return impl_->file.is_weight(name); }

bool names_checkpoint(const std::string& path) {
  const Result<FileForm> form = form_of(path);
  return form.ok() && *form == FileForm::kCheckpoint;
}

namespace {

// Whether all can be written: a tensor less would not be seen.
Status check_read(const WeightsFile& file) {
  const auto& unread = file.unread();
  if (!unread.empty())
    return Status(Code::kUnsupported,
                  cat("'", file.path(), "': ", unread.size(), unread.size() == 1 ? " tensor is" : " tensors are",
                      " of a type that Tenon does not read, the first '", abbreviated(unread.begin()->first), "' ",
                      unread.begin()->second, "; a rule REGEX -> drop leaves it out"));
  return file.tensors().empty() ? invalid("'", file.path(), "': holds no tensor of numbers") : Status();
}

// Whether Keras finds these layers by their names: it numbers those of a class from 0 on.
Status check_found_by_keras(const std::string& path, const std::vector<TensorSource>& tensors,
                            const KerasPlaces& places) {
  std::map<std::string, std::set<std::string>> layers;  // names by class
  for (const TensorSource& t : tensors) {
    const std::string_view scope = scope_of_weight(t.name);
    if (places.contains(scope)) continue;
    const std::string layer(scope.substr(0, scope.find('/')));
    layers[class_at({"layers", layer}, layer)].insert(layer);
  }
  for (const auto& [kind, names] : layers)
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string expected = i == 0 ? kind : cat(kind, "_", i);
      if (is_weighted_class(kind) && names.contains(expected)) continue;
      return invalid(
          "'", path, "': Keras would not find layer '", abbreviated(*names.begin()),
          "', which it looks for by class and number, as 'layers/conv2d_3': convert from the model's directory, "
          "or from a file of Keras's own");
    }
  return {};
}

}  // namespace

Status WeightsFile::write_to(const std::string& path, bool all) const {
  TENON_TRY(check_read(*this));
  std::vector<TensorSource> sources;
  for (const auto& [name, type] : tensors()) {
    if (!all && !is_weight(name)) continue;
    const auto fill = [this, name = name, value = Array(),
                       at = size_t{0}](std::span<std::byte> piece) mutable -> Status {
      if (at == 0) {
        TENON_ASSIGN(value, read(name));
      }
      std::copy_n(value.bytes().data() + at, piece.size(), piece.data());
      at += piece.size();
      if (at == value.bytes().size()) value = Array(), at = 0;
      return {};
    };
    sources.push_back({name, type, fill});
  }
  const KerasPlaces& places = impl_->file.places();
  if (sources.empty()) return invalid("'", this->path(), "': holds no weights");
  if (is_keras_weights(path)) TENON_TRY(check_found_by_keras(path, sources, places));
  return write_tensor_file(path, std::move(sources), places);
}

}  // namespace tenon
