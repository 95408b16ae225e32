// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/runtime/check_module.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tern/backend/vulkan/runtime/check_annotations.h"
#include "tern/backend/vulkan/runtime/module_reader.h"

namespace tern::backend::vulkan {
namespace {

using spirv::Op;
using spirv::StorageClass;

std::string Text(std::span<const uint32_t> words) {
  std::string text;
  for (uint32_t word : words)
    for (int byte = 0; byte < 4 && (word >> byte * 8 & 0xff); ++byte)
      text += static_cast<char>(word >> byte * 8 & 0xff);
  return text;
}

// Types, operands and blocks of a module by Tern.
class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}

  void Run() {
    for (current_ = 0; current_ < code().size(); ++current_) {
      const Instruction& it = code()[current_];
      if (it.op == Op::kFunction)
        CheckFunction();
      else
        CheckGlobal(it);
    }
  }

 private:
  const std::vector<Instruction>& code() const { return module_.code(); }

  // The type of an operand, a value that can be seen where it is used.
  const Instruction& TypeOf(const Instruction& user, uint32_t id) const {
    const Instruction& value = module_.Defined(user, id);
    Require(value.type != 0 && value.op != Op::kFunction, user, "an operand should be a value");
    auto scope = scope_of_.find(id);
    Require(scope == scope_of_.end() || Encloses(scope->second, scope_), user,
            "an operand is a value of another branch");
    return module_.TypeNamed(user, value.type);
  }
  bool Encloses(size_t outer, size_t inner) const {
    while (inner > outer) inner = parents_[inner];
    return inner == outer;
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
        Require(
            IsScalar(module_.TypeNamed(it, it.ids[0])) && it.numbers[0] >= 2 && it.numbers[0] <= 4,
            it, "no such vector");
        break;
      case Op::kTypeArray:
        CheckElement(it);
        Require(module_.Constant(it, it.ids[1]).value_or(0) > 0, it,
                "the size should be a constant");
        break;
      case Op::kTypeRuntimeArray:
        CheckElement(it);
        break;
      case Op::kTypeStruct:
        for (uint32_t member : it.ids) {
          Op op = module_.TypeNamed(it, member).op;
          Require(op != Op::kTypeVoid && op != Op::kTypeFunction && op != Op::kTypeBool, it,
                  "no such member");
        }
        break;
      case Op::kTypePointer:
        Require(module_.TypeNamed(it, it.ids[0]).op != Op::kTypeVoid, it, "a pointer to nothing");
        break;
      case Op::kTypeFunction:
        Require(it.ids.size() == 1 && module_.TypeNamed(it, it.ids[0]).op == Op::kTypeVoid, it,
                "a kernel takes and returns nothing");
        break;
      case Op::kConstantTrue:
      case Op::kConstantFalse:
        Require(IsBool(module_.TypeNamed(it, it.type)), it, "its type should be bool");
        break;
      case Op::kConstant:
      case Op::kSpecConstant: {
        const Instruction& type = module_.TypeNamed(it, it.type);
        Require(IsInt(type) || IsFloat(type), it, "its type should be a number");
        Require(it.numbers.size() == (Bits(type) == 64 ? 2 : 1), it, "its value has another size");
        break;
      }
      case Op::kSpecConstantComposite: {
        const Instruction& type = module_.TypeNamed(it, it.type);
        Require(type.op == Op::kTypeVector && it.ids.size() == type.numbers[0], it,
                "its parts should fill a vector");
        for (uint32_t part : it.ids)
          Require(module_.Defined(it, part).type == type.ids[0], it, "a part has another type");
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
    const Instruction& element = module_.TypeNamed(it, it.ids[0]);
    Require(IsInt(element) || IsFloat(element), it, "elements should be numbers");
  }

  void CheckVariable(const Instruction& it, bool is_local) const {
    const Instruction& type = module_.TypeNamed(it, it.type);
    Require(type.op == Op::kTypePointer && type.numbers[0] == it.numbers[0], it,
            "its type should be a pointer to its memory");
    bool is_function = it.numbers[0] == static_cast<uint32_t>(StorageClass::kFunction);
    Require(is_function == is_local, it, "such memory is not there");
    Require(it.numbers[0] != static_cast<uint32_t>(StorageClass::kPhysicalStorageBuffer), it,
            "such memory is not there");
  }

  // ---- Blocks. Text follows nesting: what a construct contains stands between its parts.

  void CheckFunction() {
    const Instruction& it = code()[current_];
    Require(!has_function_, it, "there is another one before");
    has_function_ = true;
    Require(module_.TypeNamed(it, it.ids[0]).op == Op::kTypeFunction &&
                module_.TypeNamed(it, it.type).op == Op::kTypeVoid,
            it, "a kernel takes and returns nothing");
    parents_ = {0};
    scope_ = 0;
    ++current_;
    const Instruction& first = Next(Op::kLabel);
    while (current_ < code().size() && code()[current_].op == Op::kVariable) {
      CheckVariable(code()[current_], /*is_local=*/true);
      scope_of_[code()[current_++].result] = scope_;
    }
    Sequence(first.result, {});
    Next(Op::kFunctionEnd);
    Require(current_ == code().size(), it, "the module should end with it");
    for (const Instruction* phi : phis_) CheckPhi(*phi);
    --current_;
  }

  const Instruction& Next(Op op) {
    if (current_ == code().size()) Fail("it does not end with the end of a function");
    const Instruction& it = code()[current_];
    if (it.op != op)
      Fail(it, std::string("expected ") + spirv::FindOp(static_cast<uint32_t>(op))->name);
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
      if (current_ == code().size()) Fail("it does not end with the end of a function");
      const Instruction& it = code()[current_];
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
          module_.TypeNamed(it, it.type);
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
      const Instruction& value = module_.Get(it, it.ids[i]);
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
    if (IsFloatArithmetic(op)) return Rule::kFloats;
    switch (op) {
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
    const Instruction* result = it.type ? &module_.TypeNamed(it, it.type) : nullptr;
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
        Require(module_.Defined(it, it.ids[0]).op == Op::kExtInstImport, it,
                "its set is not imported");
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

  static constexpr uint32_t kOrdered = spirv::kAcquireRelease;
  void RequireConstant(const Instruction& it, uint32_t id, const std::set<uint32_t>& legal) const {
    std::optional<uint32_t> value = module_.Constant(it, id);
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
    const Instruction* type = &module_.TypeNamed(it, base.ids[0]);
    for (size_t i = 1; i < it.ids.size(); ++i) {
      Require(IsInt(TypeOf(it, it.ids[i])), it, "an index should be an integer");
      std::optional<uint32_t> index = module_.Constant(it, it.ids[i]);
      switch (type->op) {
        case Op::kTypeStruct:
          Require(index && *index < type->ids.size(), it, "there is no such member");
          type = &module_.TypeNamed(it, type->ids[*index]);
          break;
        case Op::kTypeArray:
          Require(!index || *index < *module_.Constant(it, type->ids[1]), it,
                  "there is no such element");
          [[fallthrough]];
        case Op::kTypeRuntimeArray:
          type = &module_.TypeNamed(it, type->ids[0]);
          break;
        default:
          Fail(it, "it has more indices than dimensions");
      }
    }
    Require(result.ids[0] == type->result, it, "its type is another pointer");
  }

  const Module& module_;
  size_t current_ = 0;
  bool has_function_ = false;
  int depth_ = 0;
  // Scopes nest; a value is seen in its own and in those inside.
  size_t scope_ = 0;
  std::vector<size_t> parents_;
  std::map<uint32_t, size_t> scope_of_, block_scopes_;  // of values, of blocks at their end
  std::map<uint32_t, std::set<uint32_t>> sources_;      // of blocks
  std::vector<const Instruction*> phis_;
  std::map<const Instruction*, uint32_t> phi_blocks_;
};

}  // namespace

void CheckModule(std::span<const uint32_t> words) {
  Module module(words);
  if (!module.is_ours()) return;
  Checker(module).Run();
  CheckAnnotations(module);
}

}  // namespace tern::backend::vulkan
