// Turns checkpoints and TFRecords into lines of text and back, so that another program can compare
// them bit for bit with what TensorFlow sees (share/interop).
//
//   a tensor:   NAME <tab> TYPE <tab> DIM,DIM <tab> HEX            (strings: HEX,HEX after "n:")
//   a feature:  NAME <tab> bytes|float|int64 <tab> n:HEX,HEX       (numbers: 4 or 8 bytes, little-endian)
//   an empty line ends an example
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/strings.h"
#include "checkpoint/model_directory.h"
#include "tenon/example.h"
#include "tenon/tfrecord.h"

namespace tenon {
namespace {

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", c);
    out += digits;
  }
  return out;
}

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    const size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string list_text(const std::vector<std::string>& values) {
  std::vector<std::string> hex;
  for (const std::string& value : values) hex.push_back(to_hex(value));
  return cat(values.size(), ":", join(hex, ","));
}

std::vector<std::string> parse_list(std::string_view text) {
  const size_t colon = text.find(':');
  if (text.substr(0, colon) == "0") return {};
  std::vector<std::string> values;
  for (const std::string& hex : split(text.substr(colon + 1), ',')) values.push_back(from_hex(hex));
  return values;
}

Shape parse_shape(const std::string& text) {
  std::vector<int64_t> dims;
  if (!text.empty())
    for (const std::string& dim : split(text, ',')) dims.push_back(std::stoll(dim));
  return Shape(dims);
}

Status add_line(BundleWriter& out, const std::string& line) {
  const std::vector<std::string> field = split(line, '\t');
  if (field.size() != 4) return invalid("expected 4 fields, found ", field.size(), " in '", line, "'");
  const Shape shape = parse_shape(field[2]);
  if (field[1] == "string") return out.add_strings(field[0], shape, parse_list(field[3]));
  const std::string bytes = from_hex(field[3]);
  return out.add(field[0], {dtype_from_name(field[1]), shape}, std::as_bytes(std::span(bytes)));
}

Status write_checkpoint(const std::string& model_dir, int64_t step) {
  TENON_ASSIGN(CheckpointManager manager, CheckpointManager::open(model_dir));
  const auto fill = [](BundleWriter& out) {
    for (std::string line; std::getline(std::cin, line);) TENON_TRY(add_line(out, line));
    return Status();
  };
  return manager.save(step, fill).status();
}

Result<std::string> value_text(const BundleReader& reader, const std::string& name, const BundleEntry& entry) {
  if (entry.is_string) {
    TENON_ASSIGN(const auto values, reader.read_strings(name));
    return list_text(values);
  }
  std::string bytes(static_cast<size_t>(entry.size), '\0');
  TENON_TRY(reader.read(name, std::as_writable_bytes(std::span(bytes))));
  return to_hex(bytes);
}

Status read_checkpoint(const std::string& prefix) {
  TENON_ASSIGN(const BundleReader reader, BundleReader::open(prefix));
  for (const auto& [name, entry] : reader.entries()) {
    TENON_ASSIGN(const std::string value, value_text(reader, name, entry));
    const std::string type(entry.is_string ? "string" : dtype_name(entry.dtype));
    std::cout << name << '\t' << type << '\t' << join(entry.shape.dims(), ",") << '\t' << value << '\n';
  }
  return {};
}

Status print_latest(const std::string& model_dir) {
  TENON_ASSIGN(const auto found, latest_checkpoint(model_dir));
  if (!found) return invalid("no checkpoint in '", model_dir, "'");
  for (const std::string& warning : found->warnings) std::cerr << warning << '\n';
  std::cout << found->prefix << '\n' << found->step << '\n';
  return {};
}

template <class T>
std::vector<T> numbers(const std::vector<std::string>& values) {
  std::vector<T> out;
  for (const std::string& value : values) std::memcpy(&out.emplace_back(), value.data(), sizeof(T));
  return out;
}

Status add_feature(ExampleBuilder& out, const std::string& line) {
  const std::vector<std::string> field = split(line, '\t');
  if (field.size() != 3) return invalid("expected 3 fields, found ", field.size(), " in '", line, "'");
  const std::vector<std::string> values = parse_list(field[2]);
  const std::vector<std::string_view> views(values.begin(), values.end());
  if (field[1] == "bytes")
    out.add_bytes(field[0], views);
  else if (field[1] == "float")
    out.add_floats(field[0], numbers<float>(values));
  else
    out.add_int64s(field[0], numbers<int64_t>(values));
  return {};
}

Status write_records(const std::string& path, const std::string& compression) {
  TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path, compression == "gzip"   ? Compression::kGzip
                                                               : compression == "zlib" ? Compression::kZlib
                                                                                       : Compression::kNone));
  ExampleBuilder builder;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty())
      TENON_TRY(writer.write(builder.finish()));
    else
      TENON_TRY(add_feature(builder, line));
  }
  return writer.close();
}

template <class T>
std::vector<std::string> raw(const Feature& feature) {
  std::vector<T> values(feature.size());
  feature.copy(values.data());
  std::vector<std::string> out;
  for (const T& value : values) out.emplace_back(reinterpret_cast<const char*>(&value), sizeof value);
  return out;
}

std::string feature_text(const Feature& feature) {
  switch (feature.kind()) {
    case Feature::Kind::kFloat:
      return cat("float\t", list_text(raw<float>(feature)));
    case Feature::Kind::kInt64:
      return cat("int64\t", list_text(raw<int64_t>(feature)));
    default:
      break;
  }
  std::vector<std::string_view> values(feature.size());
  if (feature.kind() == Feature::Kind::kBytes) feature.copy(values.data());
  return cat("bytes\t", list_text({values.begin(), values.end()}));
}

Status read_records(const std::string& path) {
  TENON_ASSIGN(RecordReader reader, RecordReader::open(path));
  Example example;
  for (std::string_view record;;) {
    TENON_ASSIGN(const bool more, reader.next(&record));
    if (!more) return {};
    TENON_TRY(example.parse(record));
    for (const auto& [name, feature] : example.features()) std::cout << name << '\t' << feature_text(feature) << '\n';
    std::cout << '\n';
  }
}

Status run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "write-checkpoint" && arguments.size() == 3)
    return write_checkpoint(arguments[1], std::stoll(arguments[2]));
  if (command == "read-checkpoint" && arguments.size() == 2) return read_checkpoint(arguments[1]);
  if (command == "latest" && arguments.size() == 2) return print_latest(arguments[1]);
  if (command == "write-records" && arguments.size() == 3) return write_records(arguments[1], arguments[2]);
  if (command == "read-records" && arguments.size() == 2) return read_records(arguments[1]);
  return invalid(
      "usage: bundle_tool write-checkpoint DIR STEP | read-checkpoint PREFIX | latest DIR | "
      "write-records FILE none|gzip|zlib | read-records FILE");
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  try {
    const tenon::Status status = tenon::run({argv + 1, argv + argc});
    if (status.ok()) return 0;
    std::cerr << "bundle_tool: " << status.message() << '\n';
  } catch (const std::exception& e) {
    std::cerr << "bundle_tool: " << e.what() << '\n';
  }
  return 1;
}
