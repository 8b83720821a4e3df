// Which tests a mutant gets, and in which order.
#pragma once

#include <map>
#include <vector>

#include "control.h"

namespace tenon::conformance {

class Order {
 public:
  Order(const Tests& tests, const Control& control);

  // Has tests that caught a mutant come early for its neighbours.
  void note_catch(const Mutant& mutant, const std::string& test);

  // The tests in which the mutant changes a value: those that caught what stands near, then those that caught most, then of
  // every suite by turns the quickest of each group. *reach: how many there are. What takes more than `seconds` in all is left
  // out.
  std::vector<size_t> for_one(const Mutant& m, double seconds, size_t* reach) const;
  // The tests that reach one of the mutants, the quickest first.
  std::vector<size_t> for_group(const Mutants& mutants) const;

 private:
  std::vector<size_t> changing(const Mutant& m) const;
  std::vector<size_t> by_turns(const std::vector<size_t>& tests) const;
  void lead_with_catchers(const Mutant& m, std::vector<size_t>* order) const;

  const Tests& tests_;
  const Control& control_;
  std::map<std::string, size_t> index_;             // by id
  std::vector<size_t> catches_;                     // of each test
  std::map<int, std::vector<size_t>> catchers_at_;  // by site
};

}  // namespace tenon::conformance
