// SPDX-License-Identifier: Apache-2.0
//
// What host and executor say to each other, in C, for both. All numbers are little endian;
// addresses are the executor's. A request is a TernRequest, then the bytes that go with it; an
// answer is a TernAnswer, then the bytes that go with it. The executor says hello by an answer when
// it starts, and ends where there are no more requests.
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_PROTOCOL_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_PROTOCOL_H_

#include <stdint.h>

enum {
  TERN_EXECUTOR_HELLO = 0x6e726574,  // "tern"
  TERN_EXECUTOR_VERSION = 1,
  TERN_EXECUTOR_MAX_ARGUMENTS = 8192  // bytes
};

enum TernRequestKind {
  TERN_REQUEST_ALLOC = 1,  // a: bytes, b: 1 for memory of code. Value: where, aligned to a page
  TERN_REQUEST_FREE = 2,   // a: where, b: bytes as they were asked for
  TERN_REQUEST_WRITE = 3,  // a: where, b: bytes, which follow
  TERN_REQUEST_READ = 4,   // a: where, b: bytes, which follow the answer
  TERN_REQUEST_COPY = 5,   // a: to, b: from, c: bytes
  TERN_REQUEST_CALL = 6    // a: function, b: bytes of arguments, which follow. Value: its result
};

typedef struct TernRequest {
  uint32_t kind, a, b, c;
} TernRequest;

// status: 0, or the number of an error of the executor's system. Of a hello: TERN_EXECUTOR_HELLO,
// and the version is the value.
typedef struct TernAnswer {
  uint32_t status, value;
} TernAnswer;

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_PROTOCOL_H_
