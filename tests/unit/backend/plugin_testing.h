// A search path of one directory, into which tests copy specimens (tests/fault/plugins).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "backend/load/loader.h"
#include "backend/registry.h"
#include "unit/data/temporary_directory.h"

namespace tenon {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // forking costs 50 times as much
#else
constexpr bool kSanitized = false;
#endif

// Sets a variable of the environment for as long as it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class PluginTest : public testing::Test {
 protected:
  std::string specimen(const std::string& name) const { return std::string(TENON_SPECIMENS) + "/" + name + ".so"; }
  // A copy of `source` under this name; the specimen does what it is called.
  std::string add(const std::string& name, const std::string& source = "specimen") const {
    return add_to(directory_.path(), name, source);
  }
  std::string add_to(const std::string& directory, const std::string& name,
                     const std::string& source = "specimen") const {
    std::filesystem::create_directories(directory);
    const std::string path = directory + "/" + name + ".so";
    std::filesystem::copy_file(specimen(source), path, std::filesystem::copy_options::overwrite_existing);
    return path;
  }
  // The text of the error of opening it, one line; "" when it opens.
  std::string refusal(const std::string& device) const {
    const auto opened = open_device(device);
    EXPECT_EQ(opened.status().message().find('\n'), std::string::npos) << opened.status().message();
    return opened.status().message();
  }
  // Whether code of any specimen has run since the fixture was made.
  bool code_ran() const { return home_.has("mark"); }

  TemporaryDirectory home_, directory_;

 private:
  Environment path_{"TENON_PLUGIN_PATH", directory_.path()};
  Environment data_{"XDG_DATA_HOME", home_.path()};
  Environment cache_{"XDG_CACHE_HOME", home_.path()};
  Environment mark_{"TENON_SPECIMEN_MARK", home_ / "mark"};
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tenon
