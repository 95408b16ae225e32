/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libtvm_ffi that compiled code looks up: one error per thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Error {
  int count;
  char text[1600];
} Error;
static __thread Error* raised;

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  free(raised);
  raised = calloc(1, sizeof *raised);
  raised->count = 1;
  snprintf(raised->text, sizeof raised->text, "%s: %s", kind, message);
}
void TVMFFIErrorMoveFromRaised(void** out) {
  *out = raised;
  raised = NULL;
}
void TVMFFIErrorSetRaised(void* error) {
  raised = error;
  ++raised->count;
}
int TVMFFIObjectDecRef(void* object) {
  Error* error = object;
  if (--error->count == 0) free(error);
  return 0;
}
const char* fake_error(void) { return raised ? raised->text : "none"; }
