// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/object.h"

#include <mutex>
#include <vector>

namespace tern::ffi {
namespace {

struct DynamicTypes {
  std::mutex mutex;
  std::vector<std::string> keys;  // of index kTernDynamicBegin + i
};

// Leaked: objects may be described while the process exits.
DynamicTypes& Types() {
  static DynamicTypes* types = new DynamicTypes;
  return *types;
}

const char* StaticTypeName(int32_t type_index) {
  switch (type_index) {
    case kTernNone:
      return "none";
    case kTernInt:
      return "int";
    case kTernBool:
      return "bool";
    case kTernFloat:
      return "float";
    case kTernOpaquePtr:
      return "pointer";
    case kTernDataType:
      return "data type";
    case kTernDevice:
      return "device";
    case kTernTensorView:
      return "tensor view";
    case kTernRawStr:
    case kTernSmallStr:
    case kTernStr:
      return "string";
    case kTernSmallBytes:
    case kTernBytes:
      return "bytes";
    case kTernObjectBegin:
      return "Object";
    case kTernError:
      return "Error";
    case kTernFunction:
      return "Function";
    case kTernShape:
      return "Shape";
    case kTernTensor:
      return "Tensor";
    case kTernArray:
      return "Array";
    case kTernMap:
      return "Map";
    case kTernModule:
      return "Module";
    default:
      return nullptr;
  }
}

}  // namespace

int32_t DynamicTypeIndex(const char* key) {
  DynamicTypes& types = Types();
  std::lock_guard lock(types.mutex);
  for (size_t i = 0; i < types.keys.size(); ++i)
    if (types.keys[i] == key) return kTernDynamicBegin + static_cast<int32_t>(i);
  types.keys.emplace_back(key);
  return kTernDynamicBegin + static_cast<int32_t>(types.keys.size() - 1);
}

std::string TypeName(int32_t type_index) {
  if (const char* name = StaticTypeName(type_index)) return name;
  DynamicTypes& types = Types();
  std::lock_guard lock(types.mutex);
  int64_t i = int64_t{type_index} - kTernDynamicBegin;
  if (i >= 0 && i < static_cast<int64_t>(types.keys.size()))
    return types.keys[static_cast<size_t>(i)];
  return "type " + std::to_string(type_index);
}

void DestroyInTurn(TernObject* object, void (*destroy)(TernObject* object, int flags)) {
  // Those that wait are a list through what nobody reads any more: their counts and deleters.
  using Destroy = void (*)(TernObject*, int);
  thread_local TernObject* waiting = nullptr;
  thread_local bool active = false;
  if (active) {
    object->count = reinterpret_cast<uintptr_t>(waiting);
    object->deleter = reinterpret_cast<decltype(object->deleter)>(destroy);
    waiting = object;
    return;
  }
  active = true;
  destroy(object, kTernDestroy | kTernFree);
  while (TernObject* next = waiting) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one
    waiting = reinterpret_cast<TernObject*>(static_cast<uintptr_t>(next->count));
    reinterpret_cast<Destroy>(next->deleter)(next, kTernDestroy | kTernFree);
  }
  active = false;
}

}  // namespace tern::ffi
