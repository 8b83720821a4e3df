// Records, checkpoints and the op set, looked into.
#include <algorithm>
#include <cmath>

#include "inspect/inspect.h"
#include "survey/record_fields.h"
#include "tenon/checkpoint.h"
#include "tenon/example.h"
#include "tenon/op_list.h"
#include "tenon/tfrecord.h"
#include "tenon/weights_file.h"

namespace tenon::runner {
namespace {

struct Survey {
  int64_t records = 0, bytes = 0, skipped = 0;
  RecordFields fields;
};

int64_t survey(const std::string& path, bool skip_corrupt, Survey& out) {
  RecordReader reader = RecordReader::open(path, {.skip_corrupt = skip_corrupt}).take();
  Example example;
  std::string_view record;
  int64_t n = 0;
  for (; reader.next(&record).take(); ++n) {
    if (const Status s = example.parse(record); !s.ok())
      throw Error(Status(s.code(), path + ": record " + std::to_string(n) + ": " + s.message()));
    out.fields.add(example);
    out.bytes += static_cast<int64_t>(record.size());
  }
  out.records += n;
  out.skipped += static_cast<int64_t>(reader.skipped());
  return n;
}

void print_survey(const Survey& s) {
  print("%s, %s%s\n", counted(s.records, "record").c_str(), bytes_text(static_cast<double>(s.bytes)).c_str(),
        s.skipped ? (", " + std::to_string(s.skipped) + " damaged").c_str() : "");
  s.fields.print();
}

std::string json_of(const Survey& s) {
  return Json("result")
      .add("records", s.records)
      .add("bytes", s.bytes)
      .add("damaged", s.skipped)
      .raw("fields", s.fields.json())
      .str();
}

void print_numbers(const std::string& name, const std::vector<double>& values, bool json) {
  if (!json) {
    for (const double v : values) print("%.9g\n", v);
    return;
  }
  const auto number = [](double v) { return std::isfinite(v) ? format("%.9g", v) : "null"; };
  print_line(Json("result").add("name", name).raw("values", json_list_of(values, number)).str());
}

}  // namespace

int inspect_records(const Flags& flags, const std::vector<std::string>& files) {
  expect_words(files, 1, SIZE_MAX, "record files");
  Survey all;
  for (const std::string& path : files) {
    const int64_t n = survey(path, flags.boolean("skip_corrupt"), all);
    if (flags.boolean("json"))
      print_line(Json("file").add("path", path).add("records", n).str());
    else
      print("%s: %s\n", path.c_str(), counted(n, "record").c_str());
  }
  if (flags.boolean("json"))
    print_line(json_of(all));
  else
    print_survey(all);
  return 0;
}

int inspect_checkpoint(const Flags& flags, const std::string& path) {
  const CheckpointFile checkpoint = CheckpointFile::open(path).take();
  if (!checkpoint.skipped().empty())
    throw Error(
        Status(Code::kInvalid, checkpoint.skipped().front() + "; the newest that is whole is " + checkpoint.prefix()));
  const bool json = flags.boolean("json");
  if (const std::string& name = flags.text("values"); !name.empty())
    return print_numbers(name, checkpoint.read(name).take(), json), 0;
  check(checkpoint.verify());
  int64_t bytes = 0;
  std::string list;
  for (const CheckpointTensor& t : checkpoint.tensors()) {
    bytes += t.bytes;
    if (json)
      add_item(list, Json().add("name", t.name).add("type", t.text).add("bytes", t.bytes).str());
    else
      print("%-52s %s\n", t.name.c_str(), t.text.c_str());
  }
  if (json)
    print_line(
        Json("result").add("prefix", checkpoint.prefix()).add("bytes", bytes).raw("tensors", json_list(list)).str());
  else
    print("%s: %s, %s, all checksums right\n", checkpoint.prefix().c_str(),
          counted(static_cast<int64_t>(checkpoint.tensors().size()), "tensor").c_str(),
          bytes_text(static_cast<double>(bytes)).c_str());
  return 0;
}

namespace {

// Tensors of types that Tenon does not have; none but such is an error, unless rules have dropped the others.
std::string say_unread(const WeightsFile& weights, bool ruled, bool json) {
  const auto& unread = weights.unread();
  std::string list;
  for (const auto& [name, type] : unread)
    if (json)
      add_item(list, Json().add("name", name).add("type", type).str());
    else
      print("not read: '%s', %s\n", name.c_str(), type.c_str());
  if (weights.tensors().empty() && !ruled)
    throw Error(
        Status(Code::kUnsupported, "'" + weights.path() + "': none of its tensors is of numbers that Tenon has"));
  return list;
}

}  // namespace

int inspect_weights(const Flags& flags, const std::string& path) {
  const WeightsFile weights = WeightsFile::open(path, flags.text("rules")).take();
  const bool json = flags.boolean("json");
  if (const std::string& name = flags.text("values"); !name.empty()) {
    const std::vector<double> values = weights.read(name).take().to<double>();
    return print_numbers(name, values, json), 0;
  }
  int64_t bytes = 0, elements = 0;
  std::string list;
  for (const auto& [name, type] : weights.tensors()) {
    bytes += type.bytes(), elements += type.shape.elements();
    if (json)
      add_item(list, Json().add("name", name).add("type", type.str()).add("bytes", type.bytes()).str());
    else
      print("%-52s %s\n", name.c_str(), type.str().c_str());
  }
  const std::string unread = say_unread(weights, !flags.text("rules").empty(), json);
  if (json)
    print_line(Json("result")
                   .add("path", weights.path())
                   .add("parameters", elements)
                   .add("bytes", bytes)
                   .raw("tensors", json_list(list))
                   .raw("not_read", json_list(unread))
                   .str());
  else
    print("%s: %s, %s parameters, %s\n", weights.path().c_str(),
          counted(static_cast<int64_t>(weights.tensors().size()), "tensor").c_str(), with_commas(elements).c_str(),
          bytes_text(static_cast<double>(bytes)).c_str());
  return 0;
}

int inspect_ops(const Flags& flags, const std::vector<std::string>& names) {
  const std::vector<OpSummary> ops = op_summaries();
  std::vector<std::string> known;
  for (const OpSummary& op : ops) known.push_back(op.name);
  for (const std::string& name : names) only_word({name}, "op", known);
  for (const OpSummary& op : ops) {
    if (!names.empty() && std::find(names.begin(), names.end(), op.name) == names.end()) continue;
    if (flags.boolean("json")) {
      print_line(Json("op")
                     .add("name", op.name)
                     .add("version", op.version)
                     .add("composite", op.composite)
                     .add("signature", op.signature)
                     .add("doc", op.doc)
                     .str());
      continue;
    }
    print("%s  %s\n", op.name.c_str(), op.composite ? "composite" : "primitive");
    print("    %s\n", op.signature.c_str());
    if (!names.empty() || flags.boolean("verbose")) print("    %s\n", op.doc.c_str());
  }
  return 0;
}

}  // namespace tenon::runner
