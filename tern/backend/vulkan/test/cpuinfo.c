/* SPDX-License-Identifier: Apache-2.0
 *
 * For LD_PRELOAD: a process that reads /proc/cpuinfo reads the file that TERN_TEST_CPUINFO names
 * instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* redirect(const char* path) {
  const char* other = getenv("TERN_TEST_CPUINFO");
  return other && path && strcmp(path, "/proc/cpuinfo") == 0 ? other : path;
}

/* The mode counts only where a file is made; reading one that is not there does no harm. */
#define MODE_BEHIND(last)       \
  va_list more;                 \
  va_start(more, last);         \
  int mode = va_arg(more, int); \
  va_end(more);

#define DEFINE_OPEN(name)                      \
  int name(const char* path, int flags, ...) { \
    MODE_BEHIND(flags)                         \
    int (*real)(const char*, int, ...);        \
    *(void**)&real = dlsym(RTLD_NEXT, #name);  \
    return real(redirect(path), flags, mode);  \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                   \
  int name(int directory, const char* path, int flags, ...) { \
    MODE_BEHIND(flags)                                        \
    int (*real)(int, const char*, int, ...);                  \
    *(void**)&real = dlsym(RTLD_NEXT, #name);                 \
    return real(directory, redirect(path), flags, mode);      \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

#define DEFINE_FOPEN(name)                        \
  FILE* name(const char* path, const char* how) { \
    FILE* (*real)(const char*, const char*);      \
    *(void**)&real = dlsym(RTLD_NEXT, #name);     \
    return real(redirect(path), how);             \
  }
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
