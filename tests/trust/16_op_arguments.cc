// Every op with operands and attributes that are wrong in some way: an error in words each time, or a node that can be
// lowered; never a signal, an endless loop or another exception. Half of the sets are drawn; the others are a valid one, of
// the conformance suite's corpus, with one thing changed.
//   16_op_arguments SETS [unprotected]     SETS: sets of arguments an op; prints "op verdict" lines and the counts
// unprotected: shape rules are called without the checks that stand before them.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "compile/compile.h"
#include "conformance/corpus/corpus.h"
#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/plugin/graph.h"

namespace tenon {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

// What the child is at, and what it has done; shared with the parent.
struct Progress {
  uint64_t sets, refused, accepted, started;
  char what[400];
};

class Arguments {
 public:
  // A third of the sets has nothing that is wrong on purpose, so that ops of many operands are reached too.
  explicit Arguments(uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15u), noise_(seed % 3 * 6) {}

  template <class T, size_t n>
  const T& one_of(const T (&from)[n]) {
    return from[random_() % n];
  }
  bool seldom() { return noise_ && random_() % noise_ == 0; }
  bool often() { return random_() % 4 != 0; }
  uint64_t below(uint64_t n) { return random_() % n; }
  DType any_dtype() { return static_cast<DType>(1 + below(8)); }
  int64_t size() {
    constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 1ll << 31, 1ll << 62};
    return one_of(kSizes);
  }
  int64_t bad_number() {
    constexpr int64_t kNumbers[] = {0, 1, -1, 2, 9, -9, 1ll << 31, 1ll << 62, -(1ll << 62), kMost, kLeast};
    return one_of(kNumbers);
  }
  double bad_double() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kDoubles[] = {0, 2, -1, 1e300, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
    return one_of(kDoubles);
  }

  // Mostly ranks and sizes that ops take, so that rules are reached; or what no rule expects.
  Type type(char dtypes) {
    constexpr int64_t kNice[] = {1, 2, 3, 3, 4, 5}, kBad[] = {0, 1ll << 31, 1ll << 62, (1ll << 32) + 1, 1ll << 30};
    constexpr int kRanks[] = {0, 1, 1, 2, 2, 3, 4, 4, 5, 8};
    const int rank = one_of(kRanks);
    std::vector<int64_t> dims;
    const bool same = random_() % 2;  // equal sizes fit more rules
    const int64_t size = one_of(kNice);
    for (int d = 0; d < rank; ++d) dims.push_back(seldom() && seldom() ? one_of(kBad) : same ? size : one_of(kNice));
    return {dtype(dtypes), Shape(dims)};
  }

  DType dtype(char dtypes) {
    constexpr DType kAll[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                              DType::kI32, DType::kI64,  DType::kU8,  DType::kBool};
    if (seldom()) return one_of(kAll);
    return dtypes == 'I' ? DType::kI32 : dtypes == 'B' ? DType::kBool : DType::kF32;
  }

  int64_t whole() {
    constexpr int64_t kBad[] = {-1, 9, -9, 1ll << 31, 1ll << 62, -(1ll << 62), kMost, kLeast};
    return seldom() ? one_of(kBad) : static_cast<int64_t>(often() ? random_() % 2 : random_() % 4);
  }

  AttrValue attribute(const Signature::Attribute& a) {
    constexpr double kDoubles[] = {
        0, 1, 0.5, -1, 1e300, -0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
    if (seldom() && seldom()) return std::string("of another type");
    if (!a.required && random_() % 2) return a.missing;
    if (a.type == "i64") return whole();
    if (a.type == "f64") return one_of(kDoubles);
    if (a.type == "bool") return random_() % 2 == 0;
    if (a.type == "dtype") return seldom() ? static_cast<DType>(whole()) : dtype('A');
    if (a.type == "enum") return Enum{static_cast<int32_t>(whole())};
    if (a.type == "bytes") return std::string(random_() % 20, '\x7f');
    std::vector<int64_t> list(seldom() ? random_() % 12 : random_() % 5);
    for (int64_t& item : list) item = whole();
    return list;
  }

 private:
  std::mt19937_64 random_;
  uint64_t noise_;
};

// A node that its op takes.
struct Example {
  std::vector<Type> operands;  // of no dtype: absent
  Attrs attrs;
};
using Examples = std::map<std::string, std::vector<Example>, std::less<>>;

AttrValue value_of(const plugin::NodeView& node, std::string_view name) {
  switch (node.find(name)->type) {
    case TENON_ATTR_F64:
      return node.f64(name);
    case TENON_ATTR_BOOL:
      return node.flag(name);
    case TENON_ATTR_DTYPE:
      return static_cast<DType>(node.i64(name));
    case TENON_ATTR_ENUM:
      return Enum{node.enumerator(name)};
    case TENON_ATTR_LIST:
      return node.list(name).vec();
    default:
      return node.i64(name);
  }
}

Example example_of(const plugin::NodeView& node) {
  Example example;
  for (int i = 0; i < node.operands(); ++i) {
    if (!node.has(i)) {
      example.operands.push_back({DType::kNone, {}});
      continue;
    }
    const plugin::ValueView value = node.in(i);
    example.operands.push_back({static_cast<DType>(value.dtype()), Shape(value.dims().vec())});
  }
  for (int i = 0; i < node.attributes(); ++i) {
    const std::string_view name = node.attribute_name(i);
    if (name.substr(0, 6) != "tenon.") example.attrs.push_back({std::string(name), value_of(node, name)});
  }
  return example;
}

// Some of each op, as the corpus holds them; a constant is no node there.
const Examples& valid_examples() {
  constexpr size_t kMost = 12;
  static const Examples& examples = *[] {
    auto* found = new Examples;
    (*found)["constant"].push_back(
        {{}, {{"value", std::string(4, '\0')}, {"shape", std::vector<int64_t>{2, 3}}, {"dtype", DType::kF32}}});
    for (const conformance::Case& c : conformance::built_in_corpus())
      for (const auto* graph : {&c.whole, &c.lowered}) {
        if (c.min_memory || graph->empty()) continue;
        const plugin::GraphView view(*graph->graph());
        for (uint32_t i = 0; i < view.n_nodes(); ++i)
          if (auto& list = (*found)[std::string(view.node(i).op())]; list.size() < kMost)
            list.push_back(example_of(view.node(i)));
      }
    return found;
  }();
  return examples;
}

std::string text_of(const OpDef& op, const Graph& graph, const Node& node) {
  std::string text(op.name);
  for (const ValueId v : node.operands) text += " " + (v < 0 ? std::string("absent") : graph.type(v).str());
  for (const Attr& a : node.attrs) {
    text += " " + a.name + "=";
    if (const auto* i = std::get_if<int64_t>(&a.value)) text += std::to_string(*i);
    if (const auto* d = std::get_if<double>(&a.value)) text += std::to_string(*d);
    if (const auto* e = std::get_if<Enum>(&a.value)) text += std::to_string(e->number);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&a.value))
      for (const int64_t item : *list) text += std::to_string(item) + ",";
  }
  return text;
}

Node node_of(const OpDef& op, Graph& graph, Arguments& arguments) {
  const Signature& signature = signature_of(op);
  Node node;
  node.op = op.name;
  node.name = "bad";
  const bool alike = arguments.often();  // as updates and elementwise ops have it
  const Shape first = arguments.type('F').shape;
  const auto add = [&](char dtypes) {
    Type type = arguments.type(dtypes);
    if (alike && arguments.often()) type.shape = arguments.often() ? first : Shape{};
    node.operands.push_back(graph.add_input(type, Role::kFeed, "x" + std::to_string(node.operands.size())));
  };
  for (const Signature::Operand& operand : signature.operands) {
    if (arguments.seldom() && (operand.optional || arguments.seldom()))
      node.operands.push_back(kAbsent);
    else
      add(operand.dtypes);
    if (operand.variadic) add(operand.dtypes);
  }
  if (arguments.seldom() && arguments.seldom()) add('A');                                            // one too many
  if (arguments.seldom() && arguments.seldom() && !node.operands.empty()) node.operands.pop_back();  // one too few
  for (const Signature::Attribute& attribute : signature.attributes)
    if (!arguments.seldom() || !arguments.seldom())
      node.attrs.push_back({attribute.name, arguments.attribute(attribute)});
  return node;
}

void change_operand(Example& example, size_t k, Arguments& arguments) {
  Type& type = example.operands[k];
  std::vector<int64_t> dims = type.shape.vec();
  switch (arguments.below(8)) {
    case 0:
      type.dtype = arguments.any_dtype();
      break;
    case 1:
      dims.push_back(1);
      break;
    case 2:
      if (!dims.empty()) dims.pop_back();
      break;
    case 3:
      type.dtype = DType::kNone;  // absent
      break;
    case 4:
      example.operands.erase(example.operands.begin() + static_cast<std::ptrdiff_t>(k));
      return;
    case 5:
      example.operands.push_back(type);
      return;
    default:
      if (!dims.empty()) dims[arguments.below(dims.size())] = arguments.size();
  }
  if (dims.size() <= static_cast<size_t>(kMaxRank)) type.shape = Shape(dims);
}

void change_attribute(Example& example, size_t k, Arguments& arguments) {
  Attr& attr = example.attrs[k];
  const uint64_t how = arguments.below(8);
  if (how == 0) {
    example.attrs.erase(example.attrs.begin() + static_cast<std::ptrdiff_t>(k));
    return;
  }
  if (how == 1) {
    attr.value = std::string("of another type");
  } else if (auto* list = std::get_if<std::vector<int64_t>>(&attr.value); list && how == 2) {
    list->push_back(1);
  } else if (list && !list->empty()) {
    (*list)[arguments.below(list->size())] = arguments.bad_number();
  } else if (std::get_if<int64_t>(&attr.value)) {
    attr.value = arguments.bad_number();
  } else if (std::get_if<double>(&attr.value)) {
    attr.value = arguments.bad_double();
  } else if (std::get_if<Enum>(&attr.value)) {
    attr.value = Enum{static_cast<int32_t>(arguments.bad_number())};
  } else if (std::get_if<DType>(&attr.value)) {
    attr.value = static_cast<DType>(arguments.bad_number());
  } else {
    attr.value = int64_t{1};
  }
}

// The valid one of number `which`, or with one thing changed.
Node node_of_example(const OpDef& op, Graph& graph, Arguments& arguments, uint64_t which, bool change) {
  Node node;
  node.op = op.name;
  node.name = "bad";
  const auto found = valid_examples().find(std::string(op.name));
  if (found == valid_examples().end()) fail("no example");
  Example example = found->second[which % found->second.size()];
  const size_t operands = example.operands.size(), all = operands + example.attrs.size();
  if (change && all > 0) {
    const size_t k = arguments.below(all);
    k < operands ? change_operand(example, k, arguments) : change_attribute(example, k - operands, arguments);
  }
  for (const Type& type : example.operands)
    node.operands.push_back(type.dtype == DType::kNone
                                ? kAbsent
                                : graph.add_input(type, Role::kFeed, "x" + std::to_string(node.operands.size())));
  node.attrs = example.attrs;
  return node;
}

// What is accepted is to be lowered, differentiated and flattened as any graph.
void go_on_with(Graph& graph, const Node& node) {
  Tensors operands;
  for (const ValueId v : node.operands) operands.push_back(v < 0 ? Tensor() : Tensor(&graph, v));
  const Tensors results = emit(graph, node.op, operands, node.attrs);
  for (const Tensor& result : results) graph.results.push_back({result.id(), ResultMode::kLast, -1, false, "r"});
  const Status status = verify(graph);
  if (!status.ok()) return;
  const Graph lowered = lower_to_primitives(graph);
  flatten(lowered);
}

constexpr uint64_t kUnchanged = 4;  // sets, the first, that are valid ones as they are

void try_one(const OpDef& op, uint64_t seed, bool unprotected, Progress& progress) {
  Arguments arguments(seed);
  Graph graph;
  try {
    const bool starts = seed <= kUnchanged;
    Node node =
        starts || seed % 2 ? node_of_example(op, graph, arguments, seed, !starts) : node_of(op, graph, arguments);
    std::snprintf(progress.what, sizeof progress.what, "set %llu: %s", static_cast<unsigned long long>(seed),
                  text_of(op, graph, node).c_str());
    if (unprotected) {
      infer_by_rule(graph, node, signature_of(op));
    } else {
      Node checked = node;
      infer(graph, checked);
      ++progress.accepted;
      progress.started += starts;
      go_on_with(graph, node);
    }
  } catch (const Error& error) {
    ++progress.refused;
    if (std::strlen(error.what()) == 0 || std::strchr(error.what(), '\n')) std::_Exit(4);
  }
}

// In a child: 0, or what no argument may do.
[[noreturn]] void try_all(const OpDef& op, uint64_t sets, bool unprotected, Progress& progress) {
  const rlimit memory{1ul << 30, 1ul << 30}, cpu{20 + sets / 1000, 30 + sets / 1000}, none{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_CORE, &none);
  try {
    for (progress.sets = 0; progress.sets < sets; ++progress.sets)
      try_one(op, progress.sets + 1, unprotected, progress);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s throws, but no tenon::Error: %s\n", std::string(op.name).c_str(), progress.what,
                 error.what());
    std::_Exit(3);
  }
  std::_Exit(0);
}

int run(uint64_t sets, bool unprotected) {
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) return 2;
  uint64_t refused = 0, accepted = 0, wrong = 0;
  size_t reached = 0;
  valid_examples();  // once, for all children
  for (const OpDef* op : all_ops()) {
    *progress = {};
    const pid_t child = fork();
    if (child == 0) try_all(*op, sets, unprotected, *progress);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    refused += progress->refused, accepted += progress->accepted;
    reached += progress->started != 0;
    if (!unprotected && progress->started == 0)
      std::fprintf(stderr, "%s: no valid example is accepted\n", std::string(op->name).c_str()), ++wrong;
    if (status == 0) continue;
    ++wrong;
    if (!unprotected)
      std::fprintf(stderr, "%s: %s %d: %s\n", std::string(op->name).c_str(),
                   WIFSIGNALED(status) ? "signal" : "exit code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), progress->what);
  }
  std::printf(
      "%zu ops, %llu sets each: %llu refused in words, %llu accepted and lowered, %zu ops began "
      "with a valid one; %llu ops in which one ended the process\n",
      all_ops().size(), static_cast<unsigned long long>(sets), static_cast<unsigned long long>(refused),
      static_cast<unsigned long long>(accepted), reached, static_cast<unsigned long long>(wrong));
  return wrong != 0;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: 16_op_arguments SETS [unprotected]\n");
    return 2;
  }
  return tenon::run(std::strtoull(argv[1], nullptr, 10), argc > 2);
}
