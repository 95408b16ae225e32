// SPDX-License-Identifier: Apache-2.0
//
// The kernels of examples/kernels in plain C with OpenMP, as one would write them: what the bench
// measures beside.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void histogram(const uint8_t* a, int32_t* h, int64_t n) {
  memset(h, 0, 256 * sizeof(int32_t));
#pragma omp parallel
  {
    int32_t bins[4][256] = {{0}};
#pragma omp for
    for (int64_t i = 0; i < n / 4; ++i)
      for (int s = 0; s < 4; ++s) ++bins[s][a[i * 4 + s]];
#pragma omp critical
    for (int b = 0; b < 256; ++b) h[b] += bins[0][b] + bins[1][b] + bins[2][b] + bins[3][b];
  }
  for (int64_t i = n / 4 * 4; i < n; ++i) ++h[a[i]];
}

void scatter_add(const float* x, const uint8_t* index, float* y, int64_t n, int64_t m) {
  memset(y, 0, 256 * m * sizeof(float));
#pragma omp parallel for
  for (int64_t c = 0; c < (m + 63) / 64; ++c) {
    int64_t end = c * 64 + 64 < m ? c * 64 + 64 : m;
    for (int64_t i = 0; i < n; ++i) {
      float* restrict to = y + index[i] * m;
      for (int64_t j = c * 64; j < end; ++j) to[j] += x[i * m + j];
    }
  }
}

void prefix_sum(const int32_t* x, int32_t* y, int64_t n) {
  int32_t total[64], before = 0;
#pragma omp parallel for
  for (int64_t p = 0; p < 64; ++p) {
    int32_t sum = 0;
    for (int64_t i = n * p / 64; i < n * (p + 1) / 64; ++i) sum += x[i];
    total[p] = sum;
  }
  for (int p = 0; p < 64; ++p) {
    int32_t next = before + total[p];
    total[p] = before;
    before = next;
  }
#pragma omp parallel for
  for (int64_t p = 0; p < 64; ++p) {
    int32_t sum = total[p];
    for (int64_t i = n * p / 64; i < n * (p + 1) / 64; ++i) {
      sum += x[i];
      y[i] = sum;
    }
  }
}

void top_k(const float* x, float* values, int32_t* indices, int64_t n, int64_t m) {
#pragma omp parallel for
  for (int64_t r = 0; r < n; ++r) {
    float best[8];
    int32_t place[8];
    for (int k = 0; k < 8; ++k) best[k] = -INFINITY, place[k] = -1;
    for (int64_t j = 0; j < m; ++j) {
      float v = x[r * m + j];
      if (!(v > best[7])) continue;
      int slot = 7;
      for (; slot > 0 && v > best[slot - 1]; --slot) {
        best[slot] = best[slot - 1];
        place[slot] = place[slot - 1];
      }
      best[slot] = v;
      place[slot] = (int32_t)j;
    }
    memcpy(values + r * 8, best, sizeof best);
    memcpy(indices + r * 8, place, sizeof place);
  }
}

void radix_sort(const uint32_t* x, uint32_t* y, int64_t n) {
  uint32_t* other = malloc(n * sizeof(uint32_t));
  static int32_t place[16][256];
  for (int pass = 0; pass < 4; ++pass) {
    const uint32_t* from = pass == 0 ? x : pass == 2 ? y : other;
    uint32_t* to = pass % 2 == 0 ? other : y;
    if (pass == 2) from = y;
    int shift = pass * 8;
#pragma omp parallel for
    for (int p = 0; p < 16; ++p) {
      memset(place[p], 0, sizeof place[p]);
      for (int64_t i = n * p / 16; i < n * (p + 1) / 16; ++i) ++place[p][from[i] >> shift & 255];
    }
    int32_t sum = 0;
    for (int d = 0; d < 256; ++d)
      for (int p = 0; p < 16; ++p) {
        int32_t count = place[p][d];
        place[p][d] = sum;
        sum += count;
      }
#pragma omp parallel for
    for (int p = 0; p < 16; ++p)
      for (int64_t i = n * p / 16; i < n * (p + 1) / 16; ++i)
        to[place[p][from[i] >> shift & 255]++] = from[i];
  }
  free(other);
}

static uint32_t Rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

void threefry(const uint32_t* key, uint32_t* y, int64_t n) {
  static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    uint32_t a = (uint32_t)i + k[0], b = k[1];
#pragma GCC unroll 20
    for (int r = 0; r < 20; ++r) {
      a += b;
      b = Rotate(b, rotation[r % 8]) ^ a;
      if (r % 4 == 3) {
        int s = r / 4 + 1;
        a += k[s % 3];
        b += k[(s + 1) % 3] + s;
      }
    }
    y[i] = a;
    y[n + i] = b;
  }
}

void spmv(const int32_t* begin, const int32_t* column, const float* value, const float* x, float* y,
          int64_t rows) {
#pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t e = begin[r]; e < begin[r + 1]; ++e) sum += value[e] * x[column[e]];
    y[r] = sum;
  }
}

void smith_waterman(const uint8_t* a, const uint8_t* b, int32_t* score, int64_t pairs, int64_t n) {
#pragma omp parallel for
  for (int64_t p = 0; p < pairs; ++p) {
    int32_t row[129] = {0}, best = 0;
    for (int64_t i = 0; i < n; ++i) {
      int32_t corner = 0;
      for (int j = 0; j < 128; ++j) {
        int32_t above = row[j + 1], h = corner + (a[p * n + i] == b[p * 128 + j] ? 2 : -1);
        int32_t gap = (above > row[j] ? above : row[j]) - 2;
        h = h > gap ? h : gap;
        h = h > 0 ? h : 0;
        row[j + 1] = h;
        corner = above;
        best = best > h ? best : h;
      }
    }
    score[p] = best;
  }
}

static void Sweep(const float* restrict from, float* restrict to, int64_t n, int64_t m) {
#pragma omp parallel for
  for (int64_t i = 1; i < n - 1; ++i)
    for (int64_t j = 1; j < m - 1; ++j)
      to[i * m + j] = (from[(i - 1) * m + j] + from[(i + 1) * m + j] + from[i * m + j - 1] +
                       from[i * m + j + 1]) *
                      0.25f;
}

void jacobi(const float* u, float* v, int64_t n, int64_t m, int64_t steps) {
  float* w = malloc(n * m * sizeof(float));
  memcpy(v, u, n * m * sizeof(float));
  memcpy(w, u, n * m * sizeof(float));
  for (int64_t s = 0; s < steps; ++s) {
    Sweep(v, w, n, m);
    Sweep(w, v, n, m);
  }
  free(w);
}

// As Tern: products and sums are rounded one by one, or points at the rim differ.
__attribute__((optimize("fp-contract=off"))) void mandelbrot(int32_t* out, int64_t n, int64_t m) {
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      float cx = (float)j * (3.0f / (float)m) - 2.0f, cy = (float)i * (2.0f / (float)n) - 1.0f,
            x = 0, y = 0;
      int32_t steps = 0;
      for (; steps < 256 && x * x + y * y <= 4.0f; ++steps) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
      }
      out[i * m + j] = steps;
    }
}

void attention(const float* q, const float* k, const float* v, float* o, int64_t n, int64_t m) {
#pragma omp parallel
  {
    float* score = malloc(m * sizeof(float));
#pragma omp for
    for (int64_t i = 0; i < n; ++i) {
      float largest = -INFINITY, total = 0, sum[64] = {0};
      for (int64_t j = 0; j < m; ++j) {
        float s = 0;
        for (int d = 0; d < 64; ++d) s += q[i * 64 + d] * k[j * 64 + d];
        score[j] = s;
        largest = s > largest ? s : largest;
      }
      for (int64_t j = 0; j < m; ++j) {
        float power = expf((score[j] - largest) * 0.125f);
        total += power;
        for (int d = 0; d < 64; ++d) sum[d] += power * v[j * 64 + d];
      }
      for (int d = 0; d < 64; ++d) o[i * 64 + d] = sum[d] / total;
    }
    free(score);
  }
}

// Elements that look random, the same on every machine.
static uint32_t Next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}
void fill_bytes(uint8_t* p, int64_t n) {
  uint64_t state = 1;
  for (int64_t i = 0; i < n; ++i) p[i] = (uint8_t)Next(&state);
}
void fill_floats(float* p, int64_t n) {
  uint64_t state = 2;
  for (int64_t i = 0; i < n; ++i) p[i] = (float)(Next(&state) >> 8) * 0x1p-23f - 1.0f;
}
void fill_below(int32_t* p, int64_t n, int64_t bound) {
  uint64_t state = 3;
  for (int64_t i = 0; i < n; ++i) p[i] = (int32_t)(Next(&state) % bound);
}
// The largest difference of two results.
double difference(const float* a, const float* b, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs((double)a[i] - b[i]));
  return most;
}
