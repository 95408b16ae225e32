// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/tensor_intrinsic.h"

#include <memory>
#include <mutex>
#include <optional>

#include "tern/ffi/registry_table.h"
#include "tern/tir/text.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

struct Entry {
  std::string text;
  std::mutex mutex;
  std::optional<TensorIntrinsic> intrinsic;  // once it was read
};

ffi::RegistryTable<std::unique_ptr<Entry>>& Intrinsics() {
  static auto* intrinsics = new ffi::RegistryTable<std::unique_ptr<Entry>>("tensor intrinsic");
  return *intrinsics;
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

TensorIntrinsic Read(const std::string& name, const std::string& text) {
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
  return intrinsic;
}

}  // namespace

void RegisterTensorIntrinsic(const std::string& name, const std::string& text) {
  auto entry = std::make_unique<Entry>();
  entry->text = text;
  Intrinsics().Add(name, std::move(entry));
}

const TensorIntrinsic* FindTensorIntrinsic(const std::string& name) {
  const std::unique_ptr<Entry>* found = Intrinsics().Find(name);
  if (!found) return nullptr;
  Entry& entry = **found;
  std::scoped_lock lock(entry.mutex);
  if (!entry.intrinsic) entry.intrinsic = Read(name, entry.text);
  return &*entry.intrinsic;
}

std::vector<std::string> TensorIntrinsicNames() { return Intrinsics().Names(); }

}  // namespace tern::schedule
