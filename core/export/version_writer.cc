#include "export/version_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/file/directory_lock.h"
#include "base/file/file.h"
#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "export/onnx/onnx_writer.h"
#include "export/saved_model.h"
#include "export/signatures.h"
#include "export/warm_up.h"
#include "tenon/tfrecord.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// A directory that is gone again unless it is renamed to what it is for.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  ~Unfinished() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return cat(path_, "/", name); }
  Status rename_to(const std::string& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) return file_error("cannot make", path, errno);
    path_.clear();
    return sync_directory(directory_of(path));
  }

 private:
  std::string path_;
};

// What processes that ended left, under the lock of the directory.
void remove_unfinished(const std::string& base) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(base, ignored))
    if (entry.path().filename().string().starts_with(".unfinished-")) fs::remove_all(entry.path(), ignored);
}

Status write_weights(const VersionContents& contents, const std::string& prefix) {
  TENON_ASSIGN(BundleWriter writer, BundleWriter::create(prefix));
  for (const PortableInput& input : contents.model.graph.inputs) {
    if (!input.variable) continue;
    TENON_ASSIGN(const Array value, contents.variable(input.name));
    TENON_TRY(writer.add(input.name, value.type(), value.bytes()));
  }
  return writer.commit();
}

Status write_manifest(const Unfinished& directory, const std::vector<std::string>& files) {
  nlohmann::ordered_json json{{"format", 1}, {"files", nlohmann::ordered_json::object()}};
  for (const std::string& name : files) {
    TENON_ASSIGN(const File file, File::open(directory.file(name)));
    std::vector<char> piece(std::min<int64_t>(std::max<int64_t>(file.size(), 1), 1 << 20));
    uint32_t crc = 0;
    for (int64_t at = 0; at < file.size(); at += static_cast<int64_t>(piece.size())) {
      const auto bytes = static_cast<size_t>(std::min<int64_t>(file.size() - at, static_cast<int64_t>(piece.size())));
      TENON_TRY(file.read_exactly_at(at, piece.data(), bytes));
      crc = crc32c_extend(crc, piece.data(), bytes);
    }
    json["files"][name] = {{"bytes", file.size()}, {"crc32c", crc}};
  }
  return atomic_write(directory.file(cat(kExportedPart, "/manifest.json")), cat(json.dump(2), "\n"));
}

Status write_tenon_part(const VersionContents& contents, const Unfinished& directory, std::vector<std::string> files) {
  TENON_TRY(make_directories(directory.file("variables")));
  TENON_TRY(make_directories(directory.file(kExportedPart)));
  TENON_TRY(write_weights(contents, directory.file(kExportedWeights)));
  files.push_back(bundle_index_path(kExportedWeights));
  files.push_back(bundle_data_path(kExportedWeights));
  files.push_back(cat(kExportedPart, "/model.pb"));
  TENON_TRY(atomic_write(directory.file(files.back()), to_bytes(contents.model)));
  if (!contents.labels.empty()) {
    files.push_back(cat(kExportedPart, "/labels.txt"));
    TENON_TRY(atomic_write(directory.file(files.back()), cat(join(contents.labels, "\n"), "\n")));
  }
  TENON_TRY(write_manifest(directory, files));
  for (const char* inner : {kExportedPart, "assets.extra", "variables"})
    TENON_TRY(sync_directory(directory.file(inner)));
  return {};
}

Status write_warm_up(const ModelFile& model, const std::string& path) {
  TENON_TRY(make_directories(directory_of(path)));
  TENON_ASSIGN(const std::vector<std::string> requests, warm_up_requests(model.signatures, model.images));
  TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path));
  for (const std::string& request : requests) TENON_TRY(writer.write(request));
  return writer.close();
}

// The file of the signature that takes tensors, which "serving_default" is unless it takes files.
Result<std::string> onnx_bytes(const VersionContents& contents, bool with_weights) {
  const auto takes_tensors = [](const ServingSignature& signature) {
    return std::all_of(signature.inputs.begin(), signature.inputs.end(),
                       [](const ServingValue& input) { return input.kind == ServingValue::Kind::kTensor; });
  };
  const auto& all = contents.model.signatures;
  auto found = std::find_if(all.begin(), all.end(), [&](const ServingSignature& signature) {
    return signature.key == kDefaultSignature && takes_tensors(signature);
  });
  if (found == all.end()) found = std::find_if(all.begin(), all.end(), takes_tensors);
  if (found == all.end()) return invalid("the model has no signature of tensors, which ONNX's models are");
  return onnx_model({contents.model.graph, *found, contents.labels, with_weights ? contents.variable : nullptr});
}

Status write_files(const VersionContents& contents, const ExportOptions& options, const Unfinished& directory) {
  std::vector<std::string> files;
  if (options.format == ExportFormat::kOnnx) {
    TENON_ASSIGN(const std::string bytes, onnx_bytes(contents, true));
    return atomic_write(directory.file("model.onnx"), bytes);
  }
  if (options.format == ExportFormat::kSavedModel) {
    const ModelFile& model = contents.model;
    SavedModelContents tensorflow{model.graph, model.signatures, model.images, contents.labels};
    if (options.frozen) tensorflow.frozen = contents.variable;
    TENON_ASSIGN(const std::string bytes, saved_model(tensorflow));
    files.emplace_back("saved_model.pb");
    TENON_TRY(atomic_write(directory.file(files.back()), bytes));
    files.emplace_back(kWarmUpRequests);
    TENON_TRY(write_warm_up(model, directory.file(files.back())));
  }
  if (!options.frozen) TENON_TRY(write_tenon_part(contents, directory, files));
  if (options.frozen) TENON_TRY(sync_directory(directory.file("assets.extra")));
  return sync_directory(directory.path());
}

Result<int64_t> next_version(const std::vector<ExportedVersion>& there, int64_t asked, const std::string& base) {
  const int64_t newest = there.empty() ? 0 : there.front().number;
  if (asked == 0) return std::max<int64_t>(std::time(nullptr), newest + 1);
  if (asked > newest) return asked;
  return invalid("version ", asked, ": '", base, "' has version ", newest, ", expected a larger one");
}

// Servers that still answer with one keep its files open.
Status remove_old(const std::string& base, int keep) {
  TENON_ASSIGN(const std::vector<ExportedVersion> versions, exported_versions(base));
  for (size_t i = static_cast<size_t>(keep); keep > 0 && i < versions.size(); ++i) {
    Unfinished gone(cat(base, "/.unfinished-", versions[i].number, "-", getpid()));
    if (::rename(versions[i].path.c_str(), gone.path().c_str()) != 0)
      return file_error("cannot remove", versions[i].path, errno);
  }
  return {};
}

Status check_options(const VersionContents& contents, const ExportOptions& options) {
  if (options.version < 0) return invalid("version is ", options.version, ", expected 1 or more, or 0");
  if (options.keep < 0) return invalid("keep is ", options.keep, ", expected 0 or more");
  if (options.frozen && options.format != ExportFormat::kSavedModel)
    return invalid("a frozen model is TensorFlow's alone; in another format there would be none");
  for (const std::string& label : contents.labels)
    if (label.find('\n') != std::string::npos)
      return invalid("the class name '", abbreviated(label), "' has a line end");
  return {};
}

// A file by itself is the newest there is.
Result<std::string> write_file(const std::string& path, const VersionContents& contents, const ExportOptions& options) {
  if (options.version != 0 || options.keep != 0)
    return invalid("'", path, "' is one file, without ", options.version != 0 ? "a version" : "others to keep",
                   "; expected a directory");
  TENON_ASSIGN(const std::string bytes, onnx_bytes(contents, true));
  TENON_TRY(make_directories(directory_of(path)));
  TENON_TRY(atomic_write(path, bytes));
  return path;
}

}  // namespace

Status check_format(const VersionContents& contents, ExportFormat format) {
  const ModelFile& model = contents.model;
  if (format == ExportFormat::kOnnx) return onnx_bytes(contents, false).status();
  if (format == ExportFormat::kTenon) return {};
  return saved_model({model.graph, model.signatures, model.images, contents.labels}).status();
}

Result<std::string> write_version(const std::string& base, const VersionContents& contents,
                                  const ExportOptions& options) {
  TENON_TRY(check_options(contents, options));
  if (options.format == ExportFormat::kOnnx && base.ends_with(".onnx")) return write_file(base, contents, options);
  TENON_TRY(make_directories(base));
  TENON_ASSIGN(const DirectoryLock lock, DirectoryLock::take(base, "export directory", "export"));
  remove_unfinished(base);
  TENON_ASSIGN(const std::vector<ExportedVersion> there, exported_versions(base));
  TENON_ASSIGN(const int64_t version, next_version(there, options.version, base));
  Unfinished directory(cat(base, "/.unfinished-", version, "-", getpid()));
  TENON_TRY(make_directories(directory.path()));
  TENON_TRY(write_files(contents, options, directory));
  const std::string path = cat(base, "/", version);
  TENON_TRY(directory.rename_to(path));
  TENON_TRY(remove_old(base, options.keep));
  return path;
}

}  // namespace tenon
