// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The peak rate of each instruction set's multiply-adds on this machine: only these instructions,
/// on registers. On one thread, and on as many as there are CPUs.

#include "backend/cpu/cpu_features.h"

#include <benchmark/benchmark.h>

#include <immintrin.h>
#include <thread>

namespace {

/// Independent sums: enough for two per cycle with a latency of five.
constexpr int sums = 10;

/// A function that executes an instruction `sums` times in each of `turns` iterations.
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

/// AMX: eight tiles of 16 rows of 64 bytes; 0 to 4 are sums.
struct TileConfiguration {
   uint8_t palette = 1, start_row = 0, reserved[14] = {};
   uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
   uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

#define TILE_MULTIPLY_ADD(NAME, INSTRUCTION)                                                       \
   void NAME(int64_t turns)                                                                        \
   {                                                                                               \
      const TileConfiguration configuration;                                                       \
      asm volatile("ldtilecfg %0" ::"m"(configuration));                                           \
      asm volatile("tilezero %tmm6; tilezero %tmm7");                                              \
      for (; turns > 0; turns--) {                                                                 \
         for (int i = 0; i < sums / 5; i++)                                                        \
            asm volatile(INSTRUCTION                                                               \
                         " %tmm7, %tmm6, %tmm0\n" INSTRUCTION " %tmm7, %tmm6, %tmm1\n" INSTRUCTION \
                         " %tmm7, %tmm6, %tmm2\n" INSTRUCTION " %tmm7, %tmm6, %tmm3\n" INSTRUCTION \
                         " %tmm7, %tmm6, %tmm4");                                                  \
      }                                                                                            \
      asm volatile("tilerelease");                                                                 \
   }
TILE_MULTIPLY_ADD(amx_bf16, "tdpbf16ps")
TILE_MULTIPLY_ADD(amx_u8s8, "tdpbusd")

void measure(benchmark::State &bench, void (*multiply_add)(int64_t), int lanes, int depth)
{
   constexpr int64_t turns = 10000;
   for (auto _ : bench)
      multiply_add(turns);
   /* With several threads, Google Benchmark adds up counters and iterations; each thread runs its
    * own iterations. */
   bench.counters["OP/s"] = benchmark::Counter(2.0 * lanes * depth * sums * turns,
                                               benchmark::Counter::kIsIterationInvariantRate |
                                                  benchmark::Counter::kAvgThreads);
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
   const bool tiles = weft::cpu::detect_features(weft::cpu::IsaLimit::amx).amx;
   add("peak/AMX bf16", tiles, amx_bf16, 16 * 16, 32);
   add("peak/AMX u8s8", tiles, amx_u8s8, 16 * 16, 64);
   benchmark::Initialize(&argc, argv);
   benchmark::RunSpecifiedBenchmarks();
}
