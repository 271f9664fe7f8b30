// The stack machine of Python's pickle (protocols 2 to 5), without anything that runs code.
#include "zoo/pickle.h"

#include <bit>

#include "quench/error.h"
#include "zoo/pickle_globals.h"
#include "zoo/pickle_machine.h"

namespace quench {
namespace {

using Kind = PickleValue::Kind;

class PickleReader : private PickleMachine {
 public:
  using PickleMachine::PickleMachine;

  PickleTree read() {
    for (;;) {
      opcode_at_ = position_;
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == '.') break;
      if (!(scalar(opcode) || text(opcode) || container(opcode) || mutation(opcode) || memo(opcode) || object(opcode)))
        refuse("opcode ", static_cast<int>(opcode), " is not one that a state dict needs");
    }
    tree_.root = pop();
    tree_.end = position_;
    return std::move(tree_);
  }

 private:
  bool scalar(unsigned char opcode) {
    switch (opcode) {
      case 0x80: protocol(); return true;
      case 0x95: take(8); return true;  // FRAME: a hint for buffered readers
      case 'N': push_new({}); return true;
      case 0x88: push_new({.kind = Kind::kBool, .number = 1}); return true;
      case 0x89: push_new({.kind = Kind::kBool}); return true;
      case 'J': push_new({.kind = Kind::kInt, .number = number<std::int32_t>()}); return true;
      case 'K': push_new({.kind = Kind::kInt, .number = number<std::uint8_t>()}); return true;
      case 'M': push_new({.kind = Kind::kInt, .number = number<std::uint16_t>()}); return true;
      case 0x8a: push_new({.kind = Kind::kInt, .number = long_integer()}); return true;
      case 'G': push_new({.kind = Kind::kFloat, .real = big_endian_double()}); return true;
      default: return false;
    }
  }

  void protocol() {
    const int version = number<std::uint8_t>();
    if (version < 2 || version > 5) refuse("protocol ", version, " is not supported (2 to 5 are)");
  }

  std::int64_t long_integer() {  // two's complement, as many bytes as it needs
    const auto count = number<std::uint8_t>();
    if (count > 8) refuse("an integer of ", static_cast<int>(count), " bytes (8 at most)");
    const std::string_view digits = take(count);
    std::uint64_t value = !digits.empty() && (digits.back() & 0x80) ? ~std::uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return static_cast<std::int64_t>(value);
  }

  double big_endian_double() {
    std::uint64_t bits = 0;
    for (const char digit : take(8)) bits = bits << 8 | static_cast<unsigned char>(digit);
    return std::bit_cast<double>(bits);
  }

  bool text(unsigned char opcode) {
    std::uint64_t length = 0;
    switch (opcode) {
      case 'X':
      case 'T':
      case 'B': length = number<std::uint32_t>(); break;
      case 0x8c:
      case 'U':
      case 'C': length = number<std::uint8_t>(); break;
      case 0x8d:
      case 0x8e: length = number<std::uint64_t>(); break;
      default: return false;
    }
    if (length > kMaxTextBytes) refuse("a string of ", length, " bytes (", kMaxTextBytes, " at most)");
    push_new({.kind = Kind::kString, .text = std::string(take(length))});
    return true;
  }

  bool container(unsigned char opcode) {
    switch (opcode) {
      case '(': mark(); return true;
      case ')': push_new({.kind = Kind::kTuple}); return true;
      case ']': push_new({.kind = Kind::kList}); return true;
      case '}': push_new({.kind = Kind::kDict}); return true;
      case 't': push_new({.kind = Kind::kTuple, .items = pop_to_mark()}); return true;
      case 'l': push_new({.kind = Kind::kList, .items = pop_to_mark()}); return true;
      case 'd': push_new({.kind = Kind::kDict, .items = pairs()}); return true;
      case 0x85:
      case 0x86:
      case 0x87: short_tuple(opcode - 0x84U); return true;
      default: return false;
    }
  }

  void mark() {
    if (marks_.size() >= kMaxValues) refuse("more than ", kMaxValues, " marks");
    marks_.push_back(stack_.size());
  }

  void short_tuple(std::size_t count) {
    std::vector<int> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push_new({.kind = Kind::kTuple, .items = std::move(items)});
  }

  std::vector<int> pairs() {
    std::vector<int> items = pop_to_mark();
    if (items.size() % 2 != 0) refuse("a dict gets a key without a value");
    return items;
  }

  // What changes a container that is already on the stack.
  bool mutation(unsigned char opcode) {
    std::vector<int> added;
    switch (opcode) {
      case 'a':
        added = {pop()};
        extend(Kind::kList, added);
        return true;
      case 'e':
        added = pop_to_mark();
        extend(Kind::kList, added);
        return true;
      case 's':
        added = {pop()};
        added.insert(added.begin(), pop());
        extend(Kind::kDict, added);
        return true;
      case 'u':
        added = pairs();
        extend(Kind::kDict, added);
        return true;
      case '0': pop(); return true;
      case '1': pop_to_mark(); return true;
      case '2':
        push(pop());
        push(stack_.back());
        return true;
      default: return false;
    }
  }

  bool memo(unsigned char opcode) {
    switch (opcode) {
      case 'q': remember(number<std::uint8_t>()); return true;
      case 'r': remember(number<std::uint32_t>()); return true;
      case 0x94: remember(static_cast<std::uint32_t>(memo_.size())); return true;
      case 'h': recall(number<std::uint8_t>()); return true;
      case 'j': recall(number<std::uint32_t>()); return true;
      default: return false;
    }
  }

  bool object(unsigned char opcode) {
    switch (opcode) {
      case 'c': {
        const std::string module = line();
        global(module + "." + line());
        return true;
      }
      case 0x93: {
        const std::string name = expect(pop(), Kind::kString).text;
        global(expect(pop(), Kind::kString).text + "." + name);
        return true;
      }
      case 'Q': persistent(); return true;
      case 'R': reduce(); return true;
      case 'b': build(); return true;
      default: return false;
    }
  }

  void global(const std::string& name) {
    if (!is_allowed_global(name))
      refuse("it refers to '", name, "'; only tensors and plain data are read, and nothing is executed");
    push_new({.kind = Kind::kGlobal, .text = name});
  }

  // A storage: ("storage", type, key, location, elements); before torch 1.6 also what it is a view of, or None.
  void persistent() {
    const PickleValue& id = expect(pop(), Kind::kTuple);
    if (id.items.size() < 5 || id.items.size() > 6 || expect(id.items[0], Kind::kString).text != "storage")
      refuse("a persistent id that is not ('storage', type, key, location, elements)");
    if (id.items.size() == 6) expect(id.items[5], Kind::kNone);
    const std::string& type = expect(id.items[1], Kind::kGlobal).text;
    if (!storage_dtype(type)) refuse("'", type, "' is not a storage");
    PickleValue storage{.kind = Kind::kStorage,
                        .number = expect(id.items[4], Kind::kInt).number,
                        .text = expect(id.items[2], Kind::kString).text,
                        .items = {id.items[1]}};
    push_new(std::move(storage));
  }

  void reduce() {
    constexpr std::size_t kMaxArguments = 8;
    const PickleValue& packed = expect(pop(), Kind::kTuple);
    if (packed.items.size() > kMaxArguments) refuse("a call with ", packed.items.size(), " arguments");
    const std::vector<int> arguments = packed.items;
    const std::string function = expect(pop(), Kind::kGlobal).text;
    if (function == kOrderedDict) {
      push_new({.kind = Kind::kDict, .items = ordered_items(arguments)});
    } else if (function == kRebuildTensor2 || function == kRebuildTensor3) {
      tensor(arguments, function == kRebuildTensor3);
    } else if (function == kRebuildQTensor) {
      if (arguments.size() < 7) refuse("a quantized tensor with ", arguments.size(), " arguments");
      expect(arguments[4], Kind::kTuple);
      tensor(arguments, false);
      push_new({.kind = Kind::kCodes, .items = {pop(), arguments[4]}});
    } else if (function == kRebuildParameter) {
      if (arguments.empty()) refuse("a parameter without a tensor");
      expect(arguments[0], Kind::kTensor);
      push(arguments[0]);
    } else if (function == kRestoreTypeTag) {  // the value and its TorchScript type
      if (arguments.size() != 2) refuse("a type tag with ", arguments.size(), " arguments");
      push(arguments[0]);
    } else {
      refuse("'", function, "' cannot be called");
    }
  }

  std::vector<int> ordered_items(const std::vector<int>& arguments) {
    std::vector<int> items;
    if (arguments.empty()) return items;
    charge(2 * expect(arguments[0], Kind::kList).items.size());
    for (const int pair : tree_.at(arguments[0]).items) {
      const PickleValue& entry = tree_.at(pair);
      if (entry.items.size() != 2 || (entry.kind != Kind::kTuple && entry.kind != Kind::kList))
        refuse("an OrderedDict of something other than pairs");
      items.insert(items.end(), entry.items.begin(), entry.items.end());
    }
    return items;
  }

  // _v2: storage, offset, sizes, strides, requires_grad, hooks; _v3 has the dtype after them.
  void tensor(const std::vector<int>& arguments, bool has_dtype) {
    if (arguments.size() < (has_dtype ? 7U : 6U)) refuse("a tensor with ", arguments.size(), " arguments");
    expect(arguments[0], Kind::kStorage);
    expect(arguments[2], Kind::kTuple);
    expect(arguments[3], Kind::kTuple);
    std::vector<int> items = {arguments[0], arguments[2], arguments[3]};
    if (has_dtype) {
      if (!torch_dtype(expect(arguments[6], Kind::kGlobal).text)) refuse("a tensor without a dtype");
      items.push_back(arguments[6]);
    }
    const std::int64_t offset = expect(arguments[1], Kind::kInt).number;
    push_new({.kind = Kind::kTensor, .number = offset, .items = std::move(items)});
  }

  // Attributes of an OrderedDict: state dicts carry "_metadata" (module versions), which holds no tensor.
  void build() {
    pop();
    top(Kind::kDict);
  }
};

}  // namespace

const char* name_of(PickleValue::Kind kind) {
  switch (kind) {
    case Kind::kNone: return "None";
    case Kind::kBool: return "a bool";
    case Kind::kInt: return "an integer";
    case Kind::kFloat: return "a float";
    case Kind::kString: return "a string";
    case Kind::kTuple: return "a tuple";
    case Kind::kList: return "a list";
    case Kind::kDict: return "a dict";
    case Kind::kGlobal: return "a global";
    case Kind::kStorage: return "a storage";
    case Kind::kTensor: return "a tensor";
    case Kind::kCodes: return "a quantized tensor";
  }
  return "?";
}

PickleTree read_pickle(std::string_view bytes) { return PickleReader(bytes).read(); }

}  // namespace quench
