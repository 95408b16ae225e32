// SPDX-License-Identifier: Apache-2.0
//
// Threefry and Mandelbrot as one writes them in CUDA C++, a thread for each element: torch has no
// operator for them, but compiles this (torch.cuda._compile_kernel).
extern "C" {
__global__ void threefry(const unsigned* key, unsigned* y, int n) {
  const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bdau};
  unsigned a = (unsigned)i + k[0], b = k[1];
#pragma unroll
  for (int r = 0; r < 20; ++r) {
    a += b;
    b = (b << rotation[r % 8] | b >> (32 - rotation[r % 8])) ^ a;
    if (r % 4 == 3) {
      int s = r / 4 + 1;
      a += k[s % 3];
      b += k[(s + 1) % 3] + s;
    }
  }
  y[i] = a;
  y[(long long)n + i] = b;
}

__global__ void mandelbrot(int* out, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= m) return;
  float cx = (float)j * (3.0f / (float)m) - 2.0f, cy = (float)i * (2.0f / (float)n) - 1.0f, x = 0,
        y = 0;
  int steps = 0;
  for (; steps < 256 && x * x + y * y <= 4.0f; ++steps) {
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
  }
  out[(long long)i * m + j] = steps;
}
}
