// SPDX-License-Identifier: Apache-2.0
// Calls the functions of plain.tir by their prototypes.
#include <stdio.h>

#include "plain.h"

static int32_t forwards[3000], backwards[3000];

int main(void) {
  float a[2][3] = {{1, 4, 9}, {-16, 25, 0.25f}}, b[2][4] = {{0}};
  printf("scale %d:", scale(&a[0][0], 2, &b[0][0], 2, 3, 4));
  for (int i = 0; i < 8; ++i) printf(" %g", (&b[0][0])[i]);
  printf("\nassert %d\n", scale(&a[0][0], 2, &b[0][0], 1, 100, 100));
  for (int i = 0; i < 3000; ++i) forwards[i] = i;
  printf("reverse %d: ", reverse(forwards, backwards));
  printf("%d %d\n", backwards[0], backwards[2999]);
  uint16_t h = 0;
  half(0x3c00, &h, true);
  printf("half: %x", h);
  half(0x3c00, &h, false);
  printf(" %x\n", h);
  return 0;
}
