// SPDX-License-Identifier: Apache-2.0
//
// Hooks of `tern compile` that run a command: it reads the code on its standard input and writes
// what it makes of it to its standard output. TERN_POSTPROC is the command of --postproc,
// TERN_COMPILE that of --compile-hook; both find the target in TERN_KIND and TERN_TARGET.
//
//   cc -shared -fPIC -I . examples/hooks/command_hook.c -o command_hook.so
//   TERN_COMPILE='nvcc -x cu -ptx -o - -' tern compile add.tir -t cuda --compile-hook
//   command_hook.so -o add.tern TERN_POSTPROC='spirv-opt -O - -o -' tern compile add.tir -t vulkan
//   --postproc command_hook.so -o add.tern
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tern/codegen/hook_api.h"

static int Fail(const TernHookCall* call, const char* what) {
  call->set_error(call, what);
  return -1;
}

// The whole of a file, from its start; null where there is no memory.
static char* ReadAll(FILE* file, size_t* size) {
  char* bytes = NULL;
  size_t room = 0;
  *size = 0;
  rewind(file);
  do {
    char* more = realloc(bytes, room = 2 * room + 4096);
    if (!more) {
      free(bytes);
      return NULL;
    }
    bytes = more;
    *size += fread(bytes + *size, 1, room - *size, file);
  } while (*size == room);
  return bytes;
}

// Runs the command from one file to another; returns its status as waitpid gives it.
static int RunCommand(const TernHookCall* call, const char* command, FILE* in, FILE* out) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    if (dup2(fileno(in), STDIN_FILENO) < 0 || dup2(fileno(out), STDOUT_FILENO) < 0) _exit(127);
    setenv("TERN_KIND", call->kind, 1);
    setenv("TERN_TARGET", call->target, 1);
    execl("/bin/sh", "sh", "-c", command, (char*)NULL);
    _exit(127);
  }
  if (child > 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  return status;
}

static int Answer(const TernHookCall* call, const char* variable) {
  const char* command = getenv(variable);
  char message[256];
  if (!command) {
    snprintf(message, sizeof message, "%s is not set: a command is expected", variable);
    return Fail(call, message);
  }
  // Files without a name, which go when they are closed.
  FILE *in = tmpfile(), *out = tmpfile();
  int result = -1;
  if (!in || !out || fwrite(call->code, 1, call->code_size, in) != call->code_size ||
      fflush(in) != 0) {
    Fail(call, strerror(errno));
  } else {
    rewind(in);
    int status = RunCommand(call, command, in, out);
    size_t size = 0;
    char* code = status == 0 ? ReadAll(out, &size) : NULL;
    if (code) {
      call->set_code(call, code, size);
      result = 0;
    } else {
      snprintf(message, sizeof message, "%s=\"%s\" ended with status %d", variable, command,
               WIFEXITED(status) ? WEXITSTATUS(status) : status);
      Fail(call, message);
    }
    free(code);
  }
  if (in) fclose(in);
  if (out) fclose(out);
  return result;
}

int tern_postproc(const TernHookCall* call) { return Answer(call, "TERN_POSTPROC"); }
int tern_compile(const TernHookCall* call) { return Answer(call, "TERN_COMPILE"); }
