// Keras's bar at times that are given: tests/golden/printed.txt.
#include "callback/progress_bar.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace tenon {
namespace {

double bar_seconds = 0;  // on the clock
std::chrono::steady_clock::time_point bar_now() {
  return std::chrono::steady_clock::time_point() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(bar_seconds));
}

std::string put_in(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

// The lines behind "== a data set of unknown length".
std::vector<std::string> golden_bars() {
  std::ifstream file(std::string(TENON_GOLDEN) + "/printed.txt");
  std::vector<std::string> out;
  bool in = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) in = line.starts_with("== a data set of unknown length");
    if (in && !line.starts_with("== ")) out.push_back(put_in(put_in(line, "<CR>", "\r"), "<ESC>", "\x1b"));
  }
  return out;
}

// What is drawn after so many steps that took so long.
std::string bar_drawn(int64_t target, int64_t done, double took, double loss) {
  ::unsetenv("NO_COLOR");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  bar_seconds = 100;
  ProgressBar bar(file.get(), Verbose::kBar, &bar_now);
  bar.begin(target);
  bar_seconds += took;
  bar.update(done, {{"loss", loss}});
  std::string text(static_cast<size_t>(std::ftell(file.get())), ' ');
  std::rewind(file.get());
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file.get()), text.size());
  return text;
}

TEST(ProgressBar, OfUnknownLengthAndOfHoursIsKeras) {
  const std::vector<std::string> golden = golden_bars();
  ASSERT_GE(golden.size(), 2u);
  EXPECT_EQ(bar_drawn(0, 2, 0.504, 0.5299), golden[0]);
  EXPECT_EQ(bar_drawn(100000, 1000, 4000, 1), golden[1]);
}

// Keras: over an hour h:mm:ss, over a minute m:ss, else seconds.
TEST(ProgressBar, SaysTheTimeThatIsLeftInItsThreeForms) {
  const auto left = [](int64_t target, double took) {
    const std::string text = bar_drawn(target, 10, took, 1);  // of 10 steps
    const size_t end = text.rfind("\x1b[0m"), begin = text.rfind("\x1b[1m") + 4;
    return text.substr(begin, end - begin);
  };
  EXPECT_EQ(left(70, 10), "60s");
  EXPECT_EQ(left(71, 10), "1:01");
  EXPECT_EQ(left(100, 10), "1:30");
  EXPECT_EQ(left(3610, 10), "60:00");
  EXPECT_EQ(left(3611, 10), "1:00:01");
}

}  // namespace
}  // namespace tenon
