// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/allocation.h"

#include <cstdlib>
#include <new>

namespace weft::layer_test {

namespace {

thread_local int64_t countdown = -1;
thread_local bool failed = false;
thread_local int suspended = 0;

[[maybe_unused]] bool must_fail() // by operator new alone
{
   if (suspended || countdown < 0)
      return false;
   if (countdown-- > 0)
      return false;
   failed = true;
   return true;
}

} // namespace

const bool can_fail_allocations = !WEFT_TSAN;

void fail_allocation(int64_t nth)
{
   countdown = nth;
   failed = false;
}

bool allocation_failed()
{
   return failed;
}

WithoutInjection::WithoutInjection()
{
   suspended++;
}

WithoutInjection::~WithoutInjection()
{
   suspended--;
}

} // namespace weft::layer_test

#if !WEFT_TSAN // the sanitizer's run time defines them

void *operator new(size_t size)
{
   void *memory = weft::layer_test::must_fail() ? nullptr : malloc(size ? size : 1);
   if (!memory)
      throw std::bad_alloc();
   return memory;
}

void *operator new(size_t size, const std::nothrow_t &) noexcept
{
   return weft::layer_test::must_fail() ? nullptr : malloc(size ? size : 1);
}

void operator delete(void *memory) noexcept
{
   free(memory);
}

void operator delete(void *memory, size_t) noexcept
{
   free(memory);
}

#endif
