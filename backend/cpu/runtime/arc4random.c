// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// LLVM's static libraries call this function for random numbers. glibc provides it from 2.36 on;
// this is for older versions.

#include <stdint.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void);

uint32_t arc4random(void)
{
   uint32_t number;
   if (getentropy(&number, sizeof(number)) != 0)
      number = (uint32_t)(time(NULL) ^ getpid());
   return number;
}
