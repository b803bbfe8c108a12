// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Rates of the tile kernels, operands in the first-level cache, one thread.

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels/tile_kernels.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>

namespace weft::cpu {
namespace {

struct Free {
   void operator()(void *memory) const { std::free(memory); }
};

/// 64-byte aligned and zero (so nothing is denormal).
std::unique_ptr<char, Free> zeros(size_t bytes)
{
   char *memory = static_cast<char *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
   std::fill(memory, memory + bytes, 0);
   return std::unique_ptr<char, Free>(memory);
}

void muladd(benchmark::State &bench, const MatrixOperation &op)
{
   const auto a = zeros(op.m * op.k * 8), b = zeros(op.k * op.n * 8), c = zeros(op.m * op.n * 8);
   const TileMulAdd kernel = find_tile_muladd(op, host_features());
   for (auto _ : bench) {
      kernel(c.get(), a.get(), b.get(), c.get());
      benchmark::ClobberMemory();
   }
   bench.counters["GOP/s"] =
      benchmark::Counter(2e-9 * op.m * op.n * op.k, benchmark::Counter::kIsIterationInvariantRate);
}

void transfer(benchmark::State &bench, const TileTransfer &t)
{
   const int64_t stride = 40 * t.bytes;
   const auto tile = zeros(t.rows * t.cols * t.bytes), memory = zeros(stride * 32);
   void *kernel = find_tile_transfer(t, host_features());
   for (auto _ : bench) {
      if (t.access == TileAccess::load && t.robust)
         reinterpret_cast<TileLoadRobust>(kernel)(tile.get(), memory.get(), 0, stride * 32, stride);
      else if (t.access == TileAccess::load)
         reinterpret_cast<TileLoad>(kernel)(tile.get(), memory.get(), stride);
      else
         reinterpret_cast<TileStore>(kernel)(memory.get(), tile.get(), stride);
      benchmark::ClobberMemory();
   }
}

} // namespace
} // namespace weft::cpu

int main(int argc, char **argv)
{
   using namespace weft::cpu;
   for (const weft::MatrixOperation &op : tile_operations())
      benchmark::RegisterBenchmark(tile_muladd_symbol(op).c_str(), muladd, op);
   for (const TileAccess access : {TileAccess::load, TileAccess::store}) {
      for (const TileOrder order : {TileOrder::row_major, TileOrder::column_major}) {
         for (const uint32_t bytes : {1, 2, 4, 8}) {
            const TileTransfer t = {access, order, false, 16, 16, bytes};
            benchmark::RegisterBenchmark(tile_transfer_symbol(t).c_str(), transfer, t);
         }
      }
   }
   const TileTransfer robust = {TileAccess::load, TileOrder::row_major, true, 16, 16, 2};
   benchmark::RegisterBenchmark(tile_transfer_symbol(robust).c_str(), transfer, robust);
   benchmark::Initialize(&argc, argv);
   benchmark::RunSpecifiedBenchmarks();
}
