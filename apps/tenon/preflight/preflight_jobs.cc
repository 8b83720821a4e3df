// tenon preflight mlp --jobs FILE.csv: a prediction for each row of a table of fully connected nets.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

#include "preflight/preflight_parts.h"
#include "tenon/text_file.h"

namespace tenon::runner {
namespace {

struct Column {
  const char* name;
  int64_t most;  // 1 to this
};
constexpr std::array<Column, 5> kColumns{
    {{"layers", 10000}, {"nodes", 1 << 20}, {"input", 1 << 24}, {"output", 1 << 24}, {"batch", 1 << 24}}};
constexpr const char* kIgnored = "step_ms";
constexpr size_t kMaxLine = 4096, kMaxRows = 1 << 20;

struct Job {
  size_t line = 0;
  std::array<int64_t, 5> sizes{};  // in the order of kColumns
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(',', at), line.size());
    std::string cell = line.substr(at, end - at);
    cell.erase(0, std::min(cell.find_first_not_of(" \t"), cell.size()));
    cell.erase(cell.find_last_not_of(" \t") + 1);
    out.push_back(std::move(cell));
    at = end + 1;
  }
  return out;
}

class JobFile {
 public:
  JobFile(const std::string& path, int cores) : path_(path), cores_(cores) {}

  std::vector<Job> read() {
    std::istringstream in(read_text_file(path_).take());
    std::vector<Job> jobs;
    for (std::string line; std::getline(in, line);) {
      ++line_;
      if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.find_first_not_of(" \t") == std::string::npos || line[line.find_first_not_of(" \t")] == '#') continue;
      if (line.size() > kMaxLine)
        fail("expected a line of at most 4,096 bytes, found " + with_commas(static_cast<int64_t>(line.size())));
      const std::vector<std::string> cells = cells_of(line);
      if (jobs.empty() && order_.empty() && is_header(cells))
        read_header(cells);
      else
        jobs.push_back(job_of(cells));
      if (jobs.size() > kMaxRows) fail("expected at most " + with_commas(kMaxRows) + " rows, found more");
    }
    if (jobs.empty()) throw Error(Status(Code::kInvalid, path_ + ": expected rows, found none"));
    return jobs;
  }

  [[noreturn]] void fail(const std::string& what, size_t line = 0) const {
    throw Error(Status(Code::kInvalid, format("%s:%zu: %s", path_.c_str(), line ? line : line_, what.c_str())));
  }

 private:
  static bool is_header(const std::vector<std::string>& cells) {
    return !cells[0].empty() && std::isalpha(static_cast<unsigned char>(cells[0][0]));
  }

  static int column_of(const std::string& name) {
    for (size_t c = 0; c < kColumns.size(); ++c)
      if (name == kColumns[c].name) return static_cast<int>(c);
    return -1;
  }

  void read_header(const std::vector<std::string>& cells) {
    const std::string expected = "expected layers,nodes,input,output,batch in any order, found ";
    const auto found = [&expected](const std::string& name) { return (expected + "the column '").append(name) + "'"; };
    std::array<int, kColumns.size()> seen{};
    for (const std::string& name : cells) {
      const int c = column_of(name);
      if (c < 0 && name != kIgnored) fail(found(name));
      if (c >= 0 && seen[static_cast<size_t>(c)]++) fail(found(name) + " twice");
      order_.push_back(c);
    }
    for (size_t c = 0; c < kColumns.size(); ++c)
      if (!seen[c]) fail(expected + "no column '" + kColumns[c].name + "'");
  }

  // Without a header: as they are listed, step_ms last or absent.
  size_t columns(size_t found) const {
    if (!order_.empty()) return order_.size();
    return found == kColumns.size() + 1 ? found : kColumns.size();
  }

  int place(size_t i) const {
    if (!order_.empty()) return order_[i];
    return i < kColumns.size() ? static_cast<int>(i) : -1;
  }

  Job job_of(const std::vector<std::string>& cells) const {
    if (cells.size() != columns(cells.size()))
      fail(format("expected %zu columns, found %zu", columns(cells.size()), cells.size()));
    Job job{.line = line_};
    for (size_t i = 0; i < cells.size(); ++i)
      if (const int c = place(i); c >= 0) job.sizes[static_cast<size_t>(c)] = number(cells[i], kColumns[c]);
    if (job.sizes[4] % cores_)
      fail(format("column batch: expected a multiple of the %d cores, found %ld", cores_,
                  static_cast<long>(job.sizes[4])));
    return job;
  }

  int64_t number(const std::string& cell, const Column& column) const {
    int64_t n = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), n);
    if (error != std::errc() || end != cell.data() + cell.size() || n < 1 || n > column.most)
      fail(format("column %s: expected an integer from 1 to %s, found '%s'", column.name,
                  with_commas(column.most).c_str(), cell.c_str()));
    return n;
  }

  std::string path_;
  int cores_;
  size_t line_ = 0;
  std::vector<int> order_;  // of the header: places in kColumns, -1 for what is ignored
};

struct Answer {
  std::optional<double> ms;  // none: out of memory
};

void check_flags(const Flags& flags, const ModelRun& model) {
  if (std::string(model.info().name) != "mlp") throw UsageError{"--jobs is for the model mlp"};
  for (const char* name : {"layers", "nodes", "input", "output", "hidden", "train_batch_size", "num_classes"})
    if (flags.given(name)) throw UsageError{std::string("--jobs and --") + name + " exclude each other"};
}

Preflight ask(const Job& job, const Params& base, const ModelRun& model, const Preflighter& machine, int iterations) {
  Params params = base;
  for (size_t c = 0; c < 4; ++c) params.set(kColumns[c].name, job.sizes[c]);
  params.set("num_classes", job.sizes[3]);
  // The measured nets were fed one-hot labels, which take their part of the infeed.
  const std::vector<FeatureSpec> features{{"image", {DType::kF32, {job.sizes[2]}}},
                                          {"label", {DType::kF32, {job.sizes[3]}}}};
  return machine.run(model.info().model, params, features, {job.sizes[4], iterations}).take();
}

void print_answers(const std::vector<Job>& jobs, const std::vector<Answer>& answers, bool json) {
  std::string out;
  if (!json) out = "layers,nodes,input,output,batch,predicted_ms,verdict\n";
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::optional<double>& ms = answers[i].ms;
    if (json) {
      Json row("job");
      for (size_t c = 0; c < kColumns.size(); ++c) row.add(kColumns[c].name, jobs[i].sizes[c]);
      if (ms) row.add("predicted_ms", *ms);
      out += row.add("verdict", ms ? "run" : "oom").str() + "\n";
      continue;
    }
    for (const int64_t n : jobs[i].sizes) out += std::to_string(n) + ",";
    out += (ms ? format("%.6g", *ms) : "") + (ms ? ",run\n" : ",oom\n");
  }
  if (json) {
    const auto ran = std::count_if(answers.begin(), answers.end(), [](const Answer& a) { return a.ms.has_value(); });
    out += Json("result")
               .add("run", static_cast<int64_t>(ran))
               .add("oom", static_cast<int64_t>(answers.size()) - static_cast<int64_t>(ran))
               .str() +
           "\n";
  }
  print_text(out);
}

}  // namespace

// Nothing is printed before every row has its answer.
int run_jobs(const Flags& flags, const ModelRun& model, const Preflighter& machine) {
  check_flags(flags, model);
  JobFile file(flags.text("jobs"), machine.units());
  const std::vector<Job> jobs = file.read();
  Params params = model.params();
  if (!flags.given("optimizer")) params.set("optimizer", std::string("rmsprop_momentum"));
  const int iterations = static_cast<int>(flags.integer("iterations_per_loop"));
  std::vector<Answer> answers(jobs.size());
  for_each_core(jobs.size(), [&](size_t i) {
    const Preflight p = ask(jobs[i], params, model, machine, iterations);
    if (p.verdict == Verdict::kRefused) file.fail(p.status.message(), jobs[i].line);
    if (p.verdict == Verdict::kAccepted) answers[i].ms = p.step.step_ms;
  });
  print_answers(jobs, answers, flags.boolean("json"));
  return 0;
}

}  // namespace tenon::runner
