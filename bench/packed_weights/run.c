// SPDX-License-Identifier: Apache-2.0
//
// run MODEL.so COPIES THREADS SECONDS BYTES: products with packed weights, of so many copies of a
// model in turn, beside reading the same memory by as many threads, alternately in one run. With
// more copies than the caches hold both are from DRAM.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tern/runtime/c_api.h"

static void check(int code) {
  if (code == 0) return;
  fprintf(stderr, "error: %s\n", tern_last_error());
  exit(1);
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- Reading
struct part {
  const char* const* copies;
  int count;
  size_t begin, end;
  long sum;
};
__attribute__((target("avx512f"))) static void* read_part(void* argument) {
  struct part* part = argument;
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (int copy = 0; copy < part->count; ++copy)
    for (const char* at = part->copies[copy] + part->begin;
         at + 256 <= part->copies[copy] + part->end; at += 256) {
      a = _mm512_xor_si512(a, _mm512_loadu_si512(at));
      b = _mm512_xor_si512(b, _mm512_loadu_si512(at + 64));
      c = _mm512_xor_si512(c, _mm512_loadu_si512(at + 128));
      d = _mm512_xor_si512(d, _mm512_loadu_si512(at + 192));
    }
  part->sum =
      _mm512_reduce_add_epi64(_mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d)));
  return NULL;
}
// All copies, each thread its part of them.
static double read_all(const char* const* copies, int count, size_t bytes, int threads) {
  pthread_t others[16];
  struct part parts[16];
  double start = now();
  for (int i = 0; i < threads; ++i) {
    parts[i] = (struct part){copies, count, bytes / threads * i, bytes / threads * (i + 1), 0};
    if (i) pthread_create(&others[i], NULL, read_part, &parts[i]);
  }
  read_part(&parts[0]);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  double seconds = now() - start;
  if (parts[0].sum == 42) puts("");
  return seconds;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  int copies = atoi(argv[2]), threads = atoi(argv[3]);
  setenv("TERN_NUM_THREADS", argv[3], 1);  // those of the process: a session's own would be asleep
  double limit = atof(argv[4]);
  size_t bytes = (size_t)atoll(argv[5]);
  const char** memory = calloc((size_t)copies, sizeof *memory);
  TernSession** sessions = calloc((size_t)copies, sizeof *sessions);
  TernObject *input = NULL, *output = NULL;
  for (int i = 0; i < copies; ++i) {
    char path[4096];
    if (copies == 1)
      snprintf(path, sizeof path, "%s", argv[1]);
    else
      snprintf(path, sizeof path, "%s.%d", argv[1], i);
    TernModel* model;
    check(tern_model_load(path, &model));
    // The pages that the weights are in.
    int file = open(path, O_RDONLY);
    memory[i] = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (file < 0 || memory[i] == MAP_FAILED) return 3;
    close(file);
    check(tern_session_create(model, &sessions[i]));
    if (input) continue;
    TernPort in, out;
    check(tern_model_input(model, 0, &in));
    check(tern_model_output(model, 0, &out));
    TernDevice cpu;
    check(tern_device_find("cpu", 0, &cpu));
    check(tern_tensor_make(in.shape, in.ndim, in.dtype, cpu, &input));
    check(tern_tensor_make(out.shape, out.ndim, out.dtype, cpu, &output));
    TernTensorView* view;
    check(tern_tensor_get_view(input, &view));
    memset(view->data, 0, (size_t)in.shape[in.ndim - 1] * 2);
  }
  for (int i = 0; i < copies; ++i) check(tern_session_run(sessions[i], &input, 1, &output, 1));
  // The best of rounds, each of all copies.
  double best = 1e9, best_read = 1e9, all = 0, all_read = 0, end = now() + limit;
  int rounds = 0;
  for (; now() < end || rounds < 3; ++rounds) {
    int again = copies == 1 ? 64 : 1;
    double start = now();
    for (int k = 0; k < again; ++k)
      for (int i = 0; i < copies; ++i) check(tern_session_run(sessions[i], &input, 1, &output, 1));
    double seconds = (now() - start) / again;
    if (seconds < best) best = seconds;
    all += seconds;
    seconds = 0;
    for (int k = 0; k < again; ++k) seconds += read_all(memory, copies, bytes, threads) / again;
    if (seconds < best_read) best_read = seconds;
    all_read += seconds;
  }
  double total = (double)bytes * copies;
  printf(
      "%s copies %d threads %d rounds %d: product %.1f us %.2f GB/s (mean %.2f), read %.2f GB/s "
      "(mean %.2f), ratio %.2f (mean %.2f)\n",
      argv[1], copies, threads, rounds, best / copies * 1e6, total / best * 1e-9,
      total * rounds / all * 1e-9, total / best_read * 1e-9, total * rounds / all_read * 1e-9,
      best_read / best, all_read / all);
  return 0;
}
