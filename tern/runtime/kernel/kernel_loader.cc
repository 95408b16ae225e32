// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/kernel/kernel_loader.h"

#include <vector>

#include "tern/runtime/kernel/program_cache.h"
#include "tern/runtime/plugin/plugin_search.h"

namespace tern::runtime {

void KernelLoader::CheckProcess() const {
  if (driver_ && driver_->IsInherited()) driver_->Enter(kind_);
}

void* KernelLoader::Load(int32_t device_id, const std::string& fmt,
                         const std::map<std::string, std::string, std::less<>>& payload) const {
  ProgramCache::FromEnvironment();  // throws where the environment is wrong; the plugin cannot
  std::vector<TernBlob> blobs;
  for (const auto& [name, blob] : payload)
    blobs.push_back({name.c_str(), blob.data(), blob.size()});
  void* program = nullptr;
  CallPlugin(kind_, driver_, "load", table_.load, device_id, fmt.c_str(), blobs.data(),
             static_cast<int32_t>(blobs.size()), &program);
  return program;
}

void KernelLoader::Unload(void* program) const noexcept {
  if (driver_ && driver_->IsInherited()) return;
  try {
    table_.unload(program);
  } catch (...) {
    WarnOfPlugin("the " + kind_ + " runtime threw when it unloaded a program");
  }
}

void KernelLoader::Prepare(void* program) const {
  if (table_.prepare) CallPlugin(kind_, driver_, "prepare", table_.prepare, program);
}

void* KernelLoader::GetKernel(void* program, const std::string& name) const {
  void* kernel = nullptr;
  CallPlugin(kind_, driver_, "get_kernel", table_.get_kernel, program, name.c_str(), &kernel);
  return kernel;
}

void KernelLoader::Refuse(uint64_t flags) const {
  const char* what = flags & kTernLaunchClusters     ? "clusters of blocks"
                     : flags & kTernLaunchTensorMaps ? "tensor maps as arguments"
                     : flags & kTernLaunchOverlap    ? "launches that overlap"
                                                     : "what this launch asks for";
  TERN_THROW(RuntimeError) << "the " << kind_ << " runtime has no " << what;
  __builtin_unreachable();
}

}  // namespace tern::runtime
