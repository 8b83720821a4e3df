#include "callback/file_template.h"

#include <set>

#include "base/python_text.h"
#include "base/strings.h"

namespace tenon {
namespace {

class Filler {
 public:
  Filler(const std::string& what, const std::string& text, const std::map<std::string, int64_t>& counts,
         const Logs& logs)
      : what_(what), text_(text), counts_(counts), logs_(logs) {}

  std::string fill() const {
    std::string out;
    for (size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      if ((c == '{' || c == '}') && text_.substr(at + 1, 1) == std::string(1, c)) {
        out += c;
        ++at;
      } else if (c == '{') {
        const size_t end = text_.find('}', at);
        if (end == std::string::npos) fail(what_, " '", text_, "' has a { without a }");
        out += place(text_.substr(at + 1, end - at - 1));
        at = end;
      } else {
        out += c;
      }
    }
    return out;
  }

 private:
  std::string place(const std::string& inside) const {
    const size_t colon = std::min(inside.find(':'), inside.size());
    const std::string name = inside.substr(0, colon), format = colon < inside.size() ? inside.substr(colon + 1) : "";
    const std::optional<std::string> out = number(name, format);
    if (!out) fail(what_, " '", text_, "' has the format '", format, "', expected one as 02d or .2f");
    return *out;
  }

  std::optional<std::string> number(const std::string& name, const std::string& format) const {
    if (const auto it = counts_.find(name); it != counts_.end()) return python_format(it->second, format);
    if (const auto it = logs_.find(name); it != logs_.end()) return python_format(it->second, format);
    std::set<std::string> names;
    for (const auto& entry : counts_) names.insert(entry.first);
    for (const auto& entry : logs_) names.insert(entry.first);
    fail(what_, " '", text_, "' names '", name, "', there are: ", join(names));
  }

  const std::string& what_;
  const std::string& text_;
  const std::map<std::string, int64_t>& counts_;
  const Logs& logs_;
};

}  // namespace

std::string fill_template(const std::string& what, const std::string& text,
                          const std::map<std::string, int64_t>& counts, const Logs& logs) {
  return Filler(what, text, counts, logs).fill();
}

}  // namespace tenon
