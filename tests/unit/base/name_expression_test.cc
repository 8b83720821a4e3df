// Regular expressions over names of variables: what they match, and that none takes the stack or the night.
#include "base/names/name_expression.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace tenon {
namespace {

bool begins(const char* expression, const std::string& name) {
  return NameExpression::make(expression).take().begins(name);
}
bool is_in(const char* expression, const std::string& name) {
  return NameExpression::make(expression).take().is_in(name);
}
std::string why_not(const std::string& expression) { return NameExpression::make(expression).status().message(); }
std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Expected: bool(re.match(expression, name)) of Python.
TEST(NameExpression, BeginsAsPythonsReMatchDoes) {
  EXPECT_TRUE(begins("conv", "conv2d/kernel"));
  EXPECT_FALSE(begins("kernel", "conv2d/kernel"));
  EXPECT_FALSE(begins("^conv$", "conv2d/kernel"));
  EXPECT_TRUE(begins(".*kernel", "conv2d/kernel"));
  EXPECT_TRUE(begins("(?!head/)", "conv2d/kernel"));
  EXPECT_FALSE(begins("(?!head/)", "head/kernel"));
  EXPECT_TRUE(begins("(a|ab)(c|bcd)(d*)$", "abcd"));
  EXPECT_TRUE(begins("block[0-9]{1,2}/(?:conv|dense)_\\d+\\b", "block12/dense_3/bias"));
  EXPECT_FALSE(begins("block[0-9]{3}", "block12/dense_3/bias"));
  EXPECT_TRUE(begins("", "anything"));
}

TEST(NameExpression, IsFoundAnywhereAsPythonsReSearchDoes) {
  EXPECT_TRUE(is_in("bias", "dense/bias"));
  EXPECT_TRUE(is_in("/(bias|beta)$", "dense/bias"));
  EXPECT_FALSE(is_in("^bias", "dense/bias"));
}

TEST(NameExpression, SaysWhatIsNone) {
  for (const char* text : {"(a", "a)", "[a", "a{", "*", "a{3,1}", "(a)\\1"})
    EXPECT_TRUE(why_not(text).starts_with("'" + std::string(text) + "' is no regular expression: "))
        << text << why_not(text);
  EXPECT_EQ(why_not("(dense)"), "");
}

// Each called itself for every part of it, or took time that doubles with each character.
TEST(NameExpression, RefusesWhatWouldTakeTheStack) {
  const auto too_long = [](const std::string& text) {
    return why_not(text).find(" is too long a regular expression: expected at most 4000 characters") !=
           std::string::npos;
  };
  EXPECT_EQ(why_not(std::string(20000, '(')),
            "'" + std::string(80, '(') +
                ".. (20000 bytes)' is too long a regular expression: expected at most 4000 "
                "characters, times the counts of its {..}, found 20000");
  for (const char* part : {"(", "(?:", "(?=", "a", "[", "[a]", "a|", "a*", "a?", "^", "\\d"})
    EXPECT_TRUE(too_long(repeated(part, 20000))) << part;
  for (const char* text : {"a{100000}", "a{0,100000}", "(a?){5000}", "((a{100}){100}){100}", "a{20}{20}{20}",
                           "(a{9999999999999999999999})"})
    EXPECT_TRUE(too_long(text)) << text;
  EXPECT_TRUE(why_not(repeated("(?=.*", 5) + repeated(")", 5))
                  .ends_with(" looks ahead 5 times, expected at most 4 of (?=..) and (?!..)"));
}

TEST(NameExpression, WhatItTakesEndsWithinTheStack) {
  const std::string name(1000, 'a');
  for (const std::string& text :
       {repeated("(", 2000) + repeated(")", 2000), repeated("a", 1000) + repeated("a?", 1500), repeated("a?", 2000),
        repeated("a|", 2000), repeated("a*", 2000), std::string("(a?){444}"), std::string("(a*){444}"),
        std::string("((a?){16}){17}"), repeated("(?:", 1000) + repeated(")", 1000),
        repeated("(a|b", 800) + repeated(")", 800)}) {
    const Result<NameExpression> expression = NameExpression::make(text);
    ASSERT_TRUE(expression.ok()) << expression.status().message();
    EXPECT_TRUE(expression->begins(name)) << text.substr(0, 20);
  }
  EXPECT_TRUE(begins("(a|b)*$", std::string(100000, 'a')));
  EXPECT_FALSE(begins("(a|a)*b", std::string(60, 'a')));  // 2^60 ways
  EXPECT_FALSE(begins("(.*)*(.*)*b", std::string(60, 'a')));
  EXPECT_FALSE(begins("(?=.*(?=.*(?=.*b)))", std::string(60, 'a')));
}

// As where two models are loaded at once. A thread sanitizer sees it where no other test has run before.
TEST(NameExpression, IsMadeOnManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const Result<NameExpression> made = NameExpression::make_with_groups("layer_([0-9]+)/(kernel|bias)");
      right += made.ok() && made->replaced("layer_12/bias", "$1.$2") == "12.bias";
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace tenon
