__kernel void shift(__global float* b, long n) {
  for (long i = get_local_id(0); i < n; i += get_local_size(0)) b[i] = b[i] + 0.5f;
}
__kernel void negate(__global float* b, long n) {
  for (long i = get_local_id(0); i < n; i += get_local_size(0)) b[i] = -b[i];
}
