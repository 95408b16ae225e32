// SPDX-License-Identifier: Apache-2.0
//
// What every packed function begins with: it compares its arguments with a table of what it takes,
// and puts what it needs of them into slots. One function serves all functions of a module, whose
// own part are constants; tern/tir/argument_table.h says how it gets into compiled code. Compiled
// after host_abi.inc, as C99 and as C++.

// ---- The table: numbers, and behind them texts, which numbers are byte offsets of.
//
//   TernArgumentHead, the text of each slot, for each argument a TernArgument, with a TernNumber
//   behind it for the offset, the extents, and the strides of a tensor that has them; and for each
//   two tensors that have to be apart a TernPair

typedef struct TernArgumentHead {
  int64_t function;  // a text: its name
  int64_t num_args;
  int64_t device_type;
  int64_t device;  // a text
  int64_t flags;
  int64_t device_slot;  // of the number of the tensors' device
  int64_t num_slots;
  int64_t num_pairs;
} TernArgumentHead;

enum {
  kTernHasAddresses = 1,  // of TernArgumentHead: memory has addresses, not handles
  kTernIsHost = 2,
  // Memory has addresses, and no tensor has strides or an offset in its declaration.
  kTernIsSimple = 4,
  kTernHasScalars = 8,
  kTernHasStrides = 1,  // of TernArgument
  kTernTakesNoOffset = 2,
  kTernIsStatic = 4  // all extents are constants
};

// Of arguments.
enum {
  kTernTakesHandle,
  kTernTakesFloat,
  kTernTakesInt,
  kTernTakesUInt,
  kTernTakesBool,
  kTernTakesTensor
};

typedef struct TernArgument {
  int64_t size;  // in words, with the numbers behind it
  int64_t name;  // texts
  int64_t dtype;
  int64_t kind;
  // Of the value; of a tensor, its address or handle, and behind it, for this function alone, the
  // first byte and the end of its memory.
  int64_t slot;
  int64_t bits;  // of a scalar; of a tensor code, bits and lanes of elements
  // Of a tensor.
  int64_t rank;
  int64_t alignment;  // a power of 2; of a handle's offset a multiple of an element, too
  int64_t element_bytes;
  int64_t flags;
  int64_t offset_slot;  // of its byte offset, where memory has handles
  int64_t bytes;        // where it is static
} TernArgument;

// A value that is expected of the caller.
typedef struct TernNumber {
  int64_t kind;
  int64_t value;  // or the slot
} TernNumber;
enum { kTernConstant, kTernInSlot, kTernSetsSlot };

// Two tensors, by their slots, one of which is written.
typedef struct TernPair {
  int64_t a;
  int64_t b;
} TernPair;

typedef union TernSlot {
  int64_t i;
  double f;
  const void* p;
} TernSlot;

// The steps of a call: what sets slots, and what compares with slots.
enum { kTernUnpack = 1, kTernCompare = 2 };

// ---- Messages

#define TERN_IS_RARE __attribute__((cold, noinline))

typedef struct TernMessage {
  TernAny parts[16];
  int32_t size;
} TernMessage;

static TERN_IS_RARE void tern_add_text(TernMessage* message, const char* text) {
  TernAny* part = &message->parts[message->size++];
  part->type_index = 8;
  part->small_len = 0;
  part->v.i = 0;
  part->v.s = text;
}
static TERN_IS_RARE void tern_add_number(TernMessage* message, int64_t number) {
  TernAny* part = &message->parts[message->size++];
  part->type_index = 1;
  part->small_len = 0;
  part->v.i = number;
}

// An argument at hand.
typedef struct TernChecked {
  const TernEnv* env;
  const TernArgumentHead* head;
  const TernArgument* param;
  const TernAny* given;
  int32_t index;
} TernChecked;

static const char* tern_text_of(const TernArgumentHead* head, int64_t text) {
  return (const char*)head + text;
}

// "matmul: argument 1 (B): expected "
static TERN_IS_RARE void tern_begin(TernMessage* message, const TernChecked* at) {
  message->size = 0;
  tern_add_text(message, tern_text_of(at->head, at->head->function));
  tern_add_text(message, ": argument ");
  tern_add_number(message, at->index);
  tern_add_text(message, " (");
  tern_add_text(message, tern_text_of(at->head, at->param->name));
  tern_add_text(message, "): expected ");
}
static int tern_raise(const TernChecked* at, const char* kind, const TernMessage* message) {
  at->env->raise(at->env, kind, message->parts, message->size);
  return -1;
}
// "..., got float32 tensor of shape (4, 5)"
static TERN_IS_RARE int tern_refuse(const TernChecked* at, const char* kind, TernMessage* message) {
  TernAny* part;
  tern_add_text(message, ", got ");
  part = &message->parts[message->size++];
  part->type_index = 4;
  part->small_len = 0;
  part->v.i = 0;
  part->v.p = at->given;
  return tern_raise(at, kind, message);
}
static TERN_IS_RARE int tern_expected(const TernChecked* at, const char* kind, const char* what,
                                      const char* more) {
  TernMessage message;
  tern_begin(&message, at);
  tern_add_text(&message, what);
  tern_add_text(&message, more);
  return tern_refuse(at, kind, &message);
}
static TERN_IS_RARE int tern_expected_tensor(const TernChecked* at) {
  TernMessage message;
  tern_begin(&message, at);
  tern_add_text(&message, tern_text_of(at->head, at->param->dtype));
  tern_add_text(&message, " tensor of rank ");
  tern_add_number(&message, at->param->rank);
  return tern_refuse(at, "TypeError", &message);
}
static TERN_IS_RARE int tern_expected_strides(const TernChecked* at) {
  TernMessage message;
  tern_begin(&message, at);
  tern_add_text(&message, "strides, got a tensor without");
  return tern_raise(at, "ValueError", &message);
}
static TERN_IS_RARE int tern_expected_arguments(const TernChecked* at, int64_t given) {
  TernMessage message;
  message.size = 0;
  tern_add_text(&message, tern_text_of(at->head, at->head->function));
  tern_add_text(&message, ": expected ");
  tern_add_number(&message, at->head->num_args);
  tern_add_text(&message, " arguments, got ");
  tern_add_number(&message, given);
  return tern_raise(at, "TypeError", &message);
}
static TERN_IS_RARE int tern_expected_aligned(const TernChecked* at) {
  TernMessage message;
  tern_begin(&message, at);
  tern_add_text(&message, "data aligned to ");
  tern_add_number(&message, at->param->alignment);
  tern_add_text(&message, " bytes");
  return tern_refuse(at, "ValueError", &message);
}
// "extent 0 to be k = 3"
static TERN_IS_RARE int tern_expected_number(const TernChecked* at, const char* what, int64_t axis,
                                             const TernNumber* expected, int64_t value) {
  TernMessage message;
  tern_begin(&message, at);
  tern_add_text(&message, what);
  tern_add_number(&message, axis);
  tern_add_text(&message, " to be ");
  if (expected->kind != kTernConstant) {
    const int64_t* texts = (const int64_t*)(at->head + 1);
    tern_add_text(&message, tern_text_of(at->head, texts[expected->value]));
    tern_add_text(&message, " = ");
  }
  tern_add_number(&message, value);
  return tern_refuse(at, "ValueError", &message);
}
static TERN_IS_RARE int tern_expected_apart(const TernChecked* at, const TernArgument* from,
                                            int32_t index) {
  TernMessage message;
  tern_begin(&message, at);
  tern_add_text(&message, "memory apart from that of argument ");
  tern_add_number(&message, index);
  tern_add_text(&message, " (");
  tern_add_text(&message, tern_text_of(at->head, from->name));
  tern_add_text(&message, "); a function with the attribute may_alias takes tensors that overlap");
  return tern_raise(at, "ValueError", &message);
}

// ---- Checks

static const TernArgument* tern_first(const TernArgumentHead* head) {
  return (const TernArgument*)((const int64_t*)(head + 1) + head->num_slots);
}
static const TernArgument* tern_next(const TernArgument* param) {
  return (const TernArgument*)((const int64_t*)param + param->size);
}
static const TernNumber* tern_offset_of(const TernArgument* param) {
  return (const TernNumber*)(param + 1);
}
static const TernNumber* tern_extents_of(const TernArgument* param) {
  return tern_offset_of(param) + 1;
}
static const TernNumber* tern_strides_of(const TernArgument* param) {
  return tern_extents_of(param) + param->rank;
}
static int64_t tern_value_of(const TernNumber* number, const TernSlot* slots) {
  return number->kind == kTernConstant ? number->value : slots[number->value].i;
}
// A tensor object has the view right behind its header, of 24 bytes.
static const TernTensorView* tern_view_of(const TernAny* given) {
  return (const TernTensorView*)((const char*)given->v.p + (given->type_index == 70 ? 24 : 0));
}

static int tern_unpack_scalar(const TernChecked* at, TernSlot* slots) {
  const TernArgument* param = at->param;
  const TernAny* given = at->given;
  const char* dtype = tern_text_of(at->head, param->dtype);
  TernSlot* slot = &slots[param->slot];
  int is_integer = given->type_index == 1 || given->type_index == 2;
  int64_t value = given->v.i, half;
  if (param->kind == kTernTakesHandle) {
    if (given->type_index != 4 && given->type_index != 0)
      return tern_expected(at, "TypeError", dtype, "");
    slot->p = given->v.p;
    return 0;
  }
  if (param->kind == kTernTakesFloat) {
    if (!is_integer && given->type_index != 3) return tern_expected(at, "TypeError", dtype, "");
    slot->f = given->type_index == 3 ? given->v.f : (double)value;
    return 0;
  }
  if (!is_integer) return tern_expected(at, "TypeError", dtype, "");
  slot->i = value;
  if (param->bits >= 64 || param->kind == kTernTakesBool) return 0;
  half = (int64_t)1 << (param->bits - 1);
  if (param->kind == kTernTakesInt ? value >= -half && value < half
                                   : value >= 0 && value < 2 * half)
    return 0;
  return tern_expected(at, "ValueError", dtype, ", which the value fits in");
}

static void tern_set_slots(const TernNumber* numbers, const int64_t* values, int64_t rank,
                           TernSlot* slots) {
  int64_t d;
  for (d = 0; d < rank; ++d)
    if (numbers[d].kind == kTernSetsSlot) slots[numbers[d].value].i = values[d];
}

// All but the data. `first`: the first tensor, whose device is that of all.
static int tern_unpack_tensor(const TernChecked* at, TernSlot* slots, int is_first) {
  const TernArgumentHead* head = at->head;
  const TernArgument* param = at->param;
  const TernTensorView* view;
  if (at->given->type_index != 7 && at->given->type_index != 70) return tern_expected_tensor(at);
  view = tern_view_of(at->given);
  if ((view->code | (int64_t)view->bits << 8 | (int64_t)view->lanes << 16) != param->bits ||
      view->ndim != param->rank)
    return tern_expected_tensor(at);
  if (view->device_type != head->device_type)
    return tern_expected(at, "ValueError", "a tensor on ", tern_text_of(head, head->device));
  if (!(head->flags & kTernIsHost)) {
    if (is_first)
      slots[head->device_slot].i = view->device_id;
    else if (view->device_id != slots[head->device_slot].i)
      return tern_expected(at, "ValueError", "a tensor on the device of the others", "");
  }
  tern_set_slots(tern_extents_of(param), view->shape, param->rank, slots);
  if (!(param->flags & kTernHasStrides)) return 0;
  if (!view->strides) return tern_expected_strides(at);
  tern_set_slots(tern_strides_of(param), view->strides, param->rank, slots);
  return 0;
}

static int tern_unpack_data(const TernChecked* at, TernSlot* slots) {
  const TernArgument* param = at->param;
  const TernTensorView* view = tern_view_of(at->given);
  TernSlot* slot = &slots[param->slot];
  int has_addresses = (at->head->flags & kTernHasAddresses) != 0;
  uint64_t place = view->byte_offset, alignment = (uint64_t)param->alignment;
  if (has_addresses) {
    slot->p = (const char*)view->data + view->byte_offset;
    place = (uintptr_t)slot->p;
    alignment &= -alignment;  // of an address: the power of 2 in it
  } else {
    slot->p = view->data;
    slots[param->offset_slot].i = (int64_t)view->byte_offset;
    if ((param->flags & kTernTakesNoOffset) && view->byte_offset != 0)
      return tern_expected(at, "ValueError",
                           "a tensor without byte offset (a kernel that is given as code takes it)",
                           "");
  }
  if (place % alignment != 0) return tern_expected_aligned(at);
  slot[1].i = (int64_t)place;
  return 0;
}

// No strides, or those of a compact tensor; an extent of 1 makes its stride irrelevant, an extent
// of 0 all of them.
static int tern_is_compact(const TernTensorView* view) {
  int64_t d, step = 1;
  int fits = 1;
  if (!view->strides) return 1;
  for (d = view->ndim; d-- > 0;) {
    fits &= view->shape[d] == 1 || view->strides[d] == step;
    step *= view->shape[d];
  }
  return fits || step == 0;
}

// Of the memory of a tensor, from its lowest to its highest element: where it begins and ends.
static void tern_find_memory(const TernArgument* param, const TernTensorView* view,
                             TernSlot* slots) {
  int64_t d, elements = 1, first = tern_value_of(tern_offset_of(param), slots), reach = 1;
  TernSlot* slot = &slots[param->slot];
  for (d = 0; d < param->rank; ++d) elements *= view->shape[d];
  if (param->flags & kTernHasStrides) {
    for (d = 0; d < param->rank; ++d) {
      int64_t distance = (view->shape[d] - 1) * view->strides[d];
      if (distance < 0) first += distance;
      reach += distance < 0 ? -distance : distance;
    }
    if (elements != 0) elements = reach;
  }
  slot[1].i += first * param->element_bytes;
  slot[2].i = slot[1].i + elements * param->element_bytes;
}

static int tern_compare_tensor(const TernChecked* at, TernSlot* slots) {
  const TernArgument* param = at->param;
  const TernTensorView* view = tern_view_of(at->given);
  const TernNumber *extents = tern_extents_of(param), *strides = tern_strides_of(param);
  int64_t d;
  for (d = 0; d < param->rank; ++d) {
    int64_t expected = tern_value_of(&extents[d], slots);
    if (view->shape[d] != expected)
      return tern_expected_number(at, "extent ", d, &extents[d], expected);
  }
  if (param->flags & kTernHasStrides) {
    for (d = 0; d < param->rank; ++d) {
      int64_t expected = tern_value_of(&strides[d], slots);
      if (view->strides[d] != expected)
        return tern_expected_number(at, "stride ", d, &strides[d], expected);
    }
  } else if (!tern_is_compact(view)) {
    return tern_expected(at, "ValueError", "a compact tensor", "");
  }
  tern_find_memory(param, view, slots);
  return 0;
}

static int tern_are_apart(const TernSlot* a, const TernSlot* b, int has_addresses) {
  uint64_t a_first = (uint64_t)a[1].i, a_end = (uint64_t)a[2].i;
  uint64_t b_first = (uint64_t)b[1].i, b_end = (uint64_t)b[2].i;
  if (!has_addresses && a->p != b->p) return 1;  // two handles are two memories
  return a_end <= b_first || b_end <= a_first || a_first == a_end || b_first == b_end;
}

static const TernArgument* tern_find(const TernArgumentHead* head, int64_t slot, int32_t* index) {
  const TernArgument* param = tern_first(head);
  for (*index = 0; param->slot != slot; ++*index) param = tern_next(param);
  return param;
}
// Memory that is written lies apart from that of all other tensors. `pair`: the first one.
static const TernPair* tern_find_overlap(const TernArgumentHead* head, const TernPair* pair,
                                         const TernSlot* slots) {
  int has_addresses = (head->flags & kTernHasAddresses) != 0;
  int64_t i;
  for (i = 0; i < head->num_pairs; ++i)
    if (!tern_are_apart(&slots[pair[i].a], &slots[pair[i].b], has_addresses)) return &pair[i];
  return 0;
}

// ---- The usual case
//
// Most calls are right, and most functions simple: these are let pass by one walk over the table.
// What it does not let pass goes through the walks behind, in the order of messages.

static int tern_fits(const TernArgument* param, const TernAny* given) {
  return given->type_index == 1 &&
         (param->bits >= 64 || param->kind == kTernTakesBool ||
          (param->kind == kTernTakesInt
               ? ((uint64_t)given->v.i + ((uint64_t)1 << (param->bits - 1))) >> param->bits == 0
               : (uint64_t)given->v.i >> param->bits == 0));
}

static int tern_take_scalars(const TernArgumentHead* head, const TernAny* args, TernSlot* slots) {
  const TernArgument* param = tern_first(head);
  int64_t i;
  for (i = 0; i < head->num_args; ++i, param = tern_next(param)) {
    if (param->kind == kTernTakesTensor) continue;
    if (param->kind == kTernTakesFloat    ? args[i].type_index != 3
        : param->kind == kTernTakesHandle ? args[i].type_index != 4
                                          : !tern_fits(param, &args[i]))
      return 0;
    slots[param->slot].i = args[i].v.i;
  }
  return 1;
}

static int tern_take(const TernArgumentHead* head, const TernAny* args, TernSlot* slots) {
  const TernArgument* param = tern_first(head);
  uint64_t wrong = 0;
  int64_t i, d;
  int32_t device = -1;
  if ((head->flags & kTernHasScalars) && !tern_take_scalars(head, args, slots)) return 0;
  for (i = 0; i < head->num_args; ++i, param = tern_next(param)) {
    const TernNumber* extents = tern_extents_of(param);
    const TernTensorView* view;
    const int64_t* shape;
    TernSlot* slot = &slots[param->slot];
    int64_t bytes = param->bytes;
    if (param->kind != kTernTakesTensor) continue;
    if (args[i].type_index != 7 && args[i].type_index != 70) return 0;
    view = tern_view_of(&args[i]);
    if ((view->code | (int64_t)view->bits << 8 | (int64_t)view->lanes << 16) != param->bits ||
        view->ndim != param->rank || view->device_type != head->device_type)
      return 0;
    if (!(head->flags & kTernIsHost)) {
      if (view->device_id < 0) return 0;
      if (device < 0) slots[head->device_slot].i = device = view->device_id;
      wrong |= (uint64_t)(device ^ view->device_id);
    }
    shape = view->shape;
    if (param->flags & kTernIsStatic) {
      for (d = 0; d < param->rank; ++d) wrong |= (uint64_t)(shape[d] ^ extents[d].value);
    } else {
      bytes = param->element_bytes;
      for (d = 0; d < param->rank; ++d) {
        int64_t kind = extents[d].kind, value = extents[d].value;
        if (kind == kTernSetsSlot)
          slots[value].i = shape[d];
        else
          wrong |= (uint64_t)(shape[d] ^ (kind == kTernConstant ? value : slots[value].i));
        bytes *= shape[d];
      }
    }
    if (view->strides && !tern_is_compact(view)) return 0;
    slot->p = (const char*)view->data + view->byte_offset;
    slot[1].i = (int64_t)(uintptr_t)slot->p;
    slot[2].i = slot[1].i + bytes;
    wrong |= (uint64_t)slot[1].i & (uint64_t)(param->alignment - 1);
  }
  return !wrong && !tern_find_overlap(head, (const TernPair*)param, slots);
}

// ---- All cases

// One step for all arguments: scalars, tensors, data, comparisons.
enum { kTernScalars, kTernTensors, kTernData, kTernComparisons };
static int tern_check_all(TernChecked* at, const TernAny* args, TernSlot* slots, int step) {
  int is_first = 1;
  at->param = tern_first(at->head);
  for (at->index = 0; at->index < at->head->num_args; ++at->index) {
    int is_tensor = at->param->kind == kTernTakesTensor, failed = 0;
    at->given = &args[at->index];
    if (step == kTernScalars) {
      if (!is_tensor) failed = tern_unpack_scalar(at, slots);
    } else if (is_tensor) {
      failed = step == kTernTensors ? tern_unpack_tensor(at, slots, is_first)
               : step == kTernData  ? tern_unpack_data(at, slots)
                                    : tern_compare_tensor(at, slots);
      is_first = 0;
    }
    if (failed) return failed;
    at->param = tern_next(at->param);
  }
  return 0;
}

static TERN_IS_RARE int tern_check_in_order(const TernEnv* env, const TernAny* args,
                                            int32_t num_args, TernSlot* slots,
                                            const TernArgumentHead* head, int32_t steps) {
  const TernArgument *end, *a;
  const TernPair* overlap;
  int32_t i;
  TernChecked at;
  at.env = env;
  at.head = head;
  at.param = 0;
  at.given = 0;
  at.index = 0;
  if (steps & kTernUnpack) {
    if (num_args != head->num_args) return tern_expected_arguments(&at, num_args);
    if (tern_check_all(&at, args, slots, kTernScalars) ||
        tern_check_all(&at, args, slots, kTernTensors) ||
        tern_check_all(&at, args, slots, kTernData))
      return -1;
  }
  if (!(steps & kTernCompare)) return 0;
  if (tern_check_all(&at, args, slots, kTernComparisons)) return -1;
  end = tern_first(head);
  for (i = 0; i < head->num_args; ++i) end = tern_next(end);
  overlap = tern_find_overlap(head, (const TernPair*)end, slots);
  if (!overlap) return 0;
  a = tern_find(head, overlap->a, &i);
  at.param = tern_find(head, overlap->b, &at.index);
  return tern_expected_apart(&at, a, i);
}

TERN_CHECK_ARGUMENTS_LINKAGE int tern_check_arguments(const TernEnv* env, const TernAny* args,
                                                      int32_t num_args, void* slots,
                                                      const void* table, int32_t steps) {
  const TernArgumentHead* head = (const TernArgumentHead*)table;
  if (steps == (kTernUnpack | kTernCompare) && (head->flags & kTernIsSimple) &&
      num_args == head->num_args && tern_take(head, args, (TernSlot*)slots))
    return 0;
  return tern_check_in_order(env, args, num_args, (TernSlot*)slots, head, steps);
}
