// SPDX-License-Identifier: Apache-2.0
//
// Linked into every shared object that Tern makes: the environment of its functions where their
// caller is not Tern's runtime but a host of the TVM-FFI ABI (docs/abi.md). The host's library is
// looked up when it is needed, so that none has to be there. Compiled after host_abi.inc for the
// target `c`; for the target `llvm`, ffi_host.ll is both (tools/make_linked_ir.sh).
//
// Not even libc is linked: nothing but dlopen and dlsym is called by name.
#include <stddef.h>
#include <stdint.h>

typedef int (*ParallelBody)(const TernEnv* env, int64_t begin, int64_t end, const void* captures);
typedef int (*Entry)(const TernEnv* env, const TernAny* args, int32_t num_args, TernAny* result);

void* dlopen(const char* path, int mode);
void* dlsym(void* library, const char* name);

enum { kLazy = 1, kNow = 2, kNoLoad = 4 };  // of dlopen, on Linux

// A function under any of its types.
typedef union Symbol {
  void* address;
  void (*set_error)(const char* kind, const char* message);
  int (*take_error)(void** error);
  void (*set_error_object)(void* error);
  int (*release)(void* object);
  void* (*allocate)(size_t alignment, size_t size);
  void (*free_memory)(void* memory);
  ptrdiff_t (*write_bytes)(int file, const void* bytes, size_t size);
  void (*stop)(void);
  int (*parallel_for)(int64_t extent, int (*body)(void* context, int64_t begin, int64_t end),
                      void* context);
  void* (*alloc_workspace)(int32_t device_type, int32_t device_id, int64_t bytes,
                           int64_t alignment);
  void (*free_workspace)(int32_t device_type, int32_t device_id, void* memory);
  int (*call_import)(const void* in_library, const char* name, const TernAny* args,
                     int32_t num_args, TernAny* result, const char** kind, const char** message);
} Symbol;

static Symbol find(const char* library, int mode, const char* name) {
  Symbol symbol = {NULL};
  void* opened = dlopen(library, mode);
  if (opened) symbol.address = dlsym(opened, name);
  return symbol;
}
static Symbol find_anywhere(const char* name) {
  Symbol symbol = {dlsym(NULL, name)};
  return symbol;
}
static Symbol find_in_host(const char* name) {
  Symbol symbol = find("libtvm_ffi.so", kLazy | kNoLoad, name);
  return symbol.address ? symbol : find_anywhere(name);
}
static Symbol find_in_runtime(const char* name) { return find("libtern_runtime.so", kNow, name); }

// ---- Errors

typedef struct Text {
  size_t size;
  char data[1500];  // what does not fit is left out
} Text;

static void add(Text* text, const char* more) {
  while (*more && text->size + 1 < sizeof text->data) text->data[text->size++] = *more++;
  text->data[text->size] = 0;
}

static void add_int(Text* text, int64_t value) {
  char digits[24];
  char* at = digits + sizeof digits - 1;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  *at = 0;
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0) *--at = '-';
  add(text, at);
}

static void add_dtype(Text* text, const TernTensorView* tensor) {
  add(text, tensor->code == 0   ? "int"
            : tensor->code == 1 ? "uint"
            : tensor->code == 4 ? "bfloat"
            : tensor->code == 6 ? "bool"
                                : "float");
  if (tensor->code != 6) add_int(text, tensor->bits);
}

static void add_tensor(Text* text, const TernTensorView* tensor) {
  add_dtype(text, tensor);
  add(text, " tensor of shape (");
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (i) add(text, ", ");
    add_int(text, tensor->shape[i]);
  }
  add(text, tensor->ndim == 1 ? ",) on " : ") on ");
  add(text, tensor->device_type == 1 ? "cpu:" : "device ");
  if (tensor->device_type != 1) {
    add_int(text, tensor->device_type);
    add(text, ":");
  }
  add_int(text, tensor->device_id);
}

// As Tern's runtime says it, but for floats and texts, whose values are left out.
static void add_value(Text* text, const TernAny* value) {
  enum { kHeaderBytes = 24 };
  switch (value->type_index) {
    case 0:
      add(text, "none");
      break;
    case 1:
      add(text, "int "), add_int(text, value->v.i);
      break;
    case 2:
      add(text, value->v.i ? "bool true" : "bool false");
      break;
    case 3:
      add(text, "float");
      break;
    case 4:
      add(text, "pointer");
      break;
    case 7:
      add_tensor(text, (const TernTensorView*)value->v.p);
      break;
    case 8:
    case 11:
    case 65:
      add(text, "str");
      break;
    case 70:
      add_tensor(text, (const TernTensorView*)((const char*)value->v.p + kHeaderBytes));
      break;
    default:
      add(text, "value of type "), add_int(text, value->type_index);
  }
}

static void set_error(const char* kind, const char* message) {
  Symbol set = find_in_host("TVMFFIErrorSetRaisedFromCStr");
  if (set.address) {
    set.set_error(kind, message);
    return;
  }
  // To return -1 without an error would make the host crash elsewhere.
  Text text = {0, {0}};
  add(&text, "an error of compiled code cannot be raised, as libtvm_ffi.so is not loaded: ");
  add(&text, message);
  add(&text, "\n");
  Symbol write_bytes = find_anywhere("write");
  if (write_bytes.address) write_bytes.write_bytes(2, text.data, text.size);
  Symbol stop = find_anywhere("abort");
  if (stop.address) stop.stop();
  __builtin_trap();
}

static void raise_error(const TernEnv* env, const char* kind, const TernAny* parts,
                        int32_t num_parts) {
  Text text = {0, {0}};
  (void)env;
  for (int32_t i = 0; i < num_parts; ++i) {
    if (parts[i].type_index == 8)
      add(&text, parts[i].v.s);
    else if (parts[i].type_index == 1)
      add_int(&text, parts[i].v.i);
    else if (parts[i].type_index == 4)
      add_value(&text, (const TernAny*)parts[i].v.p);
    else
      add_value(&text, &parts[i]);
  }
  set_error(kind, text.data);
}

// ---- Memory: what a call leaves behind is freed at its end. The environment's module is the first
// block.

enum { kCpu = 1 };  // DLPack's

typedef struct Block {
  struct Block* next;
  void* memory;  // behind the block, or of the device
  int32_t device_type, device_id;
} Block;
enum { kBlockBytes = 64 };  // before the memory, so that it is aligned

// Where there is no runtime, some address: only kernels use the memory, and their launch says what
// is missing.
static void* alloc_on_device(Block* block, int64_t bytes, int64_t alignment) {
  Symbol alloc = find_in_runtime("tern_alloc_workspace");
  return alloc.address
             ? alloc.alloc_workspace(block->device_type, block->device_id, bytes, alignment)
             : block;
}

static void free_block(Block** at) {
  Block* block = *at;
  Symbol free_memory = find_anywhere("free");
  *at = block->next;
  if (block->device_type != kCpu) {
    Symbol free_device = find_in_runtime("tern_free_workspace");
    if (free_device.address && block->memory)
      free_device.free_workspace(block->device_type, block->device_id, block->memory);
  }
  if (free_memory.address) free_memory.free_memory(block);
}

static void* alloc_workspace(const TernEnv* env, int32_t device_type, int32_t device_id,
                             int64_t bytes, int64_t alignment) {
  Block** first = (Block**)env->module;
  size_t before = alignment > kBlockBytes ? (size_t)alignment : kBlockBytes;
  size_t behind = device_type == kCpu ? ((size_t)bytes + before - 1) / before * before : 0;
  Symbol allocate = find_anywhere("aligned_alloc");
  Block* block;
  if (bytes < 0 || !allocate.address) return NULL;
  block = (Block*)allocate.allocate(before, before + behind);
  if (!block) return NULL;
  block->next = *first;
  block->device_type = device_type;
  block->device_id = device_id;
  block->memory =
      device_type == kCpu ? (char*)block + before : alloc_on_device(block, bytes, alignment);
  *first = block;
  if (block->memory) return block->memory;
  free_block(first);
  return NULL;
}

static void free_workspace(const TernEnv* env, int32_t device_type, int32_t device_id,
                           void* memory) {
  Block** at = (Block**)env->module;
  while (*at && ((*at)->memory != memory || (*at)->device_type != device_type ||
                 (*at)->device_id != device_id))
    at = &(*at)->next;
  if (*at) free_block(at);
}

// ---- Calls

static int call_import(const TernEnv* env, const char* name, const TernAny* args, int32_t num_args,
                       TernAny* result);
static int parallel_for(const TernEnv* env, ParallelBody body, int64_t extent,
                        const void* captures);

static TernEnv make_env(Block** first) {
  TernEnv env = {sizeof(TernEnv), 1,           first, raise_error, call_import, alloc_workspace,
                 free_workspace,  parallel_for};
  return env;
}

// Code for devices is Tern's runtime's to launch.
static int call_import(const TernEnv* env, const char* name, const TernAny* args, int32_t num_args,
                       TernAny* result) {
  static const char kAnchor = 0;  // something of this library
  const char *kind = "RuntimeError", *message = "";
  Symbol call = find_in_runtime("tern_call_import");
  (void)env;
  if (!call.address) {
    Text text = {0, {0}};
    add(&text, "compiled code calls ");
    add(&text, name);
    add(&text,
        ", for which it needs libtern_runtime.so: it is neither on the library path nor "
        "beside this library");
    set_error(kind, text.data);
    return -1;
  }
  if (call.call_import(&kAnchor, name, args, num_args, result, &kind, &message) == 0) return 0;
  set_error(kind, message);
  return -1;
}

typedef struct Loop {
  ParallelBody body;
  const void* captures;
  void* error;  // the first one
} Loop;

// An error is raised in the thread that it came up in; the caller's is another.
static void keep_error(Loop* loop) {
  Symbol take = find_in_host("TVMFFIErrorMoveFromRaised");
  Symbol release = find_in_host("TVMFFIObjectDecRef");
  void* error = NULL;
  void* none = NULL;
  if (!take.address) return;
  take.take_error(&error);
  if (!error) return;
  if (!__atomic_compare_exchange_n(&loop->error, &none, error, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE) &&
      release.address)
    release.release(error);
}

static int run_piece(void* context, int64_t begin, int64_t end) {
  Loop* loop = (Loop*)context;
  Block* first = NULL;
  TernEnv env = make_env(&first);
  int code = loop->body(&env, begin, end, loop->captures);
  while (first) free_block(&first);
  if (code) keep_error(loop);
  return code;
}

// On the threads of Tern's runtime, where there is one.
static int parallel_for(const TernEnv* env, ParallelBody body, int64_t extent,
                        const void* captures) {
  Loop loop = {body, captures, NULL};
  Symbol run = find_in_runtime("tern_parallel_for");
  Symbol set = find_in_host("TVMFFIErrorSetRaised"), release = find_in_host("TVMFFIObjectDecRef");
  int code;
  if (!run.address || !set.address) return extent > 0 ? body(env, 0, extent, captures) : 0;
  code = run.parallel_for(extent, run_piece, &loop);
  if (!code) return 0;
  if (loop.error) {
    set.set_error_object(loop.error);
    if (release.address) release.release(loop.error);
  } else {
    set_error("RuntimeError", "a parallel loop failed");
  }
  return -1;
}

__attribute__((visibility("hidden"))) int tern_ffi_enter(Entry entry, const TernAny* args,
                                                         int32_t num_args, TernAny* result);
int tern_ffi_enter(Entry entry, const TernAny* args, int32_t num_args, TernAny* result) {
  Block* first = NULL;
  TernEnv env = make_env(&first);
  int code = entry(&env, args, num_args, result);
  while (first) free_block(&first);
  return code;
}
