// SPDX-License-Identifier: Apache-2.0
//
// run MODEL.so THREADS SECONDS BYTES: products with packed weights, beside reading the same memory
// by as many threads, alternately in one run. Of more weights than the caches hold both are from
// DRAM. The ratio is the median of those of rounds, each of a product and the reading behind it:
// the bandwidth of a shared machine changes from second to second.
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
  const char *begin, *end;
  int again;
  long sum;
};
__attribute__((target("avx512f"))) static void* read_part(void* argument) {
  struct part* part = argument;
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (int round = 0; round < part->again; ++round)
    for (const char* at = part->begin; at + 256 <= part->end; at += 256) {
      a = _mm512_xor_si512(a, _mm512_loadu_si512(at));
      b = _mm512_xor_si512(b, _mm512_loadu_si512(at + 64));
      c = _mm512_xor_si512(c, _mm512_loadu_si512(at + 128));
      d = _mm512_xor_si512(d, _mm512_loadu_si512(at + 192));
    }
  part->sum =
      _mm512_reduce_add_epi64(_mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d)));
  return NULL;
}
// So many times, each thread its part.
static double read_all(const char* memory, size_t bytes, int again, int threads) {
  pthread_t others[16];
  struct part parts[16];
  size_t each = bytes / (size_t)threads;
  double start = now();
  for (int i = 0; i < threads; ++i) {
    parts[i] = (struct part){memory + each * (size_t)i, memory + each * (size_t)(i + 1), again, 0};
    if (i) pthread_create(&others[i], NULL, read_part, &parts[i]);
  }
  read_part(&parts[0]);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  double seconds = now() - start;
  if (parts[0].sum == 42) puts("");
  return seconds / again;
}

enum { kMostRounds = 100000 };
static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  int threads = atoi(argv[2]);
  setenv("TERN_NUM_THREADS", argv[2], 1);  // those of the process: a session's own would be asleep
  double limit = atof(argv[3]);
  size_t bytes = (size_t)atoll(argv[4]);
  TernModel* model;
  TernSession* session;
  check(tern_model_load(argv[1], &model));
  check(tern_session_create(model, &session));
  // The pages that the weights are in.
  int file = open(argv[1], O_RDONLY);
  const char* memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  if (file < 0 || memory == MAP_FAILED) return 3;
  close(file);
  TernPort in, out;
  check(tern_model_input(model, 0, &in));
  check(tern_model_output(model, 0, &out));
  TernDevice cpu;
  check(tern_device_find("cpu", 0, &cpu));
  TernObject *input, *output;
  check(tern_tensor_make(in.shape, in.ndim, in.dtype, cpu, &input));
  check(tern_tensor_make(out.shape, out.ndim, out.dtype, cpu, &output));
  TernTensorView* view;
  check(tern_tensor_get_view(input, &view));
  memset(view->data, 0, (size_t)in.shape[in.ndim - 1] * 2);
  check(tern_session_run(session, &input, 1, &output, 1));
  // The best of rounds, each of milliseconds.
  double best = 1e9, best_read = 1e9, end = now() + limit;
  static double ratios[kMostRounds];
  int rounds = 0, again = 1 + (int)((64 << 20) / bytes);
  for (; (now() < end || rounds < 3) && rounds < kMostRounds; ++rounds) {
    double start = now();
    for (int k = 0; k < again; ++k) check(tern_session_run(session, &input, 1, &output, 1));
    double seconds = (now() - start) / again;
    if (seconds < best) best = seconds;
    double reading = read_all(memory, bytes, again, threads);
    if (reading < best_read) best_read = reading;
    ratios[rounds] = reading / seconds;
  }
  qsort(ratios, (size_t)rounds, sizeof(double), compare);
  double total = (double)bytes;
  printf(
      "%s threads %d rounds %d: best product %.1f us %.2f GB/s, best read %.2f GB/s, ratio %.2f "
      "(a quarter below %.2f, a quarter above %.2f; of the best %.2f)\n",
      argv[1], threads, rounds, best * 1e6, total / best * 1e-9, total / best_read * 1e-9,
      ratios[rounds / 2], ratios[rounds / 4], ratios[rounds * 3 / 4], best_read / best);
  return 0;
}
