// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/kernels/tile_kernels.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernels/tile_muladd.h"
#include "threads/until_unload.h"

#include <algorithm>
#include <bit>
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

bool has_kernel(const MatrixOperation &op)
{
   const auto &all = tile_operations();
   return std::find(all.begin(), all.end(), op) != all.end();
}

/// Tiles have 8, 16 or 32 rows and columns, but not 32 of both; tiles of bytes also 16 and 64.
bool has_transfer(const TileTransfer &t)
{
   if (t.bytes == 1 && t.rows + t.cols == 80)
      return t.rows == 16 || t.cols == 16;
   const auto is_side = [](uint32_t n) { return n == 8 || n == 16 || n == 32; };
   return is_side(t.rows) && is_side(t.cols) && t.rows + t.cols < 64 && t.bytes <= 8 &&
          std::has_single_bit(t.bytes);
}

bool is_real(ComponentType type)
{
   return component_type_info(type).kind == NumberKind::real;
}

/// A function that has a symbol.
using TileFunction = std::variant<MatrixOperation, TileTransfer, TilePack>;

const std::unordered_map<std::string, TileFunction> &functions_by_symbol()
{
   // A thread may still link a program when the process ends.
   static const auto &map = until_unload(new std::unordered_map<std::string, TileFunction>([] {
      std::unordered_map<std::string, TileFunction> m;
      for (const MatrixOperation &op : tile_operations()) {
         m.emplace(tile_muladd_symbol(op), op);
         for (const TileFactor factor : {TileFactor::a, TileFactor::b})
            for (const TileOrder order : {TileOrder::row_major, TileOrder::column_major})
               for (const bool robust : {false, true}) {
                  const TilePack pack = {op, factor, order, robust};
                  if (std::string symbol = tile_pack_symbol(pack); !symbol.empty())
                     m.emplace(std::move(symbol), pack);
               }
      }
      for (const TileAccess access : {TileAccess::load, TileAccess::store})
         for (const TileOrder order : {TileOrder::row_major, TileOrder::column_major})
            for (const bool robust : {false, true})
               for (const uint32_t rows : {8, 16, 32, 64})
                  for (const uint32_t cols : {8, 16, 32, 64})
                     for (const uint32_t bytes : {1, 2, 4, 8}) {
                        const TileTransfer t = {access, order, robust, rows, cols, bytes};
                        if (std::string symbol = tile_transfer_symbol(t); !symbol.empty())
                           m.emplace(std::move(symbol), t);
                     }
      return m;
   }()));
   return map;
}

} // namespace

const std::vector<MatrixOperation> &tile_operations()
{
   // As in functions_by_symbol().
   static const auto &operations = until_unload(new std::vector<MatrixOperation>([] {
      std::vector<MatrixOperation> list = cpu_matrix_operations();
      for (const MatrixOperation &op : cpu_matrix_operations()) {
         if (!rounds_sums(op))
            continue;
         MatrixOperation first = op, last = op;
         first.result = last.c = ComponentType::f32;
         list.push_back(first);
         list.push_back(last);
      }
      return list;
   }()));
   return operations;
}

std::string tile_muladd_symbol(const MatrixOperation &op)
{
   if (!has_kernel(op))
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
   if (!has_transfer(t))
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

std::string tile_pack_symbol(const TilePack &p)
{
   if (!is_packed(p.op, p.factor))
      return "";
   std::string name = p.factor == TileFactor::a ? "weft_tile_pack_a_" : "weft_tile_pack_b_";
   name += p.order == TileOrder::row_major ? "row_" : "column_";
   name += numbers({p.op.m, p.op.n, p.op.k}) + '_' + component_type_name(p.op.a) + '_' +
           component_type_name(p.op.b);
   if (p.robust)
      name += "_robust";
   return name;
}

bool is_packed(const MatrixOperation &op, TileFactor factor)
{
   if (!has_kernel(op))
      return false;
   // Floats narrower than f32, and bytes whose sums have 32 bits.
   const ComponentType type = factor == TileFactor::a ? op.a : op.b;
   const uint32_t bits = component_bits(type);
   if (is_real(type))
      return bits < 32;
   return bits == 8 && component_bits(op.result) == 32;
}

bool same_packing(const MatrixOperation &x, const MatrixOperation &y, TileFactor factor)
{
   return is_packed(x, factor) && is_packed(y, factor) && x.m == y.m && x.n == y.n && x.k == y.k &&
          x.a == y.a && x.b == y.b;
}

uint32_t packed_bytes(const MatrixOperation &op, TileFactor factor)
{
   const ComponentType type = factor == TileFactor::a ? op.a : op.b;
   const uint32_t components = op.k * (factor == TileFactor::a ? op.m : op.n);
   // AMX splits a half into two or three numbers of 16 bits. Others are f32, or integers of 16
   // bits; VNNI's bytes and corrections take less.
   const uint32_t each = type == ComponentType::f16 ? (factor == TileFactor::a ? 4 : 6)
                         : is_real(type)            ? 4
                                                    : 2;
   // AMX marks tiles of halves. The distance of tiles is no power of two, so that they use all sets
   // of the first-level cache.
   constexpr uint32_t mark = 64;
   return components * each + mark;
}

TileMulAdd find_tile_muladd(const MatrixOperation &op, const CpuFeatures &cpu)
{
   return has_kernel(op) ? find_tile_product(op, cpu).muladd : nullptr;
}

void *find_tile_pack(const TilePack &p, const CpuFeatures &cpu)
{
   const int factor = p.factor == TileFactor::b, order = p.order == TileOrder::column_major;
   if (!has_kernel(p.op))
      return nullptr;
   const TilePacks packs = find_tile_product(p.op, cpu).packs[factor];
   return p.robust ? reinterpret_cast<void *>(packs.robust[order])
                   : reinterpret_cast<void *>(packs.plain[order]);
}

bool needs_tile_configuration(const MatrixOperation &op, const CpuFeatures &cpu)
{
   return has_kernel(op) && product_needs_configuration(op, cpu);
}

bool needs_tile_configuration(std::string_view symbol, const CpuFeatures &cpu)
{
   const auto &functions = functions_by_symbol();
   const auto found = functions.find(std::string(symbol));
   const auto *op =
      found != functions.end() ? std::get_if<MatrixOperation>(&found->second) : nullptr;
   return op && needs_tile_configuration(*op, cpu);
}

void *find_tile_symbol(std::string_view name, const CpuFeatures &cpu)
{
   const auto &functions = functions_by_symbol();
   const auto found = functions.find(std::string(name));
   if (found == functions.end())
      return nullptr;
   if (const auto *op = std::get_if<MatrixOperation>(&found->second))
      return reinterpret_cast<void *>(find_tile_muladd(*op, cpu));
   if (const auto *pack = std::get_if<TilePack>(&found->second))
      return find_tile_pack(*pack, cpu);
   return find_tile_transfer(std::get<TileTransfer>(found->second), cpu);
}

} // namespace weft::cpu
