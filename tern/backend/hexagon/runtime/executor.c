// SPDX-License-Identifier: Apache-2.0
//
// The program that runs on the DSP, or in an emulator of it: it does what comes in by its standard
// input and answers by its standard output (protocol.h). It needs no library and keeps no state;
// make_generated.sh makes executor.inc of it, which the plugin has inside.
#include "protocol.h"

enum { kRead = 63, kWrite = 64, kExitGroup = 94, kMunmap = 215, kMmap2 = 222 };
enum { kProtRead = 1, kProtWrite = 2, kProtExec = 4, kMapPrivate = 2, kMapAnonymous = 32 };

static long System(long number, long a, long b, long c, long d) {
  register long r6 __asm__("r6") = number;
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = -1;  // of mmap: no file
  register long r5 __asm__("r5") = 0;
  __asm__ volatile("trap0(#1)"
                   : "+r"(r0)
                   : "r"(r6), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                   : "memory");
  return r0;
}

static void Exit(int code) {
  for (;;) System(kExitGroup, code, 0, 0, 0);
}

// All bytes, or the end: with 0 where nobody is there any more.
static void Transfer(long call, long file, void* data, uint32_t bytes) {
  for (char* at = data; bytes;) {
    long done = System(call, file, (long)at, (long)bytes, 0);
    if (done == 0) Exit(0);
    if (done < 0) Exit(70);
    at += done;
    bytes -= (uint32_t)done;
  }
}
static void Receive(void* data, uint32_t bytes) { Transfer(kRead, 0, data, bytes); }
static void Send(void* data, uint32_t bytes) { Transfer(kWrite, 1, data, bytes); }

static int IsError(long result) { return result < 0 && result > -4096; }

static void Copy(char* to, const char* from, uint32_t bytes) {
  if ((uint32_t)to <= (uint32_t)from)
    for (uint32_t i = 0; i < bytes; ++i) ((volatile char*)to)[i] = from[i];
  else
    for (uint32_t i = bytes; i; --i) ((volatile char*)to)[i - 1] = from[i - 1];
}

static char arguments[TERN_EXECUTOR_MAX_ARGUMENTS] __attribute__((aligned(8)));

static long Do(const TernRequest* request) {
  switch (request->kind) {
    case TERN_REQUEST_ALLOC:
      return System(kMmap2, 0, (long)request->a,
                    kProtRead | kProtWrite | (request->b ? kProtExec : 0),
                    kMapPrivate | kMapAnonymous);
    case TERN_REQUEST_FREE:
      return System(kMunmap, (long)request->a, (long)request->b, 0, 0);
    case TERN_REQUEST_WRITE:
      Receive((void*)request->a, request->b);
      return 0;
    case TERN_REQUEST_READ:
      return 0;
    case TERN_REQUEST_COPY:
      Copy((char*)request->a, (const char*)request->b, request->c);
      return 0;
    case TERN_REQUEST_CALL:
      if (request->b > sizeof arguments) Exit(71);
      Receive(arguments, request->b);
      return ((int (*)(const void*))request->a)(arguments);
  }
  Exit(72);
  return 0;
}

__attribute__((used)) static void Main(void) {
  TernAnswer answer = {TERN_EXECUTOR_HELLO, TERN_EXECUTOR_VERSION};
  Send(&answer, sizeof answer);
  for (;;) {
    TernRequest request;
    Receive(&request, sizeof request);
    long result = Do(&request);
    answer.status = IsError(result) ? (uint32_t)-result : 0;
    answer.value = IsError(result) ? 0 : (uint32_t)result;
    Send(&answer, sizeof answer);
    if (request.kind == TERN_REQUEST_READ) Send((void*)request.a, request.b);
  }
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  r29 = and(r29, #-128)\n"
    "  allocframe(#8)\n"
    "  call Main\n");
