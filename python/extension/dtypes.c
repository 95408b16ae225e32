// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "python/extension/extension.h"

typedef struct {
  const char* name;
  TernDType dtype;
  const char* format;  // of the buffer protocol, or NULL
} KnownType;

static const KnownType kTypes[] = {
    {"bool", {kTernTypeBool, 8, 1}, "?"},
    {"int8", {kTernTypeInt, 8, 1}, "b"},
    {"int16", {kTernTypeInt, 16, 1}, "h"},
    {"int32", {kTernTypeInt, 32, 1}, "i"},
    {"int64", {kTernTypeInt, 64, 1}, "q"},
    {"uint8", {kTernTypeUInt, 8, 1}, "B"},
    {"uint16", {kTernTypeUInt, 16, 1}, "H"},
    {"uint32", {kTernTypeUInt, 32, 1}, "I"},
    {"uint64", {kTernTypeUInt, 64, 1}, "Q"},
    {"float16", {kTernTypeFloat, 16, 1}, "e"},
    {"float32", {kTernTypeFloat, 32, 1}, "f"},
    {"float64", {kTernTypeFloat, 64, 1}, "d"},
    {"bfloat16", {kTernTypeBfloat, 16, 1}, NULL},
    {"float8_e4m3fn", {kTernTypeFloat8E4M3FN, 8, 1}, NULL},
    {"float8_e4m3fnuz", {kTernTypeFloat8E4M3FNUZ, 8, 1}, NULL},
    {"float8_e5m2", {kTernTypeFloat8E5M2, 8, 1}, NULL},
    {"float8_e5m2fnuz", {kTernTypeFloat8E5M2FNUZ, 8, 1}, NULL},
    {"float4_e2m1fn", {kTernTypeFloat4E2M1FN, 4, 1}, NULL},
    {"int4", {kTernTypeInt, 4, 1}, NULL},
    {"uint4", {kTernTypeUInt, 4, 1}, NULL},
};
enum { kNumTypes = sizeof(kTypes) / sizeof(kTypes[0]) };

static const KnownType* Find(TernDType dtype) {
  for (int i = 0; i < kNumTypes; ++i) {
    const TernDType* known = &kTypes[i].dtype;
    if (known->code == dtype.code && known->bits == dtype.bits && dtype.lanes == 1)
      return &kTypes[i];
  }
  return NULL;
}

const char* DTypeName(TernDType dtype) {
  const KnownType* found = Find(dtype);
  return found ? found->name : "";
}

const char* FormatOf(TernDType dtype) {
  const KnownType* found = Find(dtype);
  return found ? found->format : NULL;
}

int DTypeFrom(const char* name, TernDType* dtype) {
  char known[400] = "";
  for (int i = 0; i < kNumTypes; ++i) {
    if (strcmp(kTypes[i].name, name) == 0) {
      *dtype = kTypes[i].dtype;
      return 0;
    }
    strcat(known, i ? ", " : "");
    strcat(known, kTypes[i].name);
  }
  PyErr_Format(PyExc_TypeError, "there is no dtype '%s'; there are %s", name, known);
  return -1;
}

int DTypeFromFormat(const char* format, Py_ssize_t item_bytes, TernDType* dtype) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == 0 || format[1] != 0) return 0;
  uint8_t bits = (uint8_t)(item_bytes * 8);
  switch (format[0]) {
    case 'f':
    case 'd':
    case 'e':
      *dtype = (TernDType){kTernTypeFloat, bits, 1};
      return 1;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      *dtype = (TernDType){kTernTypeInt, bits, 1};
      return 1;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      *dtype = (TernDType){kTernTypeUInt, bits, 1};
      return 1;
    case '?':
      *dtype = (TernDType){kTernTypeBool, 8, 1};
      return 1;
    default:
      return 0;
  }
}
