#include "data/model_data.h"

#include "data/info_file.h"
#include "output.h"

namespace tenon::runner {
namespace {

const DataKind* const kKinds[] = {&kImages, &kVectors, &kPairs, &kAnswers, &kText, &kTable, &kIds, &kInputs};

}  // namespace

const DataKind& data_kind(const std::string& name) {
  for (const DataKind* kind : kKinds)
    if (name == kind->name) return *kind;
  throw Error(Status(Code::kInternal, "no kind of data '" + name + "'"));
}

const DataKind* kind_of_directory(const std::string& directory) {
  const InfoFile info(directory);
  const std::string name = info.text("kind");
  if (name.empty()) return info.number("classes", 0) > 0 ? &kImages : nullptr;
  for (const DataKind* kind : kKinds)
    if (name == kind->name) return kind;
  return nullptr;
}

int64_t DataContext::chosen(const std::string& name, int64_t value) const {
  const int64_t given = flags.get_or<int64_t>(name, 0);
  const auto found = record ? record->numbers.find(name) : std::map<std::string, int64_t>::const_iterator();
  const int64_t remembered = record && found != record->numbers.end() ? found->second : 0;
  if (given > 0 && remembered > 0 && given != remembered && contradiction == Contradiction::kRefuse)
    throw UsageError{format("--%s is %ld; %s says %ld", name.c_str(), static_cast<long>(given), record->path.c_str(),
                            static_cast<long>(remembered))};
  return given > 0 ? given : remembered > 0 ? remembered : value;
}

const std::vector<std::string>& ModelData::labels() const {
  static const std::vector<std::string> none;
  return none;
}

}  // namespace tenon::runner
