#include "data/vocabulary.h"

#include <filesystem>

#include "output.h"

namespace tenon::runner {
namespace {

// What the model directory has, and which file says so.
struct Remembered {
  std::string mark, file;
};

Remembered remembered_of(const ModelRecord& record) {
  const std::string directory = std::filesystem::path(record.path).parent_path().string();
  const std::string file = file_in(directory, kVocabularyFile);
  if (!record.vocabulary.empty()) return {record.vocabulary, file.empty() ? record.path : file};
  return file.empty() ? Remembered{} : Remembered{vocabulary_mark(Subtokenizer::load(file).take()), file};
}

}  // namespace

std::string vocabulary_mark(const Subtokenizer& words) { return format("%08x", words.fingerprint()); }

ModelVocabulary::ModelVocabulary(const DataContext& c, const InfoFile& info, int64_t size) {
  const std::string name = info.text("vocab_file");
  const std::string of_data = name.empty() ? "" : file_in(c.flags.get_or("data_dir", std::string()), name);
  const std::string given = c.flags.get_or("vocab_file", std::string());
  path_ = given.empty() ? of_data : given;
  if (!path_.empty()) words_ = load(path_, size), mark_ = vocabulary_mark(*words_);
  if (!given.empty() && !of_data.empty() && vocabulary_mark(load(of_data, size)) != mark_)
    throw UsageError{"--vocab_file: " + given + " has other subtokens than " + of_data + ", which the records are of"};
  const Remembered has = c.record ? remembered_of(*c.record) : Remembered{};
  if (words_ && !has.mark.empty() && has.mark != mark_)
    throw UsageError{path_ + " has other subtokens than " + has.file + ", which the model was trained with"};
  if (!words_) mark_ = has.mark;
}

Subtokenizer ModelVocabulary::load(const std::string& path, int64_t size) const {
  Subtokenizer words = Subtokenizer::load(path).take();
  if (words.size() != size)
    throw UsageError{format("%s has %ld subtokens, expected %ld as the model has", path.c_str(),
                            static_cast<long>(words.size()), static_cast<long>(size))};
  return words;
}

void ModelVocabulary::save(const std::string& model_dir) const {
  if (words_) check(words_->save(model_dir + "/" + kVocabularyFile));
}

void add_vocabulary_flag(Flags& flags) {
  flags.text("vocab_file", "", "subtoken vocabulary that the model directory keeps; empty: that of the data");
}

}  // namespace tenon::runner
