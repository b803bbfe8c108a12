// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Rates of the tile kernels of every instruction set of this machine, with operands in the
/// first-level cache, on one thread. x86/peaks_bench.cc measures the instructions' peaks.

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels/tile_configuration.h"
#include "backend/cpu/kernels/tile_kernels.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

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

/// Programs have several sums and add to them one after the other, or to all at once.
void muladd(benchmark::State &bench, const MatrixOperation &op, const CpuFeatures &cpu,
            uint32_t side)
{
   constexpr uint32_t sums = 4, depth = 2;
   TileBlock block = {side, side, side == 1 ? 1 : depth};
   const uint64_t a_bytes = op.m * op.k * 4, b_bytes = op.k * op.n * 4,
                  c_bytes = op.m * op.n * component_bits(op.c) / 8;
   block.a_row = a_bytes;
   block.a_step = side * a_bytes;
   block.b_col = b_bytes;
   block.b_step = side * b_bytes;
   block.d_row = side * c_bytes;
   block.d_col = c_bytes;
   const auto a = zeros(sums * depth * a_bytes), b = zeros(sums * depth * b_bytes),
              c = zeros(sums * sums * c_bytes);
   const TileMulAdd kernel = find_tile_muladd(op, cpu);
   const TileConfiguration tiles(needs_tile_configuration(op, cpu));
   const uint32_t calls = sums / side;
   for (auto _ : bench) {
      for (uint32_t i = 0; i < calls; i++)
         kernel(c.get() + i * c_bytes, a.get(), b.get(), c.get() + i * c_bytes, &block);
      benchmark::ClobberMemory();
   }
   bench.counters["GOP/s"] =
      benchmark::Counter(2e-9 * op.m * op.n * op.k * block.rows * block.cols * block.depth * calls,
                         benchmark::Counter::kIsIterationInvariantRate);
}

/// Registers each kernel of an operation once, with the lowest limit that selects it.
void add_muladds(const MatrixOperation &op)
{
   TileMulAdd last = nullptr;
   for (const auto &[name, limit] : isa_words()) {
      const CpuFeatures cpu = detect_features(limit);
      const TileMulAdd kernel = find_tile_muladd(op, cpu);
      if (kernel && kernel != last)
         for (const uint32_t side : {1, 4})
            benchmark::RegisterBenchmark(
               (tile_muladd_symbol(op) + "/" + std::string(name) + (side > 1 ? "/block" : ""))
                  .c_str(),
               muladd, op, cpu, side);
      last = kernel;
   }
}

void pack(benchmark::State &bench, const TilePack &p)
{
   const int64_t stride = (p.op.k > 32 ? 72 : 40) * component_bits(p.op.a) / 8;
   const auto packed = zeros(packed_bytes(p.op, p.factor)), memory = zeros(stride * 64);
   const auto kernel = reinterpret_cast<TileLoad>(find_tile_pack(p, host_features()));
   for (auto _ : bench) {
      kernel(packed.get(), memory.get(), stride);
      benchmark::ClobberMemory();
   }
}

void add_pack(const TilePack &p)
{
   if (const std::string symbol = tile_pack_symbol(p); !symbol.empty())
      benchmark::RegisterBenchmark(symbol.c_str(), pack, p);
}

/// The cost per dispatch and thread.
void configuration(benchmark::State &bench)
{
   for (auto _ : bench)
      const TileConfiguration tiles(true);
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
   for (const weft::MatrixOperation &op : weft::cpu_matrix_operations())
      add_muladds(op);
   for (const weft::MatrixOperation &op : weft::cpu_matrix_operations()) {
      if (op.m == 16 && op.n == 16 && !op.saturating && op.c == op.result)
         for (const TileFactor factor : {TileFactor::a, TileFactor::b})
            for (const TileOrder order : {TileOrder::row_major, TileOrder::column_major})
               add_pack({op, factor, order, false});
   }
   if (std::ranges::any_of(weft::cpu_matrix_operations(), [](const weft::MatrixOperation &op) {
          return needs_tile_configuration(op, host_features());
       }))
      benchmark::RegisterBenchmark("tile_configuration", configuration);
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
