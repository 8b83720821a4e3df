// Values of more than 2^31 bytes: what a 32-bit index or size would get wrong. The reference cannot hold them; their
// results follow from the period of what fills their inputs, a prime, so that a wrapped index shows.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

constexpr int64_t kPeriod = 251, kBytes = (int64_t{1} << 31) + 3001;

Doubles counted(int64_t first, int64_t step, int64_t n) {
  Doubles out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>((first + i * step) % kPeriod));
  return out;
}

uint64_t bytes_of(const plugin::FlatGraph& flat) {
  const plugin::GraphView view(*flat.graph());
  int64_t bytes = 0;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) bytes += view.value(view.input(i).value).bytes();
  for (uint32_t i = 0; i < view.n_results(); ++i) bytes += view.value(view.result(i).value).bytes();
  return static_cast<uint64_t>(bytes);
}

// `expected`: of the one result, over and over.
void add_large(Cases& cases, const Definition& definition, Doubles expected) {
  Case c = op_case(definition);
  c.min_memory = bytes_of(c.whole);
  Fill fill;
  fill.values = std::move(expected);
  c.expected.push_back(std::move(fill));
  cases.push_back(std::move(c));
}

}  // namespace

void add_large_cases(Cases& cases) {
  // Counts that a float does not hold.
  constexpr int64_t kCounts = (int64_t{1} << 24) + 1001;
  for (DType t : {DType::kI32, DType::kI64}) {
    Doubles last;
    for (int64_t i = kCounts - 1000; i < kCounts; ++i) last.push_back(static_cast<double>(i + 5));
    add_large(cases,
              {"iota",
               cat("beyond 2^24 ", dtype_name(t)),
               {one(t, 5)},
               [t](const Tensors& in) {
                 const Tensor counts = iota(*in[0].graph(), t, {kCounts}, 0);
                 return Tensors{add(slice(counts, {kCounts - 1000}, {kCounts}, {1}), in[0])};
               }},
              last);
  }
  const Input x = values(DType::kU8, {kBytes}, counted(0, 1, kPeriod));
  add_large(cases,
            {"slice",
             "beyond 2^31 bytes",
             {x},
             [](const Tensors& in) { return Tensors{slice(in[0], {kBytes - 4001}, {kBytes}, {1})}; }},
            counted(kBytes - 4001, 1, kPeriod));
  const Doubles places{2147483647.0, 2147483648.0, 2147486648.0,  0,  2147486649.0, -1,
                       4294967296.0, 1073741824.0, -2147483648.0, 250};
  Doubles found;
  for (double p : places)
    found.push_back(p >= 0 && p < static_cast<double>(kBytes) ? static_cast<double>(static_cast<int64_t>(p) % kPeriod)
                                                              : 0);
  add_large(cases,
            {"gather",
             "beyond 2^31 bytes",
             {x, values(DType::kI64, {static_cast<int64_t>(places.size())}, places)},
             [](const Tensors& in) { return Tensors{gather(in[0], in[1], 0)}; }},
            found);
  Doubles below;
  for (double v : counted(0, 1, kPeriod)) below.push_back(v < 100);
  add_large(cases,
            {"compare",
             "beyond 2^31 bytes",
             {x, one(DType::kU8, 100)},
             [](const Tensors& in) { return Tensors{compare(in[0], in[1], CompareKind::kLt)}; }},
            below);
  // Numbers of four bytes, whose sum wraps.
  constexpr int64_t kNumbers = (int64_t{1} << 29) + 7;
  int64_t sum = 0;
  for (int64_t i = 0, triple[] = {1000, 2001, -7}; i < 3; ++i) sum += triple[i] * ((kNumbers - i + 2) / 3);
  add_large(cases,
            {"reduce",
             "beyond 2^31 bytes",
             {values(DType::kI32, {kNumbers}, {1000, 2001, -7})},
             [](const Tensors& in) { return Tensors{reduce(in[0], {0}, ReduceKind::kSum)}; }},
            {static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(sum)))});
}

}  // namespace tenon::corpus
