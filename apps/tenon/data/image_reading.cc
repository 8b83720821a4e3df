#include "data/image_reading.h"

#include <algorithm>
#include <cstdio>

#include "output.h"

namespace tenon::runner {
namespace {

using Words = std::map<std::string, std::string>;

const std::vector<std::string> kResizes{"legacy", "half_pixel", "antialias"}, kAlphas{"drop", "blend", "keep"},
    kSwitches{"false", "true"};
const Words kDefaults{{"resize", "legacy"},
                      {"alpha", "drop"},
                      {"background", "255,255,255"},
                      {"scale_decode", "false"},
                      {"deep_pixels", "false"}};

bool parse_colour(const std::string& text, Colour* out) {
  int rgb[3], end = 0;
  if (std::sscanf(text.c_str(), "%3d,%3d,%3d%n", rgb, rgb + 1, rgb + 2, &end) != 3) return false;
  if (static_cast<size_t>(end) != text.size()) return false;
  for (size_t i = 0; i < 3; ++i) {
    if (rgb[i] < 0 || rgb[i] > 255) return false;
    (*out)[i] = static_cast<uint8_t>(rgb[i]);
  }
  return true;
}

std::string colour_text(const Colour& c) { return format("%d,%d,%d", c[0], c[1], c[2]); }

// What a word of that name may be; empty: a colour.
const std::vector<std::string>& choices_of(const std::string& name) {
  static const std::vector<std::string> colour;
  return name == "resize" ? kResizes : name == "alpha" ? kAlphas : name == "background" ? colour : kSwitches;
}

bool is_word(const std::string& name, const std::string& value) {
  Colour ignored;
  const std::vector<std::string>& choices = choices_of(name);
  return choices.empty() ? parse_colour(value, &ignored)
                         : std::find(choices.begin(), choices.end(), value) != choices.end();
}

// What the directory says; with defaults for all else.
Words remembered_words(const ModelRecord& record) {
  Words out = kDefaults;
  for (const auto& [name, value] : record.reading) {
    const auto known = out.find(name);
    if (known == out.end() || !is_word(name, value))
      throw Error(Status(Code::kInvalid, format("%s: reading.%s is '%s', which is not known", record.path.c_str(),
                                                name.c_str(), value.c_str())));
    known->second = value;
  }
  return out;
}

std::string flag_word(const Flags& flags, const std::string& name) {
  if (choices_of(name) == kSwitches) return flags.boolean(name) ? "true" : "false";
  if (name != "background") return flags.text(name);
  Colour colour;
  if (!parse_colour(flags.text(name), &colour))
    throw UsageError{format("--background: expected R,G,B, each 0 to 255, found '%s'", flags.text(name).c_str())};
  return colour_text(colour);
}

Words chosen_words(const DataContext& c) {
  Words words = c.record ? remembered_words(*c.record) : kDefaults;
  for (auto& [name, value] : words) {
    if (!c.flags.has(name) || !c.flags.given(name)) continue;
    const std::string given = flag_word(c.flags, name);
    if (c.record && given != value && c.contradiction == Contradiction::kRefuse)
      throw UsageError{
          format("--%s is %s; %s says %s", name.c_str(), given.c_str(), c.record->path.c_str(), value.c_str())};
    value = given;
  }
  return words;
}

size_t place_in(const std::vector<std::string>& choices, const std::string& word) {
  return static_cast<size_t>(std::find(choices.begin(), choices.end(), word) - choices.begin());
}

bool given(const Flags& flags, const char* name) { return flags.has(name) && flags.given(name); }

void check_effect(const Flags& flags, const InputOptions& o) {
  if (flags.get_or("synthetic", false))
    for (const char* name : {"resize", "alpha", "background", "scale_decode", "deep_pixels", "cache", "cache_file"})
      if (given(flags, name)) throw UsageError{format("--%s does nothing with --synthetic", name)};
  if (given(flags, "background") && o.alpha != Alpha::kBlend) throw UsageError{"--background needs --alpha blend"};
  const int64_t channels = flags.get_or<int64_t>("channels", 0);
  if (o.alpha == Alpha::kKeep && channels != 0 && channels != 4)
    throw UsageError{format("--alpha keep makes 4 channels; --channels is %ld", static_cast<long>(channels))};
  if (flags.has("alpha") && o.alpha != Alpha::kKeep && channels == 4)
    throw UsageError{"--channels 4 needs --alpha keep"};
}

ImageCache cache_of(const Flags& flags) {
  if (!flags.has("cache")) return {};
  const std::string& kind = flags.text("cache");
  const std::string& file = flags.text("cache_file");
  if (kind == "disk" && file.empty()) throw UsageError{"--cache disk needs --cache_file"};
  if (kind != "disk" && !file.empty()) throw UsageError{"--cache_file needs --cache disk"};
  return {.on = kind != "none", .file = file};
}

}  // namespace

void add_image_reading_flags(Flags& flags) {
  flags.text(
      "resize", "legacy",
      "how images get their size: legacy: as TensorFlow 1; half_pixel: as TensorFlow 2 and Keras; antialias: as Pillow",
      kResizes);
  flags.text("alpha", "drop",
             "of images with transparency: drop it, blend them with --background, keep it as a fourth channel",
             kAlphas);
  flags.text("background", kDefaults.at("background"), "R,G,B, 0 to 255 each, with --alpha blend");
  flags.boolean("scale_decode", false,
                "decode JPEGs at 1/2 or 1/4 of their size where that covers the result: faster, smoother");
  flags.boolean("deep_pixels", false, "read all bits of PNGs of 16 bits, rather than the upper 8");
}

void add_image_cache_flags(Flags& flags) {
  flags.text("cache", "none", "where decoded training images are kept for later epochs", {"none", "memory", "disk"});
  flags.text("cache_file", "", "with --cache disk: the file, which serves later runs with the same data too");
}

InputOptions image_reading(const DataContext& c) {
  const Words words = chosen_words(c);
  InputOptions o;
  o.resize = static_cast<ResizeKind>(place_in(kResizes, words.at("resize")));
  o.alpha = static_cast<Alpha>(place_in(kAlphas, words.at("alpha")));
  (void)parse_colour(words.at("background"), &o.background);
  o.scale_decode = words.at("scale_decode") == "true";
  o.deep_pixels = words.at("deep_pixels") == "true";
  if (o.alpha == Alpha::kKeep) o.channels = 4;
  o.cache = cache_of(c.flags);
  check_effect(c.flags, o);
  return o;
}

std::map<std::string, std::string> reading_words(const InputOptions& o) {
  Words words{{"resize", kResizes[static_cast<size_t>(o.resize)]},
              {"alpha", kAlphas[static_cast<size_t>(o.alpha)]},
              {"background", o.alpha == Alpha::kBlend ? colour_text(o.background) : kDefaults.at("background")},
              {"scale_decode", o.scale_decode ? "true" : "false"},
              {"deep_pixels", o.deep_pixels ? "true" : "false"}};
  std::erase_if(words, [](const auto& word) { return word.second == kDefaults.at(word.first); });
  return words;
}

}  // namespace tenon::runner
