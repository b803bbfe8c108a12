// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/phase_log.h"

#include "backend/cpu/options.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

namespace weft::cpu {

namespace {

constinit thread_local const void *current_shader = nullptr;

bool is_logged()
{
   static const bool logged = options().has_debug("times");
   return logged;
}

uint64_t microseconds(clockid_t clock)
{
   timespec time;
   clock_gettime(clock, &time);
   return uint64_t(time.tv_sec) * 1'000'000 + uint64_t(time.tv_nsec) / 1000;
}

} // namespace

LoggedPhase::LoggedPhase(const char *name, const void *shader) : name(name)
{
   if (!is_logged())
      return;
   outer = current_shader;
   set_shader(shader);
   start_us = microseconds(CLOCK_MONOTONIC);
   start_cpu_us = microseconds(CLOCK_THREAD_CPUTIME_ID);
}

LoggedPhase::~LoggedPhase()
{
   if (!is_logged())
      return;
   const double start = double(start_us) / 1000, end = double(microseconds(CLOCK_MONOTONIC)) / 1000,
                cpu = double(microseconds(CLOCK_THREAD_CPUTIME_ID) - start_cpu_us) / 1000;
   std::fprintf(stderr,
                "weft: times %-10s shader %p thread %ld from %.3f to %.3f ms, CPU %.3f ms\n", name,
                current_shader, long(syscall(SYS_gettid)), start, end, cpu);
   current_shader = outer;
}

void LoggedPhase::set_shader(const void *shader)
{
   if (shader)
      current_shader = shader;
}

} // namespace weft::cpu
