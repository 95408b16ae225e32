// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/check_module.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/runtime/plugin_sdk.h"

namespace tern::backend::vulkan {
namespace {

using spirv::Decoration;
using spirv::Op;
using spirv::StorageClass;
using Words = std::span<const uint32_t>;

constexpr size_t kHeaderWords = 5;
constexpr uint32_t kMaxBound = 0x3fffff;  // that every consumer of SPIR-V takes
constexpr uint32_t kOurGenerator = 0;

struct OpInfo {
  const char* name;
  std::string_view operands;
};

const OpInfo* FindOp(uint32_t number) {
  static const std::map<uint32_t, OpInfo> kOps = {
#define TERN_SPIRV_OP(name, number, operands) {number, {"Op" #name, operands}},
      TERN_SPIRV_OPS(TERN_SPIRV_OP)
#undef TERN_SPIRV_OP
  };
  auto it = kOps.find(number);
  return it == kOps.end() ? nullptr : &it->second;
}

// Whether a number is one of an enumeration that this letter of TERN_SPIRV_OPS stands for.
bool IsKnown(char letter, uint32_t number) {
#define TERN_SPIRV_NUMBER(name, number) number,
  static const std::map<char, std::set<uint32_t>> kNumbers = {
      {'A', {spirv::kAddressingLogical, spirv::kAddressing64}},
      {'L', {spirv::kMemoryModelGlsl450}},
      {'E', {spirv::kModelGlCompute}},
      {'C', {TERN_SPIRV_CAPABILITIES(TERN_SPIRV_NUMBER)}},
      {'S', {TERN_SPIRV_STORAGE_CLASSES(TERN_SPIRV_NUMBER)}},
      {'D', {TERN_SPIRV_DECORATIONS(TERN_SPIRV_NUMBER)}},
      {'M', {TERN_SPIRV_EXECUTION_MODES(TERN_SPIRV_NUMBER)}},
      {'G', {TERN_SPIRV_GLSL(TERN_SPIRV_NUMBER)}},
      {'F', {0}},
      {'V', {spirv::kAligned}},
      {'B', {TERN_SPIRV_BUILT_INS(TERN_SPIRV_NUMBER)}},
  };
#undef TERN_SPIRV_NUMBER
  auto it = kNumbers.find(letter);
  return it == kNumbers.end() || it->second.contains(number);
}

struct Instruction {
  size_t at = 0;  // in words
  Op op = Op::kFunctionEnd;
  const OpInfo* info = nullptr;  // null: not one of ours
  Words words;                   // all operands
  uint32_t type = 0, result = 0;
  std::vector<uint32_t> ids;      // other operands that are ids, in order
  std::vector<uint32_t> numbers;  // those that are not
};

class Checker {
 public:
  explicit Checker(Words words) : words_(words) {}

  void Run() {
    CheckHeader();
    for (size_t at = kHeaderWords; at < words_.size();) at += Read(at);
    if (code_.empty() || code_.back().op != Op::kFunctionEnd)
      Fail("it does not end with the end of a function");
    if (words_[2] != kOurGenerator) return;
    for (current_ = 0; current_ < code_.size(); ++current_) {
      const Instruction& it = code_[current_];
      if (it.op == Op::kFunction)
        CheckFunction();
      else
        CheckGlobal(it);
    }
    CheckAnnotations();
  }

 private:
  // ---- Words

  [[noreturn]] static void Fail(const std::string& what) {
    TERN_THROW(ValueError) << "no SPIR-V module: " << what;
  }
  [[noreturn]] static void Fail(const Instruction& it, const std::string& what) {
    Fail((it.info ? it.info->name : "the instruction") + (" at word " + std::to_string(it.at)) +
         ": " + what);
  }
  static void Require(bool holds, const Instruction& it, const char* what) {
    if (!holds) Fail(it, what);
  }

  void CheckHeader() {
    if (words_.size() < kHeaderWords) Fail(std::to_string(words_.size()) + " words");
    if (words_[0] != spirv::kMagic) Fail("it begins with another number");
    uint32_t major = words_[1] >> 16, minor = words_[1] >> 8 & 0xff;
    if (major != 1 || minor > 6 || (words_[1] & 0xff) != 0)
      Fail("version " + std::to_string(words_[1]) + " is none of 1.0 to 1.6");
    bound_ = words_[3];
    if (bound_ == 0 || bound_ > kMaxBound)
      Fail("a bound of " + std::to_string(bound_) + " for ids; up to " + std::to_string(kMaxBound) +
           " is legal");
    if (words_[4] != 0) Fail("the word behind the bound is not 0");
  }

  size_t Read(size_t at) {
    uint32_t count = words_[at] >> 16, number = words_[at] & 0xffff;
    Instruction it;
    it.at = at;
    it.op = static_cast<Op>(number);
    it.info = FindOp(number);
    if (count == 0 || count > words_.size() - at) Fail(it, "it is longer than the module");
    it.words = words_.subspan(at + 1, count - 1);
    if (it.info)
      ReadOperands(&it);
    else if (words_[2] == kOurGenerator)
      Fail(it, "Tern makes none with the number " + std::to_string(number));
    if (it.info && it.result) Define(it);
    code_.push_back(std::move(it));
    return count;
  }

  uint32_t CheckId(const Instruction& it, uint32_t id) const {
    if (id == 0 || id >= bound_)
      Fail(it, "id " + std::to_string(id) + " is not below the bound, " + std::to_string(bound_));
    return id;
  }

  void ReadOperands(Instruction* it) {
    bool is_ours = words_[2] == kOurGenerator;
    std::string_view pattern = it->info->operands;
    Words rest = it->words;
    for (size_t i = 0; i < pattern.size(); ++i) {
      bool repeats = i + 1 < pattern.size() && pattern[i + 1] == '*';
      char letter = pattern[i];
      if (letter == 's') {
        rest = rest.subspan(TextWords(*it, rest));
        continue;
      }
      // What memory accesses say may be left out; so may a repeated operand.
      bool may_end = repeats || letter == 'V';
      size_t most = repeats || letter == 'v' || letter == 'D' || letter == 'V' ? rest.size() : 1;
      if (rest.empty() && !may_end) Fail(*it, "an operand is missing");
      for (size_t n = 0; n < most && !rest.empty(); ++n) {
        Take(it, n == 0 || repeats ? letter : 'n', rest[0], is_ours);
        rest = rest.subspan(1);
      }
      i += repeats;
    }
    if (!rest.empty() && is_ours) Fail(*it, "it has more operands than it takes");
  }

  void Take(Instruction* it, char letter, uint32_t word, bool is_ours) const {
    switch (letter) {
      case 't':
        it->type = CheckId(*it, word);
        break;
      case 'r':
        it->result = CheckId(*it, word);
        break;
      case 'i':
        it->ids.push_back(CheckId(*it, word));
        break;
      default:
        if (is_ours && !IsKnown(letter, word))
          Fail(*it, std::to_string(word) + " is none of the numbers that Tern uses there");
        it->numbers.push_back(word);
    }
  }

  static size_t TextWords(const Instruction& it, Words rest) {
    for (size_t i = 0; i < rest.size(); ++i)
      for (int byte = 0; byte < 4; ++byte)
        if ((rest[i] >> byte * 8 & 0xff) == 0) return i + 1;
    Fail(it, "its text does not end");
  }

  static std::string Text(Words words) {
    std::string text;
    for (uint32_t word : words)
      for (int byte = 0; byte < 4 && (word >> byte * 8 & 0xff); ++byte)
        text += static_cast<char>(word >> byte * 8 & 0xff);
    return text;
  }

  void Define(const Instruction& it) {
    if (!by_id_.emplace(it.result, code_.size()).second)
      Fail(it, "id " + std::to_string(it.result) + " is defined twice");
  }

  // ---- What is known of ids

  // The instruction that defines it, anywhere.
  const Instruction& Get(const Instruction& user, uint32_t id) const {
    auto it = by_id_.find(id);
    if (it == by_id_.end()) Fail(user, "id " + std::to_string(id) + " is not defined");
    return code_[it->second];
  }
  // The same, before the instruction that uses it.
  const Instruction& Defined(const Instruction& user, uint32_t id) const {
    const Instruction& definition = Get(user, id);
    if (definition.at >= user.at) Fail(user, "id " + std::to_string(id) + " is defined behind it");
    return definition;
  }
  static bool IsType(const Instruction& it) {
    return it.op >= Op::kTypeVoid && it.op <= Op::kTypeFunction;
  }
  const Instruction& TypeNamed(const Instruction& user, uint32_t id) const {
    const Instruction& type = Defined(user, id);
    Require(IsType(type), user, "an operand should be a type");
    return type;
  }
  // The type of an operand, a value that can be seen where it is used.
  const Instruction& TypeOf(const Instruction& user, uint32_t id) const {
    const Instruction& value = Defined(user, id);
    Require(value.type != 0 && value.op != Op::kFunction, user, "an operand should be a value");
    auto scope = scope_of_.find(id);
    Require(scope == scope_of_.end() || Encloses(scope->second, scope_), user,
            "an operand is a value of another branch");
    return TypeNamed(user, value.type);
  }
  bool Encloses(size_t outer, size_t inner) const {
    while (inner > outer) inner = parents_[inner];
    return inner == outer;
  }
  static bool IsInt(const Instruction& type) { return type.op == Op::kTypeInt; }
  static bool IsFloat(const Instruction& type) { return type.op == Op::kTypeFloat; }
  static bool IsBool(const Instruction& type) { return type.op == Op::kTypeBool; }
  static bool IsScalar(const Instruction& type) {
    return IsInt(type) || IsFloat(type) || IsBool(type);
  }
  static uint32_t Bits(const Instruction& type) { return IsBool(type) ? 1 : type.numbers[0]; }
  // Of an integer constant of 32 bits.
  std::optional<uint32_t> Constant(const Instruction& user, uint32_t id) const {
    const Instruction& it = Defined(user, id);
    if (it.op != Op::kConstant || !IsInt(TypeNamed(user, it.type)) || it.numbers.size() != 1)
      return std::nullopt;
    return it.numbers[0];
  }

  // ---- Outside of functions

  void CheckGlobal(const Instruction& it) const {
    switch (it.op) {
      case Op::kTypeInt:
        Require(std::set<uint32_t>{8, 16, 32, 64}.contains(it.numbers[0]) && it.numbers[1] <= 1, it,
                "no such integer");
        break;
      case Op::kTypeFloat:
        Require(std::set<uint32_t>{16, 32, 64}.contains(it.numbers[0]), it, "no such float");
        break;
      case Op::kTypeVector:
        Require(IsScalar(TypeNamed(it, it.ids[0])) && it.numbers[0] >= 2 && it.numbers[0] <= 4, it,
                "no such vector");
        break;
      case Op::kTypeArray:
        CheckElement(it);
        Require(Constant(it, it.ids[1]).value_or(0) > 0, it, "the size should be a constant");
        break;
      case Op::kTypeRuntimeArray:
        CheckElement(it);
        break;
      case Op::kTypeStruct:
        for (uint32_t member : it.ids) {
          Op op = TypeNamed(it, member).op;
          Require(op != Op::kTypeVoid && op != Op::kTypeFunction && op != Op::kTypeBool, it,
                  "no such member");
        }
        break;
      case Op::kTypePointer:
        Require(TypeNamed(it, it.ids[0]).op != Op::kTypeVoid, it, "a pointer to nothing");
        break;
      case Op::kTypeFunction:
        Require(it.ids.size() == 1 && TypeNamed(it, it.ids[0]).op == Op::kTypeVoid, it,
                "a kernel takes and returns nothing");
        break;
      case Op::kConstantTrue:
      case Op::kConstantFalse:
        Require(IsBool(TypeNamed(it, it.type)), it, "its type should be bool");
        break;
      case Op::kConstant:
      case Op::kSpecConstant: {
        const Instruction& type = TypeNamed(it, it.type);
        Require(IsInt(type) || IsFloat(type), it, "its type should be a number");
        Require(it.numbers.size() == (Bits(type) == 64 ? 2 : 1), it, "its value has another size");
        break;
      }
      case Op::kSpecConstantComposite: {
        const Instruction& type = TypeNamed(it, it.type);
        Require(type.op == Op::kTypeVector && it.ids.size() == type.numbers[0], it,
                "its parts should fill a vector");
        for (uint32_t part : it.ids)
          Require(Defined(it, part).type == type.ids[0], it, "a part has another type");
        break;
      }
      case Op::kVariable:
        CheckVariable(it, /*is_local=*/false);
        break;
      case Op::kExtInstImport:
        Require(Text(it.words.subspan(1)) == "GLSL.std.450", it, "no such instructions");
        break;
      default: {
        bool is_preamble = it.op == Op::kTypeVoid || it.op == Op::kTypeBool ||
                           (it.op >= Op::kName && it.op <= Op::kCapability) ||
                           it.op == Op::kDecorate || it.op == Op::kMemberDecorate;
        Require(is_preamble && it.op != Op::kExtInst, it, "it stands outside of a function");
      }
    }
  }

  void CheckElement(const Instruction& it) const {
    const Instruction& element = TypeNamed(it, it.ids[0]);
    Require(IsInt(element) || IsFloat(element), it, "elements should be numbers");
  }

  void CheckVariable(const Instruction& it, bool is_local) const {
    const Instruction& type = TypeNamed(it, it.type);
    Require(type.op == Op::kTypePointer && type.numbers[0] == it.numbers[0], it,
            "its type should be a pointer to its memory");
    bool is_function = it.numbers[0] == static_cast<uint32_t>(StorageClass::kFunction);
    Require(is_function == is_local, it, "such memory is not there");
    Require(it.numbers[0] != static_cast<uint32_t>(StorageClass::kPhysicalStorageBuffer), it,
            "such memory is not there");
  }

  // ---- Blocks. Text follows nesting: what a construct contains stands between its parts.

  void CheckFunction() {
    const Instruction& it = code_[current_];
    Require(functions_++ == 0, it, "there is another one before");
    Require(TypeNamed(it, it.ids[0]).op == Op::kTypeFunction &&
                TypeNamed(it, it.type).op == Op::kTypeVoid,
            it, "a kernel takes and returns nothing");
    parents_ = {0};
    scope_ = 0;
    ++current_;
    const Instruction& first = Next(Op::kLabel);
    while (current_ < code_.size() && code_[current_].op == Op::kVariable) {
      CheckVariable(code_[current_], /*is_local=*/true);
      scope_of_[code_[current_++].result] = scope_;
    }
    Sequence(first.result, {});
    Next(Op::kFunctionEnd);
    Require(current_ == code_.size(), it, "the module should end with it");
    for (const Instruction* phi : phis_) CheckPhi(*phi);
    --current_;
  }

  const Instruction& Next(Op op) {
    if (current_ == code_.size()) Fail("it does not end with the end of a function");
    const Instruction& it = code_[current_];
    if (it.op != op) Fail(it, std::string("expected ") + FindOp(static_cast<uint32_t>(op))->name);
    ++current_;
    return it;
  }
  // Begins the block that should be next.
  void Begin(const Instruction& from, uint32_t label) {
    if (Next(Op::kLabel).result != label) Fail(from, "its target is not the block that follows");
  }
  size_t NewScope() {
    parents_.push_back(scope_);
    return parents_.size() - 1;
  }
  void Arrive(uint32_t from, uint32_t to) { sources_[to].insert(from); }

  // How a sequence of blocks may end.
  struct Ends {
    uint32_t next = 0;   // by a branch there; 0: by a return
    uint32_t leave = 0;  // or by a test, which leaves a loop to there
  };
  struct Nesting {
    explicit Nesting(int* depth) : depth(depth) { ++*depth; }
    ~Nesting() { --*depth; }
    int* depth;
  };
  // Blocks from where `label` begins to the end. Returns what the last instruction was.
  const Instruction& Sequence(uint32_t label, Ends ends) {
    constexpr int kMaxDepth = 5000;
    Nesting nesting(&depth_);
    for (;;) {
      block_scopes_[label] = scope_;
      const Instruction& end = Body(label);
      Require(depth_ <= kMaxDepth, end, "it is in too many blocks");
      if (end.op == Op::kSelectionMerge) {
        label = Selection(end, label);
      } else if (end.op == Op::kLoopMerge) {
        label = Loop(end, label);
      } else if (end.op == Op::kReturn) {
        Require(!ends.next && !ends.leave, end, "it is in a branch");
        return end;
      } else if (end.op == Op::kBranchConditional) {
        Require(ends.leave && end.ids[2] == ends.leave, end, "it is in no construct");
        Require(IsBool(TypeOf(end, end.ids[0])), end, "its condition should be bool");
        Arrive(label, end.ids[1]);
        Arrive(label, end.ids[2]);
        return end;
      } else if (ends.next && end.ids[0] == ends.next) {
        Arrive(label, ends.next);
        return end;
      } else {
        Arrive(label, end.ids[0]);
        Begin(end, end.ids[0]);
        label = end.ids[0];
      }
    }
  }

  // Instructions up to the one that ends the block.
  const Instruction& Body(uint32_t label) {
    for (bool begins = true;; ++current_) {
      if (current_ == code_.size()) Fail("it does not end with the end of a function");
      const Instruction& it = code_[current_];
      switch (it.op) {
        case Op::kBranch:
        case Op::kBranchConditional:
        case Op::kReturn:
        case Op::kLoopMerge:
        case Op::kSelectionMerge:
          ++current_;
          return it;
        case Op::kPhi:
          Require(begins, it, "it should be first in its block");
          Require(it.ids.size() % 2 == 0, it, "a value has no block");
          TypeNamed(it, it.type);
          phi_blocks_[&it] = label;
          phis_.push_back(&it);
          break;
        default:
          begins = false;
          CheckValue(it);
      }
      if (it.result) scope_of_[it.result] = scope_;
    }
  }

  uint32_t Selection(const Instruction& merge, uint32_t label) {
    const Instruction& branch = Next(Op::kBranchConditional);
    uint32_t after = merge.ids[0];
    Require(IsBool(TypeOf(branch, branch.ids[0])), branch, "its condition should be bool");
    for (int i : {1, 2}) {
      Arrive(label, branch.ids[static_cast<size_t>(i)]);
      Begin(branch, branch.ids[static_cast<size_t>(i)]);
      size_t around = scope_;
      scope_ = NewScope();
      Sequence(branch.ids[static_cast<size_t>(i)], {.next = after});
      scope_ = around;
    }
    Begin(merge, after);
    return after;
  }

  uint32_t Loop(const Instruction& merge, uint32_t header) {
    uint32_t after = merge.ids[0], step = merge.ids[1];
    const Instruction& enter = Next(Op::kBranch);
    Arrive(header, enter.ids[0]);
    Begin(enter, enter.ids[0]);
    const Instruction& test = Sequence(enter.ids[0], {.leave = after});
    Require(test.op == Op::kBranchConditional, test, "a loop has no test");
    size_t around = scope_;
    scope_ = NewScope();
    Begin(test, test.ids[1]);
    Sequence(test.ids[1], {.next = step});
    Begin(merge, step);
    block_scopes_[step] = scope_;
    const Instruction& back = Body(step);
    Require(back.op == Op::kBranch && back.ids[0] == header, back, "a loop does not go back");
    Arrive(step, header);
    scope_ = around;
    Begin(merge, after);
    return after;
  }

  // Its blocks are those that come to it, and each value can be seen at the end of its block.
  void CheckPhi(const Instruction& it) {
    const std::set<uint32_t>& sources = sources_[phi_blocks_[&it]];
    std::set<uint32_t> named;
    for (size_t i = 0; i < it.ids.size(); i += 2) {
      const Instruction& value = Get(it, it.ids[i]);
      Require(value.type == it.type && value.op != Op::kFunction, it, "a value has another type");
      auto scope = scope_of_.find(it.ids[i]);
      auto block = block_scopes_.find(it.ids[i + 1]);
      Require(block != block_scopes_.end(), it, "a value comes from no block");
      Require(scope == scope_of_.end() || Encloses(scope->second, block->second), it,
              "a value is one of another branch");
      named.insert(it.ids[i + 1]);
    }
    Require(named == sources && it.ids.size() == 2 * named.size(), it,
            "its blocks are not those before it");
  }

  // ---- Instructions

  enum class Rule {
    kFloats,       // all of one type, a float
    kInts,         // all of one type, an integer
    kBools,        // all bool
    kCompareInts,  // a bool of two of one type
    kCompareFloats,
    kShift,   // an integer, moved by another
    kFields,  // an integer, then numbers of bits
    kNone,
  };
  static Rule RuleOf(Op op) {
    auto number = static_cast<uint32_t>(op);
    auto within = [&](Op first, Op last) {
      return number >= static_cast<uint32_t>(first) && number <= static_cast<uint32_t>(last);
    };
    switch (op) {
      case Op::kFNegate:
      case Op::kFAdd:
      case Op::kFSub:
      case Op::kFMul:
      case Op::kFDiv:
        return Rule::kFloats;
      case Op::kIAdd:
      case Op::kISub:
      case Op::kIMul:
      case Op::kUDiv:
      case Op::kSDiv:
      case Op::kUMod:
      case Op::kBitwiseOr:
      case Op::kBitwiseXor:
      case Op::kBitwiseAnd:
      case Op::kNot:
      case Op::kBitCount:
        return Rule::kInts;
      default:
        break;
    }
    if (within(Op::kLogicalEqual, Op::kLogicalNot)) return Rule::kBools;
    if (within(Op::kIEqual, Op::kSLessThanEqual)) return Rule::kCompareInts;
    if (within(Op::kFOrdEqual, Op::kFOrdGreaterThanEqual)) return Rule::kCompareFloats;
    if (within(Op::kShiftRightLogical, Op::kShiftLeftLogical)) return Rule::kShift;
    if (within(Op::kBitFieldInsert, Op::kBitFieldUExtract)) return Rule::kFields;
    return Rule::kNone;
  }

  void CheckValue(const Instruction& it) const {
    const Instruction* result = it.type ? &TypeNamed(it, it.type) : nullptr;
    Rule rule = RuleOf(it.op);
    if (rule != Rule::kNone) return CheckArithmetic(it, rule, *result);
    auto type = [&](size_t i) -> const Instruction& { return TypeOf(it, it.ids[i]); };
    auto is_type = [&](size_t i, uint32_t id) { return type(i).result == id; };
    auto needs = [&](bool holds) { Require(holds, it, "an operand has the wrong type"); };
    switch (it.op) {
      case Op::kConvertFToU:
      case Op::kConvertFToS:
        return needs(IsInt(*result) && IsFloat(type(0)));
      case Op::kConvertSToF:
      case Op::kConvertUToF:
        return needs(IsFloat(*result) && IsInt(type(0)));
      case Op::kUConvert:
      case Op::kSConvert:
        return needs(IsInt(*result) && IsInt(type(0)) && Bits(*result) != Bits(type(0)));
      case Op::kFConvert:
        return needs(IsFloat(*result) && IsFloat(type(0)) && Bits(*result) != Bits(type(0)));
      case Op::kBitcast:
        return needs((IsInt(*result) || IsFloat(*result)) && (IsInt(type(0)) || IsFloat(type(0))) &&
                     Bits(*result) == Bits(type(0)));
      case Op::kSelect:
        return needs(IsScalar(*result) && IsBool(type(0)) && is_type(1, it.type) &&
                     is_type(2, it.type));
      case Op::kLoad:
        needs(Pointee(type(0)) == it.type);
        return CheckAlignment(it, type(0));
      case Op::kStore:
        needs(Pointee(type(0)) == type(1).result &&
              type(0).numbers[0] != Number(StorageClass::kInput));
        return CheckAlignment(it, type(0));
      case Op::kAccessChain:
        return CheckAccess(it, *result);
      case Op::kCompositeExtract:
        return needs(type(0).op == Op::kTypeVector && it.numbers.size() == 1 &&
                     it.numbers[0] < type(0).numbers[0] && type(0).ids[0] == it.type);
      case Op::kExtInst:
        Require(Defined(it, it.ids[0]).op == Op::kExtInstImport, it, "its set is not imported");
        needs(it.ids.size() == 2 && is_type(1, it.type) &&
              (it.numbers[0] == static_cast<uint32_t>(spirv::Glsl::kFindUMsb) ? IsInt(*result)
                                                                              : IsFloat(*result)));
        return;
      case Op::kControlBarrier:
        for (size_t i : {0, 1}) RequireScope(it, it.ids[i], {spirv::Scope::kWorkgroup});
        return RequireConstant(it, it.ids[2],
                               {kOrdered | spirv::kWorkgroupMemory,
                                kOrdered | spirv::kWorkgroupMemory | spirv::kUniformMemory});
      case Op::kAtomicLoad:
        RequireScope(it, it.ids[1], {spirv::Scope::kDevice, spirv::Scope::kWorkgroup});
        RequireConstant(it, it.ids[2], {0});
        return needs(IsInt(*result) && Pointee(type(0)) == it.type &&
                     type(0).numbers[0] != Number(StorageClass::kInput));
      case Op::kAtomicCompareExchange:
        RequireScope(it, it.ids[1], {spirv::Scope::kDevice, spirv::Scope::kWorkgroup});
        for (size_t i : {2, 3}) RequireConstant(it, it.ids[i], {0});
        return needs(IsInt(*result) && Pointee(type(0)) == it.type && is_type(4, it.type) &&
                     is_type(5, it.type) && type(0).numbers[0] != Number(StorageClass::kInput));
      case Op::kAtomicExchange:
      case Op::kAtomicIAdd:
      case Op::kAtomicSMin:
      case Op::kAtomicUMin:
      case Op::kAtomicSMax:
      case Op::kAtomicUMax:
      case Op::kAtomicXor:
      case Op::kAtomicAnd:
      case Op::kAtomicOr:
        RequireScope(it, it.ids[1], {spirv::Scope::kDevice, spirv::Scope::kWorkgroup});
        RequireConstant(it, it.ids[2], {0});
        return needs(IsInt(*result) && Pointee(type(0)) == it.type && is_type(3, it.type) &&
                     type(0).numbers[0] != Number(StorageClass::kInput));
      case Op::kGroupNonUniformAll:
      case Op::kGroupNonUniformAny:
        RequireScope(it, it.ids[0], {spirv::Scope::kSubgroup});
        return needs(IsBool(*result) && IsBool(type(1)));
      case Op::kGroupNonUniformBallot:
        RequireScope(it, it.ids[0], {spirv::Scope::kSubgroup});
        return needs(result->op == Op::kTypeVector && result->numbers[0] == 4 && IsBool(type(1)));
      case Op::kGroupNonUniformShuffle:
        RequireScope(it, it.ids[0], {spirv::Scope::kSubgroup});
        return needs(IsScalar(*result) && is_type(1, it.type) && IsInt(type(2)));
      default:
        Fail(it, "it stands in a function");
    }
  }

  void CheckArithmetic(const Instruction& it, Rule rule, const Instruction& result) const {
    auto type = [&](size_t i) -> const Instruction& { return TypeOf(it, it.ids[i]); };
    bool same = true, ints = true;
    for (size_t i = 0; i < it.ids.size(); ++i) {
      same &= type(i).result == type(0).result;
      ints &= IsInt(type(i));
    }
    bool as_result = type(0).result == it.type;
    bool holds = true;
    switch (rule) {
      case Rule::kFloats:
        holds = IsFloat(result) && same && as_result;
        break;
      case Rule::kInts:
        holds = IsInt(result) && same && as_result;
        break;
      case Rule::kBools:
        holds = IsBool(result) && same && as_result;
        break;
      case Rule::kCompareInts:
        holds = IsBool(result) && same && ints;
        break;
      case Rule::kCompareFloats:
        holds = IsBool(result) && same && IsFloat(type(0));
        break;
      case Rule::kShift:
      case Rule::kFields:
        holds = IsInt(result) && ints && as_result;
        break;
      case Rule::kNone:
        break;
    }
    Require(holds, it, "an operand has the wrong type");
  }

  static uint32_t Number(StorageClass storage) { return static_cast<uint32_t>(storage); }
  static uint32_t Pointee(const Instruction& type) {
    return type.op == Op::kTypePointer ? type.ids[0] : 0;
  }
  static constexpr uint32_t kOrdered = spirv::kAcquireRelease;
  void RequireConstant(const Instruction& it, uint32_t id, const std::set<uint32_t>& legal) const {
    std::optional<uint32_t> value = Constant(it, id);
    Require(value && legal.contains(*value), it, "no such scope or memory");
  }
  void RequireScope(const Instruction& it, uint32_t id,
                    std::initializer_list<spirv::Scope> legal) const {
    std::set<uint32_t> numbers;
    for (spirv::Scope scope : legal) numbers.insert(static_cast<uint32_t>(scope));
    RequireConstant(it, id, numbers);
  }
  static void CheckAlignment(const Instruction& it, const Instruction& pointer) {
    bool by_address = pointer.numbers[0] == Number(StorageClass::kPhysicalStorageBuffer);
    bool is_said = it.numbers.size() == 2;
    Require(is_said == by_address && (is_said || it.numbers.empty()), it,
            "it does not say how it is aligned, or says so in vain");
    Require(!is_said || (it.numbers[1] > 0 && (it.numbers[1] & (it.numbers[1] - 1)) == 0), it,
            "no such alignment");
  }

  void CheckAccess(const Instruction& it, const Instruction& result) const {
    const Instruction& base = TypeOf(it, it.ids[0]);
    Require(base.op == Op::kTypePointer && result.op == Op::kTypePointer &&
                base.numbers[0] == result.numbers[0],
            it, "it should make a pointer of a pointer");
    const Instruction* type = &TypeNamed(it, base.ids[0]);
    for (size_t i = 1; i < it.ids.size(); ++i) {
      Require(IsInt(TypeOf(it, it.ids[i])), it, "an index should be an integer");
      std::optional<uint32_t> index = Constant(it, it.ids[i]);
      switch (type->op) {
        case Op::kTypeStruct:
          Require(index && *index < type->ids.size(), it, "there is no such member");
          type = &TypeNamed(it, type->ids[*index]);
          break;
        case Op::kTypeArray:
          Require(!index || *index < *Constant(it, type->ids[1]), it, "there is no such element");
          [[fallthrough]];
        case Op::kTypeRuntimeArray:
          type = &TypeNamed(it, type->ids[0]);
          break;
        default:
          Fail(it, "it has more indices than dimensions");
      }
    }
    Require(result.ids[0] == type->result, it, "its type is another pointer");
  }

  // ---- What is said of ids elsewhere

  struct Annotations {
    std::map<Decoration, uint32_t> values;  // the first number, or 0
  };

  void CheckAnnotations() {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> offsets;  // by structure and member
    std::map<uint32_t, Annotations> of;
    size_t entries = 0, models = 0, sizes = 0;
    for (const Instruction& it : code_) {
      switch (it.op) {
        case Op::kEntryPoint:
          ++entries;
          Require(Get(it, it.ids[0]).op == Op::kFunction, it, "it names no function");
          for (size_t i = 1; i < it.ids.size(); ++i) {
            const Instruction& input = Get(it, it.ids[i]);
            Require(input.op == Op::kVariable && input.numbers[0] == Number(StorageClass::kInput),
                    it, "its interface should be inputs");
          }
          break;
        case Op::kMemoryModel:
          ++models;
          break;
        case Op::kExecutionMode: {
          Require(Get(it, it.ids[0]).op == Op::kFunction, it, "it names no function");
          bool is_size = it.numbers[0] == static_cast<uint32_t>(spirv::ExecutionMode::kLocalSize);
          Require(it.numbers.size() == (is_size ? 4 : 2), it, "it has another number of operands");
          sizes += is_size;
          Require(!is_size || std::count(it.numbers.begin(), it.numbers.end(), 0u) == 0, it,
                  "a block without threads");
          Require(is_size || it.numbers[1] == 16 || it.numbers[1] == 32 || it.numbers[1] == 64, it,
                  "there is no such float");
          break;
        }
        case Op::kName:
          Get(it, it.ids[0]);
          break;
        case Op::kDecorate: {
          auto decoration = static_cast<Decoration>(it.numbers[0]);
          CheckNumbers(it, decoration, it.numbers.size() - 1, it.numbers.back());
          CheckTarget(it, decoration, Get(it, it.ids[0]));
          of[it.ids[0]].values[decoration] = it.numbers.back();
          sizes += decoration == Decoration::kBuiltIn && IsWorkgroupSize(it.numbers.back());
          break;
        }
        case Op::kMemberDecorate: {
          auto decoration = static_cast<Decoration>(it.numbers[1]);
          CheckNumbers(it, decoration, it.numbers.size() - 2, it.numbers.back());
          const Instruction& type = Get(it, it.ids[0]);
          Require(type.op == Op::kTypeStruct && it.numbers[0] < type.ids.size(), it,
                  "there is no such member");
          if (decoration == Decoration::kOffset)
            offsets[{it.ids[0], it.numbers[0]}] = it.numbers[2];
          break;
        }
        default:
          break;
      }
    }
    if (entries != 1 || models != 1 || functions_ != 1 || sizes != 1)
      Fail("expected one memory model, entry point, size of blocks and function");
    for (const Instruction& it : code_) CheckMemory(it, &of, offsets);
  }

  static void CheckNumbers(const Instruction& it, Decoration decoration, size_t count,
                           uint32_t value) {
    bool has_value = decoration == Decoration::kSpecId || decoration == Decoration::kArrayStride ||
                     decoration == Decoration::kBuiltIn || decoration == Decoration::kBinding ||
                     decoration == Decoration::kDescriptorSet || decoration == Decoration::kOffset;
    Require(count == (has_value ? 1 : 0), it, "it has another number of operands");
    Require(decoration != Decoration::kBuiltIn || IsKnown('B', value), it, "no such input");
    Require(decoration != Decoration::kDescriptorSet || value == 0, it, "there is set 0 alone");
  }

  static bool IsWorkgroupSize(uint32_t built_in) {
    return built_in == static_cast<uint32_t>(spirv::BuiltIn::kWorkgroupSize);
  }

  static void CheckTarget(const Instruction& it, Decoration decoration, const Instruction& target) {
    bool holds = true;
    switch (decoration) {
      case Decoration::kSpecId:
        holds = target.op == Op::kSpecConstant;
        break;
      case Decoration::kBlock:
        holds = target.op == Op::kTypeStruct;
        break;
      case Decoration::kArrayStride:
        holds = target.op == Op::kTypeRuntimeArray;
        break;
      case Decoration::kBuiltIn:
        holds = target.op ==
                (IsWorkgroupSize(it.numbers.back()) ? Op::kSpecConstantComposite : Op::kVariable);
        break;
      case Decoration::kBinding:
      case Decoration::kDescriptorSet:
      case Decoration::kAliased:
      case Decoration::kNonWritable:
        holds = target.op == Op::kVariable;
        break;
      case Decoration::kNoContraction:
        holds = RuleOf(target.op) == Rule::kFloats;
        break;
      case Decoration::kOffset:
      case Decoration::kCoherent:
        holds = false;
        break;
    }
    Require(holds, it, "it is said of something else");
  }

  // That memory has a place and a layout.
  void CheckMemory(const Instruction& it, std::map<uint32_t, Annotations>* of,
                   const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& offsets) const {
    auto has = [&](uint32_t id, Decoration decoration) {
      return (*of)[id].values.contains(decoration);
    };
    if (it.op == Op::kTypeRuntimeArray) {
      const Instruction& element = Get(it, it.ids[0]);
      Require(has(it.result, Decoration::kArrayStride) &&
                  (*of)[it.result].values[Decoration::kArrayStride] == Bits(element) / 8,
              it, "its stride is not the size of its elements");
    }
    if (it.op == Op::kTypeStruct) {
      Require(has(it.result, Decoration::kBlock), it, "it should be a block");
      uint64_t end = 0;
      for (uint32_t i = 0; i < it.ids.size(); ++i) {
        auto offset = offsets.find({it.result, i});
        Require(offset != offsets.end() && offset->second >= end && offset->second % 4 == 0, it,
                "a member has no place of its own");
        const Instruction& type = Get(it, it.ids[i]);
        bool is_number = IsInt(type) || IsFloat(type);
        end = offset->second + (is_number ? Bits(type) / 8 : sizeof(uint64_t));
      }
      constexpr uint64_t kMost = 1 << 16;
      Require(end <= kMost, it, "it is too large");
    }
    if (it.op != Op::kVariable) return;
    const Instruction& pointee = Get(it, Get(it, it.type).ids[0]);
    auto storage = static_cast<StorageClass>(it.numbers[0]);
    if (storage == StorageClass::kStorageBuffer)
      Require(has(it.result, Decoration::kBinding) && has(it.result, Decoration::kDescriptorSet),
              it, "it has no binding");
    if (storage == StorageClass::kStorageBuffer || storage == StorageClass::kPushConstant)
      Require(pointee.op == Op::kTypeStruct, it, "it should be a block");
    if (storage == StorageClass::kInput) {
      Require(has(it.result, Decoration::kBuiltIn), it, "it is no input of a kernel");
      bool is_lane = (*of)[it.result].values[Decoration::kBuiltIn] ==
                     static_cast<uint32_t>(spirv::BuiltIn::kSubgroupLocalInvocationId);
      bool is_vector = pointee.op == Op::kTypeVector && pointee.numbers[0] == 3;
      const Instruction& word = is_vector ? Get(it, pointee.ids[0]) : pointee;
      Require(is_vector != is_lane && IsInt(word) && Bits(word) == 32, it,
              "the input has another type");
    }
    if (storage == StorageClass::kFunction || storage == StorageClass::kWorkgroup)
      Require(IsScalar(pointee) || pointee.op == Op::kTypeArray, it, "no such memory");
  }

  Words words_;
  uint32_t bound_ = 0;
  std::vector<Instruction> code_;
  std::map<uint32_t, size_t> by_id_;  // which instruction defines an id
  size_t current_ = 0;
  int functions_ = 0, depth_ = 0;
  // Scopes nest; a value is seen in its own and in those inside.
  size_t scope_ = 0;
  std::vector<size_t> parents_;
  std::map<uint32_t, size_t> scope_of_, block_scopes_;  // of values, of blocks at their end
  std::map<uint32_t, std::set<uint32_t>> sources_;      // of blocks
  std::vector<const Instruction*> phis_;
  std::map<const Instruction*, uint32_t> phi_blocks_;
};

}  // namespace

void CheckModule(std::span<const uint32_t> words) { Checker(words).Run(); }

}  // namespace tern::backend::vulkan
