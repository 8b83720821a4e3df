#include "server/models/exported.h"

#include <utility>

namespace tenon::server {
namespace {

class ExportedServedModel : public ServedModel {
 public:
  ExportedServedModel(std::unique_ptr<Servable> servable, std::vector<int64_t> batch_sizes)
      : servable_(std::move(servable)), model_(servable_->model()), batch_sizes_(std::move(batch_sizes)) {}

  const std::vector<ServingSignature>& signatures() const override { return model_.signatures(); }
  int64_t max_rows() const override { return servable_->max_rows(); }
  std::vector<int64_t> batch_sizes() const override { return batch_sizes_; }
  std::string label(int64_t class_id) const override { return model_.label(class_id); }
  Result<Array> image_row(std::span<const std::byte> file) const override { return model_.image_row(file); }
  Result<Arrays> predict(std::string_view signature, const Arrays& inputs) override {
    return servable_->predict(signature, inputs);
  }

 private:
  std::unique_ptr<Servable> servable_;
  ExportedModel model_;
  const std::vector<int64_t> batch_sizes_;
};

}  // namespace

ModelLoader exported_model_loader(const std::string& device, int64_t max_rows) {
  ServableOptions options;
  options.device = device;
  options.batch_sizes.clear();
  for (int64_t n = 1; n < max_rows; n *= 2) options.batch_sizes.push_back(n);
  options.batch_sizes.push_back(max_rows);
  return [options](const std::string& directory) -> Result<std::unique_ptr<ServedModel>> {
    TENON_ASSIGN(const ExportedModel model, ExportedModel::open(directory));
    TENON_ASSIGN(std::unique_ptr<Servable> servable, Servable::open(model, options));
    return std::unique_ptr<ServedModel>(
        std::make_unique<ExportedServedModel>(std::move(servable), options.batch_sizes));
  };
}

}  // namespace tenon::server
