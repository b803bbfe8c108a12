// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles become calls of the kernels in tile_kernels.h.  A tile lies in private memory,
/// whose layout makes it the dense array that the kernels want.  Everything about a tile operation
/// is uniform by definition.

#include "backend/cpu/codegen/memory_access.h"
#include "backend/cpu/kernels/tile_kernels.h"

#include "nir_passes/cmat_uses.h"

#include <algorithm>
#include <span>

namespace weft::cpu {

using llvm::Value;

namespace {

uint32_t bytes_of_invocation(Translator &t, uint32_t bytes)
{
   return (bytes + t.W - 1) / t.W;
}

/// Scratch is [component][lane] (emit_memory.cc): component k of the lanes is the run of elements
/// k * W … k * W + W - 1, which is what element_map.h says of a dense matrix.
/// Behind it lie so many `more` bytes of each invocation that are wanted too.
Value *private_pointer(Translator &t, const nir_src &offset, uint32_t bytes, uint32_t more = 0)
{
   Value *place = scratch_offset(t, t.first_active(offset), bytes_of_invocation(t, bytes) + more);
   return t.b.CreateGEP(t.b.getInt8Ty(), t.scratch, t.b.CreateZExt(place, t.b.getInt64Ty()));
}

uint32_t tile_bytes(const glsl_cmat_description &desc)
{
   return uint32_t(desc.rows) * desc.cols * component_bits(desc) / 8;
}

Value *tile_pointer(Translator &t, const nir_src &offset, const glsl_cmat_description &desc)
{
   return private_pointer(t, offset, tile_bytes(desc));
}

/// Kernels touch only the memory that they get pointers to.
void call_kernel(Translator &t, const std::string &symbol, llvm::ArrayRef<Value *> arguments)
{
   if (symbol.empty()) {
      t.fail("no kernel for a matrix operation that the target lists");
      return;
   }
   llvm::CallInst *call = t.call(symbol.c_str(), t.b.getVoidTy(), arguments);
   call->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
   for (unsigned i = 0; i < arguments.size(); i++) {
      if (arguments[i]->getType()->isPointerTy())
         call->addParamAttr(i, llvm::Attribute::NoCapture);
   }
}

/// An offset in private memory, as far as it can be compared: what is added to something.
struct Offset {
   nir_scalar base; ///< no def: zero
   uint32_t constant;

   explicit Offset(const nir_src &src) : base(nir_scalar_resolved(src.ssa, 0)), constant(0)
   {
      if (nir_scalar_is_alu(base) && nir_scalar_alu_op(base) == nir_op_iadd) {
         for (const unsigned i : {0u, 1u}) {
            const nir_scalar term = nir_scalar_chase_alu_src(base, i);
            if (nir_scalar_is_const(term)) {
               constant = nir_scalar_as_uint(term);
               base = nir_scalar_chase_alu_src(base, 1 - i);
               break;
            }
         }
      }
      if (nir_scalar_is_const(base)) {
         constant += nir_scalar_as_uint(base);
         base = {};
      }
   }

   bool has_base_of(const Offset &other) const
   {
      return base.def == other.base.def && (!base.def || base.comp == other.base.comp);
   }
   bool operator==(const Offset &other) const
   {
      return has_base_of(other) && constant == other.constant;
   }
};

/// Products of one sum that lie at equal distances, of each invocation's bytes.
struct Sum {
   uint32_t count = 1, a_step = 0, b_step = 0;
};

bool multiplies_alike(const nir_intrinsic_instr *x, const nir_intrinsic_instr *y)
{
   return std::ranges::equal(std::span(x->const_index), std::span(y->const_index));
}

/// The multiplications from `first` on, of factors of so many bytes, that one call does; the others
/// are noted as done.  Nothing but arithmetic lies between them.  Together they fit into private
/// memory, as they do where a program's indices are right.
Sum gather_sum(Translator &t, nir_intrinsic_instr *first, uint32_t factor_bytes)
{
   const uint64_t room = t.shader->scratch_size - bytes_of_invocation(t, factor_bytes);
   Sum sum;
   const Offset d(first->src[0]);
   Offset a(first->src[1]), b(first->src[2]);
   for (nir_instr *instr = nir_instr_next(&first->instr); instr; instr = nir_instr_next(instr)) {
      if (instr->type == nir_instr_type_alu || instr->type == nir_instr_type_load_const)
         continue;
      if (instr->type != nir_instr_type_intrinsic)
         break;
      nir_intrinsic_instr *next = nir_instr_as_intrinsic(instr);
      if (next->intrinsic != nir_intrinsic_tile_muladd_weft || !multiplies_alike(first, next) ||
          Offset(next->src[0]) != d || Offset(next->src[3]) != d)
         break;
      const Offset next_a(next->src[1]), next_b(next->src[2]);
      const uint32_t a_step = next_a.constant - a.constant, b_step = next_b.constant - b.constant;
      if (!next_a.has_base_of(a) || !next_b.has_base_of(b) ||
          uint64_t(sum.count) * std::max(a_step, b_step) > room ||
          (sum.count > 1 && (a_step != sum.a_step || b_step != sum.b_step)))
         break;
      sum = {sum.count + 1, a_step, b_step};
      a = next_a;
      b = next_b;
      t.emitted_tiles.insert(instr);
   }
   return sum;
}

void emit_muladd(Translator &t, nir_intrinsic_instr *intr)
{
   if (t.emitted_tiles.contains(&intr->instr))
      return;
   const glsl_cmat_description d = nir_intrinsic_cmat_desc(intr),
                               a = nir_intrinsic_a_cmat_desc(intr),
                               b = nir_intrinsic_b_cmat_desc(intr),
                               c = nir_intrinsic_c_cmat_desc(intr);
   const auto operation = matrix_operation(d, a, b, c, nir_intrinsic_cmat_signed_mask(intr),
                                           nir_intrinsic_saturate(intr) != 0);
   if (!operation)
      return call_kernel(t, "", {});
   const auto factor_bytes = [&](const glsl_cmat_description &desc, TileFactor factor) {
      return is_packed(*operation, factor) ? packed_bytes(*operation, factor) : tile_bytes(desc);
   };
   const uint32_t a_bytes = factor_bytes(a, TileFactor::a),
                  b_bytes = factor_bytes(b, TileFactor::b);
   const Sum sum = gather_sum(t, intr, std::max(a_bytes, b_bytes));
   const uint32_t others = sum.count - 1;
   call_kernel(t, tile_muladd_symbol(*operation),
               {tile_pointer(t, intr->src[0], d),
                private_pointer(t, intr->src[1], a_bytes, others * sum.a_step),
                private_pointer(t, intr->src[2], b_bytes, others * sum.b_step),
                tile_pointer(t, intr->src[3], c), t.b.getInt32(sum.count),
                t.b.getInt64(uint64_t(sum.a_step) * t.W),
                t.b.getInt64(uint64_t(sum.b_step) * t.W)});
}

/// The one operation whose tile may differ from lane to lane.
void emit_element(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   const uint32_t bytes = component_bits(desc) / 8;
   const bool uniform = t.is_uniform(intr->def);
   const auto operand = [&](unsigned source) {
      return uniform ? t.first_active(intr->src[source]) : t.varying(intr->src[source]);
   };
   Value *tile = operand(0), *row = operand(1), *col = operand(2);
   const auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(tile->getType(), v); };
   Value *element = b.CreateAdd(b.CreateMul(row, constant(desc.cols)), col);
   Value *place =
      b.CreateAdd(b.CreateMul(tile, constant(t.W)), b.CreateMul(element, constant(bytes)));
   const LaneOffsets fixed =
      weighted_sum({{&t.fixed_offsets->offsets(intr->src[0]), t.W},
                    {&t.fixed_offsets->offsets(intr->src[1]), desc.cols * bytes},
                    {&t.fixed_offsets->offsets(intr->src[2]), bytes}});
   t.define(intr->def, 0, load_from_scratch(t, place, fixed, bytes));
}

/// Each lane's run of elements goes where they lie, which other lanes' components may be.
void emit_insert(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   const uint32_t bytes = component_bits(desc) / 8;
   Value *first = b.CreateMul(t.varying(intr->src[2]), t.splat(b.getInt32(bytes)));
   LanePattern pattern = t.patterns->pattern(intr->src[2]);
   pattern.step *= bytes;
   llvm::SmallVector<Value *, 16> elements;
   for (unsigned c = 0; c < intr->num_components; c++)
      elements.push_back(t.varying(intr->src[1], c));
   store_elements(t, tile_pointer(t, intr->src[0], desc), first, pattern, elements);
}

TileOrder order_of(nir_intrinsic_instr *intr)
{
   return nir_intrinsic_matrix_layout(intr) == GLSL_MATRIX_LAYOUT_COLUMN_MAJOR
             ? TileOrder::column_major
             : TileOrder::row_major;
}

/// Where a tile comes from or goes to.
struct TileMemory {
   Region region;
   Value *offset;
   bool robust; ///< within the region
};

TileMemory tile_memory(Translator &t, nir_intrinsic_instr *intr, const nir_src &address)
{
   const nir_variable_mode modes = nir_intrinsic_memory_modes(intr);
   if (modes & nir_var_function_temp) {
      Value *tile = tile_pointer(t, address, nir_intrinsic_cmat_desc(intr));
      return {{tile, nullptr}, t.b.getInt32(0), false};
   }
   Region region{};
   Value *offset;
   if (modes & (nir_var_mem_ssbo | nir_var_mem_ubo)) {
      region = buffer_region(t, t.first_active(address, 0), t.first_active(address, 1));
      offset = t.first_active(address, 2);
   } else {
      Access access{};
      access.space = modes & nir_var_mem_shared ? Space::shared : Space::global;
      region = region_of(t, access);
      region.size = nullptr;
      offset = t.first_active(address);
   }
   return {region, offset, region.size && t.options.robust_buffer_access};
}

Value *stride_of(Translator &t, nir_intrinsic_instr *intr)
{
   return t.b.CreateSExtOrTrunc(t.first_active(intr->src[2]), t.b.getInt64Ty());
}

std::string transfer_symbol(nir_intrinsic_instr *intr, TileAccess access, bool robust)
{
   assert(nir_intrinsic_stride_unit(intr) == 1);
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   return tile_transfer_symbol(
      {access, order_of(intr), robust, desc.rows, desc.cols, component_bits(desc) / 8});
}

void call_load(Translator &t, const std::string &symbol, Value *tile, const TileMemory &from,
               Value *stride)
{
   if (!from.robust)
      return call_kernel(t, symbol, {tile, pointer_to(t, from.region, from.offset), stride});
   Value *offset = t.b.CreateZExt(from.offset, t.b.getInt64Ty());
   call_kernel(t, symbol, {tile, from.region.base, offset, from.region.size, stride});
}

void emit_load(Translator &t, nir_intrinsic_instr *intr)
{
   Value *stride = stride_of(t, intr);
   Value *tile = tile_pointer(t, intr->src[0], nir_intrinsic_cmat_desc(intr));
   const TileMemory from = tile_memory(t, intr, intr->src[1]);
   const std::string symbol = transfer_symbol(intr, TileAccess::load, from.robust);
   call_load(t, symbol, tile, from, stride);
}

void emit_store(Translator &t, nir_intrinsic_instr *intr)
{
   Value *stride = stride_of(t, intr);
   Value *tile = tile_pointer(t, intr->src[1], nir_intrinsic_cmat_desc(intr));
   const TileMemory to = tile_memory(t, intr, intr->src[0]);
   const std::string symbol = transfer_symbol(intr, TileAccess::store, to.robust);
   if (!to.robust)
      return call_kernel(t, symbol, {pointer_to(t, to.region, to.offset), tile, stride});
   Value *offset = t.b.CreateZExt(to.offset, t.b.getInt64Ty());
   call_kernel(t, symbol, {to.region.base, offset, to.region.size, tile, stride});
}

void emit_pack(Translator &t, nir_intrinsic_instr *intr)
{
   const glsl_cmat_description c = nir_intrinsic_c_cmat_desc(intr);
   const auto operation =
      matrix_operation(c, nir_intrinsic_a_cmat_desc(intr), nir_intrinsic_b_cmat_desc(intr), c,
                       nir_intrinsic_cmat_signed_mask(intr), false);
   if (!operation)
      return call_kernel(t, "", {});
   const TileFactor factor =
      nir_intrinsic_cmat_desc(intr).use == GLSL_CMAT_USE_A ? TileFactor::a : TileFactor::b;
   Value *stride = stride_of(t, intr);
   Value *packed = private_pointer(t, intr->src[0], packed_bytes(*operation, factor));
   const TileMemory from = tile_memory(t, intr, intr->src[1]);
   call_load(t, tile_pack_symbol({*operation, factor, order_of(intr), from.robust}), packed, from,
             stride);
}

} // namespace

bool emit_tile(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_tile_load_weft:
      emit_load(t, intr);
      return true;
   case nir_intrinsic_tile_store_weft:
      emit_store(t, intr);
      return true;
   case nir_intrinsic_tile_muladd_weft:
      emit_muladd(t, intr);
      return true;
   case nir_intrinsic_tile_pack_weft:
      emit_pack(t, intr);
      return true;
   case nir_intrinsic_tile_element_weft:
      emit_element(t, intr);
      return true;
   case nir_intrinsic_tile_insert_weft:
      emit_insert(t, intr);
      return true;
   default:
      return false;
   }
}

} // namespace weft::cpu
