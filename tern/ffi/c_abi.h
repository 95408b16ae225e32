// SPDX-License-Identifier: Apache-2.0
//
// The binary layout of values, objects and calls, as C sees it. Every structure here is frozen:
// compiled kernels, plugins and clients in other languages read and write these bytes directly. The
// layout is that of the TVM-FFI C ABI (64-bit, little endian), so that a Tern kernel can be called
// by its clients too. docs/abi.md explains it; c_abi_test.cc pins every offset.
#ifndef TERN_FFI_C_ABI_H_
#define TERN_FFI_C_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Which member of TernAny's union holds the value. Below kTernObjectBegin: plain data. From there
// on: a pointer to an object that starts with TernObject.
enum {
  kTernNone = 0,
  kTernInt = 1,
  kTernBool = 2,
  kTernFloat = 3,
  kTernOpaquePtr = 4,
  kTernDataType = 5,
  kTernDevice = 6,
  kTernTensorView = 7,  // a borrowed TernTensorView*
  kTernRawStr = 8,      // a borrowed const char*, in arguments only
  kTernSmallStr = 11,
  kTernSmallBytes = 12,
  kTernObjectBegin = 64,
  kTernStr = 65,
  kTernBytes = 66,
  kTernError = 67,
  kTernFunction = 68,
  kTernShape = 69,
  kTernTensor = 70,
  kTernArray = 71,
  kTernMap = 72,
  kTernModule = 73,
  kTernDynamicBegin = 128,  // types private to this process
};

// DLPack's type codes.
enum {
  kTernTypeInt = 0,
  kTernTypeUInt = 1,
  kTernTypeFloat = 2,
  kTernTypeHandle = 3,
  kTernTypeBfloat = 4,
  kTernTypeBool = 6,
  kTernTypeFloat8E4M3FN = 10,
  kTernTypeFloat8E4M3FNUZ = 11,
  kTernTypeFloat8E5M2 = 12,
  kTernTypeFloat8E5M2FNUZ = 13,
  kTernTypeFloat4E2M1FN = 17,
};

// DLPack's device type of the host. Every other value belongs to the plugin that serves it.
enum { kTernDeviceCpu = 1 };

typedef struct TernDType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} TernDType;

typedef struct TernDevice {
  int32_t type;
  int32_t id;
} TernDevice;

// DLPack's DLTensor. `strides` counts elements and may be NULL: compact, row major. Elements of
// less than a byte lie side by side, the first one in the low bits.
typedef struct TernTensorView {
  void* data;
  TernDevice device;
  int32_t ndim;
  TernDType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} TernTensorView;

// DLPack's DLManagedTensor: a tensor with its owner. Whoever takes it calls the deleter (which may
// be NULL) with it, once.
typedef struct TernManagedTensor {
  TernTensorView tensor;
  void* manager;
  void (*deleter)(struct TernManagedTensor* self);
} TernManagedTensor;

// DLPack's DLManagedTensorVersioned, of this version.
#define TERN_DLPACK_MAJOR 1
#define TERN_DLPACK_MINOR 1
typedef struct TernManagedTensorVersioned {
  uint32_t major, minor;
  void* manager;
  void (*deleter)(struct TernManagedTensorVersioned* self);
  uint64_t flags;
  TernTensorView tensor;
} TernManagedTensorVersioned;
enum { kTernReadOnly = 1, kTernIsCopied = 2, kTernSubBytePadded = 4 };

// The header of every object. `count` holds the strong count in its low and the weak count in its
// high 32 bits. The 16 bytes before an object are zero.
typedef struct TernObject {
  uint64_t count;
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void* self, int flags);  // flags: kTernDestroy, kTernFree
} TernObject;

enum { kTernDestroy = 1, kTernFree = 2 };

// A value: borrowed in arguments, owned in results. Unused bytes are zero.
typedef struct TernAny {
  int32_t type_index;
  uint32_t small_len;  // length of a small string or bytes; otherwise zero
  __extension__ union {
    int64_t v_int;
    double v_float;
    void* v_ptr;
    const char* v_str;
    TernObject* v_obj;
    TernTensorView* v_tensor;
    TernDType v_dtype;
    TernDevice v_device;
    char v_small[8];
  };
} TernAny;

// The one signature of every function. `result` comes in as none and leaves as an owned value.
// Returns 0, or -1 with an error raised in the environment the callee belongs to.
typedef int (*TernSafeCall)(void* handle, const TernAny* args, int32_t num_args, TernAny* result);

// What follows the header in the objects that cross the boundary.
typedef struct TernBytesCell {  // strings and bytes
  const char* data;
  size_t size;
} TernBytesCell;

typedef struct TernShapeCell {
  const int64_t* data;
  size_t size;
} TernShapeCell;

typedef struct TernFunctionCell {
  TernSafeCall safe_call;  // called with the function object itself as handle
  void* cpp_call;          // NULL
} TernFunctionCell;

// The strings belong to the error.
typedef struct TernErrorCell {
  TernBytesCell kind, message, backtrace;
  void (*update_backtrace)(TernObject* error, const TernBytesCell* backtrace, int32_t mode);
  TernObject* cause_chain;    // or NULL
  TernObject* extra_context;  // or NULL
} TernErrorCell;

typedef struct TernArrayCell {
  TernAny* data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void*);
} TernArrayCell;

struct TernEnv;
// Iterations begin..end of a parallel loop. Returns 0, or -1 with an error raised.
typedef int (*TernParallelBody)(const struct TernEnv* env, int64_t begin, int64_t end,
                                const void* captures);

// What the runtime offers to a compiled function. Starts with {size, version} and only ever grows
// at the end.
#define TERN_ENV_VERSION 1
typedef struct TernEnv {
  uint32_t size;
  uint32_t version;
  void* module;  // the loaded module the function belongs to

  // Raises an error made of `parts`: strings as they are, integers in decimal, an opaque pointer as
  // a description of the TernAny it points to. The caller returns -1 afterwards.
  void (*raise)(const struct TernEnv* env, const char* kind, const TernAny* parts,
                int32_t num_parts);

  // Calls a function of the module's imports, or else of the global registry.
  int (*call)(const struct TernEnv* env, const char* name, const TernAny* args, int32_t num_args,
              TernAny* result);

  // Memory on a device, for the time of the call: it is given back with free_workspace, last
  // allocated first, or when the function returns. NULL where there is none.
  void* (*alloc_workspace)(const struct TernEnv* env, int32_t device_type, int32_t device_id,
                           int64_t bytes, int64_t alignment);
  void (*free_workspace)(const struct TernEnv* env, int32_t device_type, int32_t device_id,
                         void* memory);

  // Calls `body` on pieces that make up 0..extent, on several threads, and returns when all are
  // done. Returns 0, or -1 where a piece failed, with its error raised in the calling thread.
  int (*parallel_for)(const struct TernEnv* env, TernParallelBody body, int64_t extent,
                      const void* captures);
} TernEnv;

// An exported function `f` is the symbol TERN_SYMBOL_PREFIX f, of this type.
typedef int (*TernEntry)(const TernEnv* env, const TernAny* args, int32_t num_args,
                         TernAny* result);
#define TERN_SYMBOL_PREFIX "__tern_"

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_FFI_C_ABI_H_
