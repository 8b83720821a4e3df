#include "serve/text_models.h"

#include "text/generator.h"
#include "text/translator.h"

namespace tenon::runner {
namespace {

constexpr int64_t kLines = 32;  // at a time

std::string element(int64_t first, size_t index) {
  return "element " + std::to_string(first + static_cast<int64_t>(index)) + ": ";
}

class Translation : public server::TextModel {
 public:
  explicit Translation(std::unique_ptr<Translator> translator) : translator_(std::move(translator)) {}
  int64_t max_lines() const override { return kLines; }
  Result<server::Lines> write(const server::Lines& lines, int64_t first, const Interrupted& interrupted) override {
    std::vector<Sentence> sentences;
    for (const std::string& line : lines) {
      sentences.push_back({.source = line});
      if (const Status status = translator_->check_uncut(sentences.back()); !status.ok())
        return Status(status.code(), element(first, sentences.size() - 1) + status.message());
    }
    translator_->translate(sentences, {}, interrupted);
    server::Lines out;
    for (Sentence& sentence : sentences) out.push_back(std::move(sentence.translation));
    return out;
  }
  int64_t tokens() const override { return translator_->tokens(); }

 private:
  std::unique_ptr<Translator> translator_;
};

class Generation : public server::TextModel {
 public:
  explicit Generation(std::unique_ptr<Generator> generator) : generator_(std::move(generator)) {}
  int64_t max_lines() const override { return kLines; }
  Result<server::Lines> write(const server::Lines& lines, int64_t first, const Interrupted& interrupted) override {
    std::vector<Prompt> prompts;
    for (const std::string& line : lines) prompts.push_back({line, element(first, prompts.size())});
    return generator_->texts(prompts, {}, interrupted);
  }
  bool streams() const override { return true; }
  Status stream(const std::string& line, const TakesText& takes) override {
    try {
      const std::string whole = generator_->texts({{line, ""}}, [&](const std::string& so_far) {
        if (!takes(so_far)) throw Error(Status(Code::kInterrupted, "nobody reads it any more"));
      })[0];
      (void)takes(whole);
      return {};
    } catch (const Error& e) {
      return e.status();
    }
  }
  int64_t tokens() const override { return generator_->tokens(); }

 private:
  std::unique_ptr<Generator> generator_;
};

}  // namespace

std::unique_ptr<server::TextModel> translation_model(const std::string& model_dir, const std::string& device,
                                                     bool summarizes) {
  return std::make_unique<Translation>(open_translator(model_dir, device, summarizes));
}

std::unique_ptr<server::TextModel> generation_model(const std::string& model_dir, const std::string& device) {
  return std::make_unique<Generation>(open_generator(model_dir, device));
}

}  // namespace tenon::runner
