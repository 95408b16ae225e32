// SPDX-License-Identifier: Apache-2.0
//
// Host code as the compiler would make it, by hand: what the artifact tests load. With
// TERN_CONTAINER_FILE it carries the wrapped container of that file in its section.
#include "tern/ffi/c_abi.h"

#define TERN_EXPORT __attribute__((visibility("default")))

#ifdef TERN_CONTAINER_FILE
__asm__(".section .tern,\"a\"\n.balign 64\n.incbin \"" TERN_CONTAINER_FILE "\"\n.previous\n");
#endif

static const TernTensorView* Tensor(const TernAny* value) {
  if (value->type_index == kTernTensorView) return value->v_tensor;
  if (value->type_index == kTernTensor) return (const TernTensorView*)(value->v_obj + 1);
  return 0;
}

static TernAny Text(const char* text) {
  TernAny value = {0};
  value.type_index = kTernRawStr;
  value.v_str = text;
  return value;
}

typedef struct AddTensors {
  const TernTensorView *a, *b, *c;
} AddTensors;

static int AddPart(const TernEnv* env, int64_t begin, int64_t end, const void* captures) {
  const AddTensors* tensors = captures;
  (void)env;
  for (int64_t i = begin; i < end; ++i)
    ((float*)tensors->c->data)[i] =
        ((const float*)tensors->a->data)[i] + ((const float*)tensors->b->data)[i];
  return 0;
}

// add(A: float32[n], B: float32[n], C: float32[n]): C = A + B, in a parallel loop
TERN_EXPORT int __tern_add(const TernEnv* env, const TernAny* args, int32_t num_args,
                           TernAny* result) {
  (void)result;
  const TernTensorView *a = num_args == 3 ? Tensor(&args[0]) : 0, *b = a ? Tensor(&args[1]) : 0,
                       *c = b ? Tensor(&args[2]) : 0;
  if (!c) {
    TernAny parts[2] = {Text("add: expected three tensors, the first is "), {0}};
    if (num_args > 0) parts[1] = args[0];
    env->raise(env, "TypeError", parts, 2);
    return -1;
  }
  AddTensors tensors = {a, b, c};
  return env->parallel_for(env, AddPart, a->shape[0], &tensors);
}

// call(x): what the function "callee" of the imports or the registry makes of x
TERN_EXPORT int __tern_call(const TernEnv* env, const TernAny* args, int32_t num_args,
                            TernAny* result) {
  return env->call(env, "callee", args, num_args, result);
}
