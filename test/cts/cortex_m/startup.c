// SPDX-License-Identifier: Apache-2.0
// What runs before main on a Cortex-M: memory is set up, newlib's files are the debugger's
// (semihosting).
#include <stdint.h>
#include <stdlib.h>

extern uint32_t __stack, data_in_flash, data_begin, data_end, __bss_start__, __bss_end__;
extern int main(void);
extern void initialise_monitor_handles(void);
extern void __libc_init_array(void);
void _init(void);
void _fini(void);
void Reset(void);

void _init(void) {}
void _fini(void) {}

void Reset(void) {
  const uint32_t* from = &data_in_flash;
  uint32_t* to;
  for (to = &data_begin; to < &data_end;) *to++ = *from++;
  for (to = &__bss_start__; to < &__bss_end__;) *to++ = 0;
#ifdef __ARM_FP
  *(volatile uint32_t*)0xe000ed88 |= 0xf << 20;  // the floating-point unit is on
  __asm__ volatile("dsb\n isb");
#endif
  initialise_monitor_handles();
  __libc_init_array();
  exit(main());
}

static void Fault(void) { exit(5); }

typedef void (*Handler)(void);
__attribute__((section(".vectors"), used)) static const struct {
  uint32_t* stack;
  Handler handlers[15];
} vectors = {&__stack,
             {Reset, Fault, Fault, Fault, Fault, Fault, 0, 0, 0, 0, Fault, Fault, 0, Fault, Fault}};
