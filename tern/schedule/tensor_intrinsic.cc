// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/tensor_intrinsic.h"

#include <map>
#include <mutex>

#include "tern/tir/text.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, TensorIntrinsic> intrinsics;
};
Registry& Global() {
  static auto* registry = new Registry;  // outlives all users
  return *registry;
}

bool SameParams(const PrimFunc& a, const PrimFunc& b) {
  if (a->params.size() != b->params.size()) return false;
  for (size_t i = 0; i < a->params.size(); ++i) {
    const Buffer &x = a->params[i].buffer, &y = b->params[i].buffer;
    if (!x || !y || x->dtype != y->dtype || x->shape.size() != y->shape.size()) return false;
    for (size_t d = 0; d < x->shape.size(); ++d) {
      std::optional<int64_t> m = ir::AsConstInt(x->shape[d]), n = ir::AsConstInt(y->shape[d]);
      if (!m || !n || *m != *n) return false;
    }
  }
  return true;
}

}  // namespace

void RegisterTensorIntrinsic(const std::string& name, const std::string& text) {
  ir::IRModule module = ParseModule(name, text);
  auto get = [&](const char* function) {
    auto it = module->functions.find(function);
    if (it == module->functions.end())
      TERN_THROW(ValueError) << "tensor intrinsic " << name << " has no function " << function;
    return AsPrimFunc(it->second);
  };
  TensorIntrinsic intrinsic{name, get("description"), get("implementation")};
  if (!SameParams(intrinsic.description, intrinsic.implementation))
    TERN_THROW(ValueError) << "tensor intrinsic " << name
                           << ": description and implementation do not have the same parameters, "
                              "which are tensors of constant shape";
  std::lock_guard lock(Global().mutex);
  if (!Global().intrinsics.emplace(name, std::move(intrinsic)).second)
    TERN_THROW(ValueError) << "there is a tensor intrinsic " << name << " already";
}

const TensorIntrinsic* FindTensorIntrinsic(const std::string& name) {
  std::lock_guard lock(Global().mutex);
  auto it = Global().intrinsics.find(name);
  return it == Global().intrinsics.end() ? nullptr : &it->second;
}

std::vector<std::string> TensorIntrinsicNames() {
  std::lock_guard lock(Global().mutex);
  std::vector<std::string> names;
  for (const auto& [name, intrinsic] : Global().intrinsics) names.push_back(name);
  return names;
}

}  // namespace tern::schedule
