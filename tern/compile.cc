// SPDX-License-Identifier: Apache-2.0
#include "tern/compile.h"

#include <map>
#include <mutex>
#include <unordered_set>

#include "tern/ffi/registry.h"
#include "tern/schedule/bind_threads.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/function.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/passes.h"
#include "tern/tir/visitor.h"

namespace tern {

void RegisterBackends();  // generated from the directories of tern/backend

void Initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    tir::RegisterIntrinsics();
    tir::RegisterPasses();
    ir::RegisterPass(
        {"bind_threads", "functions for a device run on threads", [](const ir::IRModule& module) {
           return tir::MapFunctions(module, schedule::BindThreads);
         }});
    RegisterBackends();
  });
}

std::vector<std::string> LoweringPasses(const target::Target& target) {
  if (!target->kind->lowered) return {"verify"};
  std::vector<std::string> passes = {"verify",
                                     "bind_threads",
                                     "lower_thread_reductions",
                                     "lower_virtual_threads",
                                     "lower_warp_memory",
                                     "insert_barriers",
                                     "serialize_threads",
                                     "decompose_reductions",
                                     "lower_blocks",
                                     "simplify",
                                     "unroll_loops",
                                     "vectorize_loops",
                                     "flatten_buffers",
                                     "simplify",
                                     "lower_floor_division",
                                     "split_host_device",
                                     "make_packed_api",
                                     "simplify",
                                     "verify_limits"};
  passes.insert(passes.end(), target->kind->final_passes.begin(), target->kind->final_passes.end());
  return passes;
}

namespace {

ffi::Module Build(const target::Target& target, const std::vector<ir::BaseFunc>& functions) {
  const target::TargetKind& kind = *target->kind;
  TERN_CHECK(kind.unavailable.empty())
      << "cannot compile for " << kind.name << ": " << kind.unavailable;
  target::TargetScope scope(target);
  return WithContext("generating code for " + target->str(), [&] {
    return ffi::GetGlobal("target.build." + kind.name)(ir::IRModule::Make(functions), target)
        .As<ffi::Module>();
  });
}

// Parameters whose memory the function writes.
std::unordered_set<const ir::BufferNode*> WrittenBuffers(const tir::PrimFunc& function) {
  struct Scan : tir::StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const tir::BufferStoreNode* node) override {
      written.insert(node->buffer.get());
    }
    std::unordered_set<const ir::BufferNode*> written;
  } scan;
  scan.Visit(function->body);
  return scan.written;
}

}  // namespace

ir::IRModule Lower(const ir::IRModule& module, const target::Target& target,
                   const ir::PassOptions& options) {
  Initialize();
  ir::IRModule bound = tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
    return function.WithAttr(tir::attr::kTarget, target);
  });
  return ir::RunPasses(bound, LoweringPasses(target), options);
}

ffi::Module Compile(const ir::IRModule& module, const target::Target& target,
                    const ir::PassOptions& options) {
  TERN_CHECK(!module->functions.empty())
      << "there is nothing to compile: the module has no function";
  ir::IRModule lowered = Lower(module, target, options);
  // Functions of one target are built together, in the order of their names.
  std::map<std::string, std::pair<target::Target, std::vector<ir::BaseFunc>>> devices;
  std::vector<ir::BaseFunc> host_functions;
  for (const auto& [name, function] : lowered->functions) {
    auto function_target = function->attrs.at(tir::attr::kTarget).As<target::Target>();
    if (!function_target->is_device()) {
      host_functions.push_back(function);
      continue;
    }
    auto& group = devices[function_target->str()];
    group.first = function_target;
    group.second.push_back(function);
  }
  ffi::Module root = Build(target->is_device() ? target->host : target, host_functions);
  for (const auto& [name, group] : devices) root->Import(Build(group.first, group.second));
  return root;
}

runtime::ArtifactMeta DescribeModule(const ir::IRModule& module, const target::Target& target) {
  runtime::ArtifactMeta meta;
  meta.target = target->str();
  meta.device = target->kind->device;
  for (const auto& [name, base] : module->functions) {
    tir::PrimFunc function = tir::AsPrimFunc(base);
    auto written = WrittenBuffers(function);
    runtime::FunctionInfo info{name, {}};
    for (const tir::Param& param : function->params) {
      runtime::ParamInfo described{param.name(), param.var.dtype(), param.is_tensor(), {}, false};
      if (param.is_tensor()) {
        described.dtype = param.buffer->dtype;
        for (const ir::Expr& extent : param.buffer->shape)
          described.shape.push_back(tir::Print(extent));
        described.is_output = written.count(param.buffer.get()) > 0;
      }
      info.params.push_back(std::move(described));
    }
    meta.functions.push_back(std::move(info));
  }
  return meta;
}

}  // namespace tern
