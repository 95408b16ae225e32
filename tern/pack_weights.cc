// SPDX-License-Identifier: Apache-2.0
#include "tern/pack_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tern/codegen/load_linkable.h"
#include "tern/codegen/parallel_for.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/transform/calls/split_preparation.h"
#include "tern/tir/visitor.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

// Whether blocks of a function have reduction axes: how sums are computed depends on the schedule.
class ReductionScan : public tir::StmtVisitor {
 public:
  bool found = false;

 protected:
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::BlockNode* block) override {
    for (const tir::BlockIter& iter : block->iters)
      found = found || iter.kind != tir::IterKind::kSpatial;
    StmtVisitor::VisitNode(block);
  }
};

class Packer {
 public:
  Packer(const ir::IRModule& kernels, target::Target target, const CompileOptions& options,
         double most_growth, CompiledModel* model)
      : kernels_(kernels),
        target_(std::move(target)),
        options_(options),
        most_growth_(most_growth),
        model_(*model),
        program_(model->program) {
    for (const ir::Constant& constant : model_.weights) weights_[constant->name] = constant;
  }

  void Run() {
    CountReads();
    std::set<std::string> wanted;
    for (const vm::Prepack& prepack : program_.prepack)
      if (IsWorthIt(prepack)) wanted.insert(prepack.function);
    if (wanted.empty()) return;
    std::set<std::string> compiled = Compile(wanted);
    std::vector<vm::Prepack> packed;
    std::erase_if(program_.prepack, [&](const vm::Prepack& prepack) {
      bool is_packed = compiled.contains(prepack.function) && IsWorthIt(prepack);
      if (!is_packed) return false;
      for (uint32_t index : prepack.constants) --reads_[index];
      packed.push_back(prepack);
      return true;
    });
    std::vector<ffi::Function> functions;
    for (const vm::Prepack& prepack : packed)
      functions.push_back(module_->GetFunction(prepack.function));
    std::vector<std::vector<std::string>> made(packed.size());
    codegen::ParallelFor(packed.size(), [&](size_t i) { made[i] = Pack(packed[i], functions[i]); });
    for (size_t i = 0; i < packed.size(); ++i) AddWeights(packed[i], std::move(made[i]));
    RemoveUnread();
  }

 private:
  bool IsMade(uint32_t constant) const {
    return program_.constants[constant].source == vm::ConstantSource::kMade;
  }
  static uint64_t BytesOf(const vm::Constant& constant) {
    int64_t count = 1;
    for (int64_t extent : constant.shape) count *= extent;
    return static_cast<uint64_t>(constant.dtype.BytesOf(count));
  }

  void CountReads() {
    reads_.assign(program_.constants.size(), 0);
    for (const vm::Function& function : program_.functions)
      for (const vm::Instruction& instruction : function.code)
        if (instruction.op == vm::Opcode::kConst) ++reads_[instruction.index];
    for (const vm::Prepack& prepack : program_.prepack)
      for (uint32_t constant : prepack.constants) ++reads_[constant];
    // Those of the name of an input are its default.
    for (size_t i = 0; i < program_.constants.size(); ++i)
      reads_[i] += static_cast<int>(std::count_if(
          program_.inputs.begin(), program_.inputs.end(),
          [&](const vm::Port& input) { return input.name == program_.constants[i].name; }));
  }

  bool IsWorthIt(const vm::Prepack& prepack) const {
    uint64_t before = 0, after = 0;
    for (uint32_t index : prepack.constants) {
      const vm::Constant& constant = program_.constants[index];
      if (IsMade(index)) after += BytesOf(constant);
      if (constant.source == vm::ConstantSource::kWeights && reads_[index] == 1)
        before += BytesOf(constant);
    }
    return most_growth_ >= kAnyGrowth ||
           static_cast<double>(after) <= most_growth_ * static_cast<double>(before);
  }

  // Those of the functions that only move and convert, for this machine.
  std::set<std::string> Compile(const std::set<std::string>& wanted) {
    std::vector<ir::BaseFunc> written, found;
    for (const auto& [name, function] : kernels_->functions)
      if (wanted.contains(tir::PrepareName(name))) written.push_back(function);
    target::Target here = target::Target::DefaultHost();
    std::set<std::string> names;
    ir::IRModule split = SplitConstants(ir::IRModule::Make(written), target_, options_);
    for (const std::string& name : wanted) {
      tir::PrimFunc function = tir::AsPrimFunc(split->functions.at(name));
      ReductionScan scan;
      scan.VisitFunction(function);
      if (scan.found) continue;
      for (const tir::Param& param : function->params)
        if (param.is_tensor())
          alignment_ = std::max({alignment_, static_cast<uintptr_t>(param.buffer->alignment),
                                 static_cast<uintptr_t>(param.buffer->dtype.bytes())});
      names.insert(name);
      found.emplace_back(
          function.WithAttr(tir::attr::kTarget, here).WithAttr(tir::attr::kReassociate, false));
    }
    if (found.empty()) return {};
    CompileOptions options;
    options.prepack = CompileOptions::Prepack::kNone;
    options.default_schedules = false;
    module_ = codegen::LoadLinkable(tern::Compile(ir::IRModule::Make(found), here, options));
    return names;
  }

  // The bytes of those constants that the call makes; nothing for the others.
  std::vector<std::string> Pack(const vm::Prepack& prepack, const ffi::Function& function) const {
    std::vector<runtime::Tensor> tensors;
    std::vector<std::string> made(prepack.constants.size());
    for (size_t i = 0; i < made.size(); ++i)
      tensors.push_back(TensorOf(prepack.constants[i], &made[i]));
    std::vector<ffi::AnyView> args;
    for (const runtime::Tensor& tensor : tensors) args.push_back(ffi::CallArgument(tensor).view());
    function.CallPacked(args);
    for (size_t i = 0; i < made.size(); ++i)
      if (IsMade(prepack.constants[i]) && tensors[i].as<char>() != made[i].data())
        made[i].assign(tensors[i].as<const char>(), tensors[i]->num_bytes());
    return made;
  }

  void AddWeights(const vm::Prepack& prepack, std::vector<std::string> made) {
    for (size_t i = 0; i < made.size(); ++i) {
      if (!IsMade(prepack.constants[i])) continue;
      vm::Constant& constant = program_.constants[prepack.constants[i]];
      constant.source = vm::ConstantSource::kWeights;
      constant.name = UnusedName(constant.name);
      weights_[constant.name] =
          ir::Constant::Owned(constant.name, constant.dtype, constant.shape, std::move(made[i]));
    }
  }

  // What is made is made in `made`; zeros also where nothing is written. What is there is read
  // where it lies.
  runtime::Tensor TensorOf(uint32_t index, std::string* made) const {
    const vm::Constant& constant = program_.constants[index];
    bool is_weight = constant.source == vm::ConstantSource::kWeights;
    if (!is_weight && !IsMade(index)) return vm::TensorOf(constant);
    if (!is_weight) made->resize(BytesOf(constant));
    std::string_view bytes = is_weight ? weights_.at(constant.name)->data() : *made;
    auto* data = const_cast<char*>(bytes.data());
    if (bytes.size() == BytesOf(constant) && reinterpret_cast<uintptr_t>(data) % alignment_ == 0)
      return runtime::Tensor(ffi::Make<runtime::TensorObj>(
          constant.shape, constant.dtype, TernDevice{kTernDeviceCpu, 0}, runtime::TensorLayout{},
          runtime::TensorMemory{std::shared_ptr<void>(data, [](void*) {}), bytes.size()}));
    runtime::Tensor tensor = runtime::Tensor::Empty(constant.shape, constant.dtype);
    if (is_weight)
      weights_.at(constant.name)->CopyTo(tensor->data());
    else
      std::fill_n(tensor.as<char>(), tensor->num_bytes(), '\0');
    return tensor;
  }

  std::string UnusedName(const std::string& name) const {
    std::string unused = name;
    for (int number = 1; weights_.contains(unused); ++number)
      unused = name + "." + std::to_string(number);
    return unused;
  }

  // Originals whose packed form is there, with their numbers.
  void RemoveUnread() {
    std::vector<uint32_t> number(program_.constants.size());
    std::vector<vm::Constant> kept;
    std::set<std::string> names;
    for (size_t i = 0; i < number.size(); ++i) {
      number[i] = static_cast<uint32_t>(kept.size());
      if (reads_[i] == 0) continue;
      if (program_.constants[i].source == vm::ConstantSource::kWeights)
        names.insert(program_.constants[i].name);
      kept.push_back(std::move(program_.constants[i]));
    }
    program_.constants = std::move(kept);
    for (vm::Function& function : program_.functions)
      for (vm::Instruction& instruction : function.code)
        if (instruction.op == vm::Opcode::kConst) instruction.index = number[instruction.index];
    for (vm::Prepack& prepack : program_.prepack)
      for (uint32_t& constant : prepack.constants) constant = number[constant];
    model_.weights.clear();
    for (const auto& [name, constant] : weights_)
      if (names.contains(name)) model_.weights.push_back(constant);
  }

  const ir::IRModule& kernels_;
  target::Target target_;
  const CompileOptions& options_;
  double most_growth_;
  CompiledModel& model_;
  vm::Program& program_;
  std::map<std::string, ir::Constant> weights_;
  std::vector<int> reads_;  // of constants: by the program and by prepacking
  ffi::Module module_;
  uintptr_t alignment_ = 1;  // of tensors, that functions of the module ask for
};

}  // namespace

void PackWeights(const ir::IRModule& kernels, const target::Target& target,
                 const CompileOptions& options, double most_growth, CompiledModel* model) {
  Packer(kernels, target, options, most_growth, model).Run();
}

}  // namespace tern
