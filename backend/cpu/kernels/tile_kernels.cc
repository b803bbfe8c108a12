// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/kernels/tile_kernels.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels/tile_muladd.h"
#include "backend/cpu/kernels/tile_transfer.h"

#include <algorithm>
#include <unordered_map>
#include <variant>

namespace weft::cpu {

namespace {

std::string numbers(std::initializer_list<uint32_t> list)
{
   std::string text;
   for (uint32_t number : list) {
      if (!text.empty())
         text += 'x';
      text += std::to_string(number);
   }
   return text;
}

bool is_advertised(const MatrixOperation &op)
{
   const auto &all = matrix_operations();
   return std::find(all.begin(), all.end(), op) != all.end();
}

/// Everything that has a symbol.
using Kernel = std::variant<MatrixOperation, TileTransfer>;

const std::unordered_map<std::string, Kernel> &kernels_by_symbol()
{
   static const std::unordered_map<std::string, Kernel> map = [] {
      std::unordered_map<std::string, Kernel> m;
      for (const MatrixOperation &op : matrix_operations())
         m.emplace(tile_muladd_symbol(op), op);
      for (const TileAccess access : {TileAccess::load, TileAccess::store})
         for (const TileOrder order : {TileOrder::row_major, TileOrder::column_major})
            for (const bool robust : {false, true})
               for (const uint32_t rows : {8, 16, 32})
                  for (const uint32_t cols : {8, 16, 32})
                     for (const uint32_t bytes : {1, 2, 4, 8}) {
                        const TileTransfer t = {access, order, robust, rows, cols, bytes};
                        if (std::string symbol = tile_transfer_symbol(t); !symbol.empty())
                           m.emplace(std::move(symbol), t);
                     }
      return m;
   }();
   return map;
}

} // namespace

std::string tile_muladd_symbol(const MatrixOperation &op)
{
   if (!is_advertised(op))
      return "";
   std::string name = "weft_tile_muladd_" + numbers({op.m, op.n, op.k});
   for (ComponentType type : {op.a, op.b, op.c, op.result}) {
      name += '_';
      name += component_type_name(type);
   }
   if (op.saturating)
      name += "_saturating";
   return name;
}

std::string tile_transfer_symbol(const TileTransfer &t)
{
   if (!find_tile_transfer_avx2(t))
      return "";
   std::string name = t.access == TileAccess::load ? "weft_tile_load_" : "weft_tile_store_";
   name += t.order == TileOrder::row_major ? "row_" : "column_";
   name += numbers({t.rows, t.cols});
   name += '_';
   name += std::to_string(t.bytes);
   if (t.robust)
      name += "_robust";
   return name;
}

TileMulAdd find_tile_muladd(const MatrixOperation &op, const CpuFeatures &cpu)
{
   if (!is_advertised(op) || cpu.instruction_set < InstructionSet::avx2)
      return nullptr;
   TileMulAdd found = nullptr;
   if (cpu.amx)
      found = find_tile_muladd_amx(op);
   if (!found && cpu.avx512_bf16)
      found = find_tile_muladd_avx512_bf16(op);
   if (!found && cpu.avx512_vnni)
      found = find_tile_muladd_avx512_vnni(op);
   if (!found && cpu.avx_vnni)
      found = find_tile_muladd_avx_vnni(op);
   if (!found && cpu.instruction_set >= InstructionSet::avx512)
      found = find_tile_muladd_avx512(op);
   return found ? found : find_tile_muladd_avx2(op);
}

bool needs_tile_configuration(const MatrixOperation &op, const CpuFeatures &cpu)
{
   return cpu.amx && is_advertised(op) && find_tile_muladd_amx(op);
}

bool needs_tile_configuration(std::string_view symbol, const CpuFeatures &cpu)
{
   const auto found = kernels_by_symbol().find(std::string(symbol));
   const auto *op =
      found != kernels_by_symbol().end() ? std::get_if<MatrixOperation>(&found->second) : nullptr;
   return op && needs_tile_configuration(*op, cpu);
}

void *find_tile_transfer(const TileTransfer &t, const CpuFeatures &cpu)
{
   return cpu.instruction_set >= InstructionSet::avx2 ? find_tile_transfer_avx2(t) : nullptr;
}

void *find_tile_symbol(std::string_view name, const CpuFeatures &cpu)
{
   const auto &kernels = kernels_by_symbol();
   const auto found = kernels.find(std::string(name));
   if (found == kernels.end())
      return nullptr;
   if (const auto *op = std::get_if<MatrixOperation>(&found->second))
      return reinterpret_cast<void *>(find_tile_muladd(*op, cpu));
   return find_tile_transfer(std::get<TileTransfer>(found->second), cpu);
}

} // namespace weft::cpu
