// tenon data: what is in a data set.
#include <algorithm>

#include "command.h"
#include "output.h"
#include "pictures/sheet.h"
#include "plot/plot.h"
#include "survey/set_bench.h"
#include "survey/set_survey.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

constexpr size_t kMostLines = 10;  // of damaged ones, where they are not all asked for

std::string size_text(std::pair<int, int> size) { return format("%dx%d", size.first, size.second); }

std::string images_text(const ImageSizes& images) {
  std::string out;
  for (const auto& [name, count] : images.formats) add_item(out, with_commas(count) + " " + name);
  out += ", " + size_text(images.least);
  return images.least == images.most ? out : out + " to " + size_text(images.most);
}

void print_classes(const DataSet& set, const SetSurvey& s) {
  if (s.classes.empty()) return;
  size_t widest = 0;
  int64_t most = 0;
  for (const auto& [label, count] : s.classes) {
    widest = std::max(widest, class_name(set, label).size());
    most = std::max(most, count);
  }
  print("  %s %s\n", with_commas(std::ssize(s.classes)).c_str(), s.classes.size() == 1 ? "class" : "classes");
  for (const auto& [label, count] : s.classes) {
    const auto bar = static_cast<size_t>(30 * count / std::max<int64_t>(most, 1));
    print("    %-*s %9s %5.1f %%  %s\n", static_cast<int>(widest), class_name(set, label).c_str(),
          with_commas(count).c_str(), 100 * static_cast<double>(count) / static_cast<double>(s.examples),
          std::string(bar, '#').c_str());
  }
}

void print_columns(const SetSurvey& s) {
  for (const SurveyedColumn& c : s.columns) {
    if (c.numbers)
      print("  %-28s numbers, %g to %g, mean %g\n", c.name.c_str(), c.least, c.most,
            c.sum / static_cast<double>(s.examples));
    else
      print("  %-28s text\n", c.name.c_str());
  }
}

void print_damaged(const SetSurvey& s, bool all) {
  const size_t shown = all ? s.damaged.size() : std::min(s.damaged.size(), kMostLines);
  if (!s.damaged.empty()) print("  %s damaged\n", with_commas(std::ssize(s.damaged)).c_str());
  for (size_t i = 0; i < shown; ++i) print("    %s\n", s.damaged[i].c_str());
  if (shown < s.damaged.size())
    print("    and %s more: --verbose shows them\n",
          with_commas(std::ssize(s.damaged) - static_cast<int64_t>(shown)).c_str());
}

const char* example_name(SetKind kind) {
  switch (kind) {
    case SetKind::kRecords:
      return "record";
    case SetKind::kImages:
      return "image";
    case SetKind::kTable:
      return "row";
    case SetKind::kText:
      break;
  }
  return "line";
}

void print_set(const DataSet& set, const SetSurvey& s, bool verbose) {
  print("%s: %s, %s in %s\n", set.name.c_str(), counted(s.examples, example_name(set.kind)).c_str(),
        bytes_text(static_cast<double>(s.bytes)).c_str(), counted(std::ssize(set.files), "file").c_str());
  s.fields.print();
  if (!s.images.empty()) print("  images: %s\n", images_text(s.images).c_str());
  if (set.kind == SetKind::kText) print("  the longest line has %s bytes\n", with_commas(s.longest_line).c_str());
  print_columns(s);
  print_classes(set, s);
  print_damaged(s, verbose);
}

void print_set_json(const DataSet& set, const SetSurvey& s) {
  Json out("set");
  out.add("name", set.name).add("kind", set_kind_name(set.kind)).add("files", std::ssize(set.files));
  out.add("examples", s.examples).add("bytes", s.bytes).add("damaged", std::ssize(s.damaged));
  std::string classes, damaged, columns, formats;
  const auto join = [](std::string* list, const std::string& item) { add_item(*list, item); };
  for (const auto& [label, count] : s.classes)
    join(&classes, Json().add("label", label).add("name", class_name(set, label)).add("examples", count).str());
  for (const std::string& line : s.damaged) join(&damaged, Json().add("message", line).str());
  for (const SurveyedColumn& c : s.columns) {
    Json column;
    column.add("name", c.name).add("numbers", c.numbers);
    if (c.numbers)
      column.add("least", c.least).add("most", c.most).add("mean", c.sum / static_cast<double>(s.examples));
    join(&columns, column.str());
  }
  for (const auto& [name, count] : s.images.formats)
    join(&formats, Json().add("format", name).add("images", count).str());
  if (!classes.empty()) out.raw("classes", json_list(classes));
  if (!s.fields.empty()) out.raw("fields", s.fields.json());
  if (!columns.empty()) out.raw("columns", json_list(columns));
  if (!s.images.empty())
    out.raw("formats", json_list(formats))
        .add("least_width", s.images.least.first)
        .add("least_height", s.images.least.second)
        .add("most_width", s.images.most.first)
        .add("most_height", s.images.most.second);
  print_line(out.raw("damage", json_list(damaged)).str());
}

void write_sheet(const Flags& flags, std::vector<ShownExample> shown) {
  pictures::SheetPicture picture{flags.text("title").empty() ? "The first images" : flags.text("title"),
                                 counted(std::ssize(shown), "image")};
  for (ShownExample& e : shown)
    picture.images.push_back({e.image.width, e.image.height, std::move(e.image.rgb), e.label.empty() ? e.name : e.label,
                              e.label.empty() ? format("%dx%d", e.image.width, e.image.height) : e.name});
  write_picture(flags, picture);
}

void declare_data(Flags& flags, const std::vector<std::string>&) {
  flags.leave_out({"device", "seed"});
  flags.text("output", "", "contact sheet of the first images to write: NAME.png or NAME.svg; empty: none");
  flags.integer("count", 24, "with --output: images to show", 1, 400);
  flags.text("title", "", "with --output: above the picture");
  flags.number("scale", 2, "with --output: pixels of a PNG for each of the picture", 0.25, 8);
  flags.boolean("bench", false, "time reading instead: images or rows a second, and which work takes how much of it");
  flags.number("seconds", 2, "with --bench: of each measurement, three a data set", 0.01, 1e6);
  flags.integer("height", 224, "with --bench: of images", 1, 1 << 13);
  flags.integer("width", 224, "with --bench: of images", 1, 1 << 13);
}

void print_bench(const DataSet& set, const SetBench& bench) {
  double all = 0;
  for (const SetBench::Part& part : bench.parts) all += part.core_ms;
  print("%s: %s %ss/s, %s of a core's work; batches of %ld, %s\n", set.name.c_str(),
        rate_text(bench.rate.a_second).c_str(), bench.unit, rate_text(bench.rate.a_core).c_str(),
        static_cast<long>(bench.batch_size), counted(process_threads(), "thread").c_str());
  for (const SetBench::Part& part : bench.parts)
    print("  %-8s %10.4f ms %5.1f %%\n", part.name, part.core_ms, all > 0 ? 100 * part.core_ms / all : 0.0);
}

void print_bench_json(const DataSet& set, const SetBench& bench) {
  double all = 0;
  std::string parts;
  for (const SetBench::Part& part : bench.parts) all += part.core_ms;
  for (const SetBench::Part& part : bench.parts)
    add_item(parts, Json()
                        .add("part", part.name)
                        .add("core_ms", part.core_ms)
                        .add("share", all > 0 ? part.core_ms / all : 0.0)
                        .str());
  print_line(Json("bench")
                 .add("name", set.name)
                 .add("kind", set_kind_name(set.kind))
                 .add("unit", bench.unit)
                 .add("examples_per_second", bench.rate.a_second)
                 .add("examples_per_second_a_core", bench.rate.a_core)
                 .add("batch_size", bench.batch_size)
                 .add("threads", process_threads())
                 .raw("parts", json_list(parts))
                 .str());
}

// Reads nothing of the whole data set before: it may be large.
int bench_data(const Flags& flags, const std::vector<std::string>& paths) {
  const auto side = [&](const char* name) { return static_cast<int>(flags.integer(name)); };
  for (const std::string& path : paths)
    for (const DataSet& set : find_data_sets(path)) {
      const SetBench bench = bench_of(set, side("height"), side("width"), flags.number("seconds"));
      flags.boolean("json") ? print_bench_json(set, bench) : print_bench(set, bench);
    }
  return 0;
}

int run_data(const Flags& flags, const std::vector<std::string>& paths) {
  expect_words(paths, 1, SIZE_MAX, "a directory, or files");
  const bool draws = !flags.text("output").empty(), json = flags.boolean("json");
  for (const char* name : {"count", "title", "scale"})
    if (!draws && flags.given(name)) throw UsageError{format("--%s needs --output F.png", name)};
  const bool benches = flags.boolean("bench");
  for (const char* name : {"seconds", "height", "width"})
    if (!benches && flags.given(name)) throw UsageError{format("--%s needs --bench", name)};
  if (benches && draws) throw UsageError{"--output does nothing with --bench"};
  if (draws) (void)picture_format(flags);
  if (benches) return bench_data(flags, paths);
  int64_t examples = 0, damaged = 0, sets = 0;
  std::vector<ShownExample> shown;
  for (const std::string& path : paths)
    for (const DataSet& set : find_data_sets(path)) {
      const SetSurvey survey = survey_of(set, draws ? flags.integer("count") : 0, &shown);
      json ? print_set_json(set, survey) : print_set(set, survey, flags.boolean("verbose"));
      examples += survey.examples;
      damaged += std::ssize(survey.damaged);
      ++sets;
    }
  if (draws && shown.empty()) throw Error(Status(Code::kInvalid, "--output: the data have no images"));
  if (draws) write_sheet(flags, std::move(shown));
  if (json) {
    Json result("result");
    result.add("sets", sets).add("examples", examples).add("damaged", damaged);
    if (draws) result.add("output", flags.text("output"));
    print_line(result.str());
  } else if (draws) {
    print_line(flags.text("output"));
  }
  return 0;
}

}  // namespace

const Command kData{
    .name = "data",
    .arguments = "DIR|FILE.. [--output SHEET.png] [--bench]",
    .summary = "Shows what is in a data set: examples, features, classes, what is damaged, the first images",
    .declare = declare_data,
    .run = run_data,
};

}  // namespace tenon::runner
