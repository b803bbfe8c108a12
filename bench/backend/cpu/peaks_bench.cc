// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What each instruction set's multiply-adds reach at most on this machine: nothing but these, on
/// registers.  One thread, and as many as there are CPUs.

#include <benchmark/benchmark.h>

#include <immintrin.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace {

/// Independent sums: enough for two per cycle with a latency of five.
constexpr int sums = 10;

/// A function that does `sums` of an instruction `turns` times.
#define MULTIPLY_ADD(NAME, TARGET, VECTOR, INSTRUCTION)                                            \
   __attribute__((target(TARGET))) void NAME(int64_t turns)                                        \
   {                                                                                               \
      VECTOR a = {}, b = {}, sum[sums] = {};                                                       \
      for (; turns > 0; turns--) {                                                                 \
         _Pragma("GCC unroll 10") for (int i = 0; i < sums; i++) asm volatile(                     \
            INSTRUCTION " %2, %1, %0" : "+v"(sum[i]) : "v"(a), "v"(b));                            \
      }                                                                                            \
   }
MULTIPLY_ADD(avx2_f32, "avx2,fma", __m256, "vfmadd231ps")
MULTIPLY_ADD(avx_vnni_u8s8, "avx2", __m256i, "%{vex%} vpdpbusd")
MULTIPLY_ADD(avx512_f32, "avx512f", __m512, "vfmadd231ps")
MULTIPLY_ADD(avx512_bf16, "avx512f", __m512, "vdpbf16ps")
MULTIPLY_ADD(avx512_f16, "avx512f", __m512, "vfmadd231ph")
MULTIPLY_ADD(avx512_u8s8, "avx512f", __m512i, "vpdpbusd")

void measure(benchmark::State &bench, void (*multiply_add)(int64_t), int lanes, int depth)
{
   constexpr int64_t turns = 10000;
   for (auto _ : bench)
      multiply_add(turns);
   bench.counters["OP/s"] = benchmark::Counter(2.0 * lanes * depth * sums * turns,
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void add(const char *name, bool supported, void (*multiply_add)(int64_t), int lanes, int depth)
{
   if (!supported)
      return;
   auto *peak = benchmark::RegisterBenchmark(name, measure, multiply_add, lanes, depth);
   peak->UseRealTime()->Threads(1);
   if (const int cpus = int(std::thread::hardware_concurrency()); cpus > 1)
      peak->Threads(cpus);
}

} // namespace

int main(int argc, char **argv)
{
   add("peak/AVX2 f32", __builtin_cpu_supports("fma"), avx2_f32, 8, 1);
   add("peak/AVX-VNNI u8s8", __builtin_cpu_supports("avxvnni"), avx_vnni_u8s8, 8, 4);
   add("peak/AVX-512 f32", __builtin_cpu_supports("avx512f"), avx512_f32, 16, 1);
   add("peak/AVX-512 bf16", __builtin_cpu_supports("avx512bf16"), avx512_bf16, 16, 2);
   add("peak/AVX-512 f16", __builtin_cpu_supports("avx512fp16"), avx512_f16, 32, 1);
   add("peak/AVX-512 u8s8", __builtin_cpu_supports("avx512vnni"), avx512_u8s8, 16, 4);
   benchmark::Initialize(&argc, argv);
   benchmark::RunSpecifiedBenchmarks();
}
