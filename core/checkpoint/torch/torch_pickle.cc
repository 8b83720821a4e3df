#include "checkpoint/torch/torch_pickle.h"

#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kMostValues = size_t{1} << 21;
constexpr int kMostDictionaries = 8;  // in one another
constexpr size_t kMostEntries = size_t{1} << 18, kMostName = 4096;

struct Value {
  enum Kind : uint8_t {
    kNone,
    kNumber,
    kText,
    kTuple,
    kDictionary,
    kGlobal,
    kStorage,
    kTensor,
    kMark,
    kOther
  } kind = kNone;
  int64_t number = 0;
  std::string text;                 // of a text, and "torch FloatStorage" of a global
  std::vector<const Value*> items;  // of a tuple or a list; keys and values of a dictionary
  DType dtype = DType::kNone;       // of a storage
  TorchTensor tensor;
};

DType dtype_of_storage(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kStorages[] = {
      {"torch FloatStorage", DType::kF32},     {"torch DoubleStorage", DType::kF64}, {"torch HalfStorage", DType::kF16},
      {"torch BFloat16Storage", DType::kBF16}, {"torch LongStorage", DType::kI64},   {"torch IntStorage", DType::kI32},
      {"torch ByteStorage", DType::kU8},       {"torch BoolStorage", DType::kBool}};
  for (const auto& [storage, dtype] : kStorages)
    if (name == storage) return dtype;
  return DType::kNone;
}

// The stack machine. All values live until its end; they are never changed after others hold them, but dictionaries and lists,
// which grow.
class Machine {
 public:
  explicit Machine(std::string_view in) : in_(in) {}

  Result<const Value*> run() {
    for (;;) {
      if (in_.empty()) return invalid("its pickle is cut off");
      const auto op = static_cast<uint8_t>(in_[0]);
      in_.remove_prefix(1);
      if (op == '.') break;
      TENON_TRY(step(op));
      if (values_.size() > kMostValues) return invalid("its pickle has more than ", kMostValues, " values");
    }
    if (stack_.size() != 1) return invalid("its pickle is damaged");
    return static_cast<const Value*>(stack_[0]);
  }

 private:
  static Status damaged() { return invalid("its pickle is damaged"); }

  Status step(uint8_t op) {
    switch (op) {
      case 0x80:  // PROTO
        return skip(1);
      case '}':  // EMPTY_DICT
        return push({.kind = Value::kDictionary});
      case ']':  // EMPTY_LIST
      case ')':  // EMPTY_TUPLE
        return push({.kind = Value::kTuple});
      case '(':  // MARK
        return push({.kind = Value::kMark});
      case 'N':
        return push({});
      case 0x88:  // NEWTRUE
        return push({.kind = Value::kNumber, .number = 1});
      case 0x89:  // NEWFALSE
        return push({.kind = Value::kNumber, .number = 0});
      case 'K':  // BININT1
        return number<uint8_t>();
      case 'M':  // BININT2
        return number<uint16_t>();
      case 'J':  // BININT
        return number<int32_t>();
      case 'G':  // BINFLOAT
        TENON_TRY(skip(8));
        return push({.kind = Value::kOther});
      case 0x8a:  // LONG1
        return long_number();
      case 'X':  // BINUNICODE
        return text<uint32_t>();
      case 0x8c:  // SHORT_BINUNICODE
        return text<uint8_t>();
      case 'c':  // GLOBAL
        return global();
      case 'q':  // BINPUT
        return put(take<uint8_t>());
      case 'r':  // LONG_BINPUT
        return put(take<uint32_t>());
      case 'h':  // BINGET
        return get(take<uint8_t>());
      case 'j':  // LONG_BINGET
        return get(take<uint32_t>());
      case 0x85:  // TUPLE1
      case 0x86:
      case 0x87:
        return tuple(static_cast<size_t>(op - 0x84));
      case 't':  // TUPLE
        return tuple_from_mark();
      case 'a':  // APPEND
        return append_items(1);
      case 'e':  // APPENDS
        return append_items(items_to_mark());
      case 's':  // SETITEM
        return append_items(2);
      case 'u':  // SETITEMS
        return append_items(items_to_mark());
      case 'Q':  // BINPERSID
        return storage();
      case 'R':  // REDUCE
        return call();
      case 'b':  // BUILD: attributes of an OrderedDict, _metadata
        return stack_.size() < 2 ? damaged() : (stack_.pop_back(), Status());
      default:
        return Status(
            Code::kUnsupported,
            cat("its pickle has instruction ", static_cast<int>(op),
                ", which dictionaries of tensors do not need: it is not run; save a state_dict, or use safetensors"));
    }
  }

  Status skip(size_t bytes) {
    if (in_.size() < bytes) return damaged();
    in_.remove_prefix(bytes);
    return {};
  }
  template <class T>
  std::optional<T> take() {
    if (in_.size() < sizeof(T)) return std::nullopt;
    T out;
    std::memcpy(&out, in_.data(), sizeof out);
    in_.remove_prefix(sizeof out);
    return out;
  }
  Status push(Value value) {
    values_.push_back(std::move(value));
    stack_.push_back(&values_.back());
    return {};
  }
  template <class T>
  Status number() {
    const std::optional<T> value = take<T>();
    return value ? push({.kind = Value::kNumber, .number = static_cast<int64_t>(*value)}) : damaged();
  }
  Status long_number() {
    const std::optional<uint8_t> bytes = take<uint8_t>();
    if (!bytes || *bytes > 8 || in_.size() < *bytes) return damaged();
    uint64_t value = *bytes > 0 && static_cast<uint8_t>(in_[*bytes - 1]) & 0x80 ? ~uint64_t{0} : 0;
    std::memcpy(&value, in_.data(), *bytes);
    in_.remove_prefix(*bytes);
    return push({.kind = Value::kNumber, .number = static_cast<int64_t>(value)});
  }
  template <class T>
  Status text() {
    const std::optional<T> bytes = take<T>();
    if (!bytes || in_.size() < *bytes) return damaged();
    Value value{.kind = Value::kText, .text = std::string(in_.substr(0, *bytes))};
    in_.remove_prefix(*bytes);
    return push(std::move(value));
  }
  Status global() {
    const size_t module = in_.find('\n'), name = module == in_.npos ? in_.npos : in_.find('\n', module + 1);
    if (name == in_.npos) return damaged();
    Value value{.kind = Value::kGlobal,
                .text = cat(in_.substr(0, module), " ", in_.substr(module + 1, name - module - 1))};
    in_.remove_prefix(name + 1);
    return push(std::move(value));
  }
  Status put(std::optional<uint32_t> at) {
    if (!at || stack_.empty() || stack_.back()->kind == Value::kMark) return damaged();
    memo_[*at] = stack_.back();
    return {};
  }
  Status get(std::optional<uint32_t> at) {
    const auto found = at ? memo_.find(*at) : memo_.end();
    if (found == memo_.end()) return damaged();
    stack_.push_back(found->second);
    return stack_.size() > kMostValues ? damaged() : Status();
  }
  // How many lie above the last mark; -1: there is none.
  size_t items_to_mark() {
    for (size_t n = 0; n < stack_.size(); ++n)
      if (stack_[stack_.size() - 1 - n]->kind == Value::kMark) {
        stack_.erase(stack_.end() - 1 - static_cast<std::ptrdiff_t>(n));
        return n;
      }
    return SIZE_MAX;
  }
  Status tuple(size_t count) {
    if (count > stack_.size()) return damaged();
    Value value{.kind = Value::kTuple};
    value.items.assign(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    for (const Value* item : value.items)
      if (item->kind == Value::kMark) return damaged();
    stack_.resize(stack_.size() - count);
    return push(std::move(value));
  }
  Status tuple_from_mark() { return tuple(items_to_mark()); }
  Status append_items(size_t count) {
    if (count >= stack_.size()) return damaged();
    Value& to = *stack_[stack_.size() - 1 - count];
    const bool dictionary = to.kind == Value::kDictionary;
    if ((!dictionary && to.kind != Value::kTuple) || (dictionary && count % 2 != 0)) return damaged();
    held_ += count;
    if (held_ > kMostValues) return damaged();
    to.items.insert(to.items.end(), stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return {};
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', 9408)
  Status storage() {
    if (stack_.empty()) return damaged();
    const Value& id = *stack_.back();
    if (id.kind != Value::kTuple || id.items.size() < 5 || id.items[0]->text != "storage" ||
        id.items[1]->kind != Value::kGlobal || id.items[2]->kind != Value::kText)
      return damaged();
    Value value{.kind = Value::kStorage, .text = id.items[2]->text, .dtype = dtype_of_storage(id.items[1]->text)};
    value.tensor.type = id.items[1]->text.substr(id.items[1]->text.rfind(' ') + 1);
    stack_.pop_back();
    return push(std::move(value));
  }

  static bool numbers_of(const Value& value, std::vector<int64_t>& out) {
    if (value.kind != Value::kTuple) return false;
    for (const Value* item : value.items) {
      if (item->kind != Value::kNumber || item->number < 0) return false;
      out.push_back(item->number);
    }
    return true;
  }

  Status call() {
    if (stack_.size() < 2) return damaged();
    const Value &arguments = *stack_.back(), &function = *stack_[stack_.size() - 2];
    if (arguments.kind != Value::kTuple || function.kind != Value::kGlobal) return damaged();
    stack_.resize(stack_.size() - 2);
    if (function.text == "collections OrderedDict") return push({.kind = Value::kDictionary});
    if (function.text == "torch._utils _rebuild_parameter" && !arguments.items.empty())
      return stack_.push_back(const_cast<Value*>(arguments.items[0])), Status();
    if (function.text != "torch._utils _rebuild_tensor_v2")
      return Status(Code::kUnsupported, cat("its pickle calls '", abbreviated(function.text),
                                            "', which is not run; save a state_dict, or use safetensors"));
    Value value{.kind = Value::kTensor};
    const auto& a = arguments.items;
    if (a.size() < 4 || a[0]->kind != Value::kStorage || a[1]->kind != Value::kNumber || a[1]->number < 0 ||
        !numbers_of(*a[2], value.tensor.dims) || !numbers_of(*a[3], value.tensor.strides) ||
        value.tensor.dims.size() != value.tensor.strides.size())
      return damaged();
    value.tensor.dtype = a[0]->dtype, value.tensor.type = a[0]->tensor.type;
    value.tensor.storage = a[0]->text, value.tensor.offset = a[1]->number;
    return push(std::move(value));
  }

  std::string_view in_;
  std::deque<Value> values_;
  std::vector<Value*> stack_;
  std::unordered_map<uint32_t, Value*> memo_;
  size_t held_ = 0;
};

using TorchTensors = std::map<std::string, TorchTensor, std::less<>>;

// `left`: entries that may still be looked at, as one dictionary may be in many.
Status collect(const Value& dictionary, const std::string& outer, int depth, size_t& left, TorchTensors& out) {
  if (depth > kMostDictionaries) return invalid("its dictionaries lie too deep in one another");
  for (size_t i = 0; i + 1 < dictionary.items.size(); i += 2) {
    if (left-- == 0) return invalid("its dictionaries have too many entries");
    const Value &key = *dictionary.items[i], &value = *dictionary.items[i + 1];
    if (key.kind != Value::kText) continue;
    const std::string name = outer.empty() ? key.text : cat(outer, ".", key.text);
    if (name.size() > kMostName) return invalid("its names are too long");
    if (value.kind == Value::kDictionary) TENON_TRY(collect(value, name, depth + 1, left, out));
    if (value.kind == Value::kTensor) out.insert_or_assign(name, value.tensor);
  }
  return {};
}

}  // namespace

Result<TorchTensors> tensors_of_pickle(std::string_view pickle) {
  Machine machine(pickle);
  TENON_ASSIGN(const Value* top, machine.run());
  if (top->kind != Value::kDictionary) return invalid("it holds no dictionary of tensors: save a state_dict");
  TorchTensors out;
  size_t left = kMostEntries;
  TENON_TRY(collect(*top, "", 0, left, out));
  return out;
}

}  // namespace tenon
