// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles become calls of the kernels in tile_kernels.h.  A tile lies in private memory,
/// whose layout makes it the dense array that the kernels want.  Everything about a tile operation
/// is uniform by definition.

#include "backend/cpu/codegen/memory_access.h"
#include "backend/cpu/kernels/tile_kernels.h"

#include "nir_passes/cmat_uses.h"

namespace weft::cpu {

using llvm::Value;

namespace {

/// Scratch is [component][lane] (emit_memory.cc): component k of the lanes is the run of elements
/// k * W … k * W + W - 1, which is what element_map.h says of a dense matrix.
Value *tile_pointer(Translator &t, const nir_src &offset, const glsl_cmat_description &desc)
{
   const uint32_t bytes = uint32_t(desc.rows) * desc.cols * component_bits(desc) / 8;
   const uint32_t of_invocation = (bytes + t.W - 1) / t.W;
   Value *place = scratch_offset(t, t.first_active(offset), of_invocation);
   return t.b.CreateGEP(t.b.getInt8Ty(), t.scratch, t.b.CreateZExt(place, t.b.getInt64Ty()));
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

void emit_muladd(Translator &t, nir_intrinsic_instr *intr)
{
   const glsl_cmat_description d = nir_intrinsic_cmat_desc(intr),
                               a = nir_intrinsic_a_cmat_desc(intr),
                               b = nir_intrinsic_b_cmat_desc(intr),
                               c = nir_intrinsic_c_cmat_desc(intr);
   const auto operation = matrix_operation(d, a, b, c, nir_intrinsic_cmat_signed_mask(intr),
                                           nir_intrinsic_saturate(intr) != 0);
   call_kernel(t, operation ? tile_muladd_symbol(*operation) : "",
               {tile_pointer(t, intr->src[0], d), tile_pointer(t, intr->src[1], a),
                tile_pointer(t, intr->src[2], b), tile_pointer(t, intr->src[3], c)});
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

void emit_transfer(Translator &t, nir_intrinsic_instr *intr, TileAccess direction)
{
   llvm::IRBuilder<> &b = t.b;
   assert(nir_intrinsic_stride_unit(intr) == 1);
   const bool load = direction == TileAccess::load;
   const nir_src &address = intr->src[load ? 1 : 0];
   Value *stride = b.CreateSExtOrTrunc(t.first_active(intr->src[2]), b.getInt64Ty());
   const nir_variable_mode modes = nir_intrinsic_memory_modes(intr);
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   Value *tile = tile_pointer(t, intr->src[load ? 0 : 1], desc);

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
   const TileTransfer transfer = {
      direction,
      nir_intrinsic_matrix_layout(intr) == GLSL_MATRIX_LAYOUT_COLUMN_MAJOR ? TileOrder::column_major
                                                                           : TileOrder::row_major,
      region.size && t.options.robust_buffer_access,
      desc.rows,
      desc.cols,
      component_bits(desc) / 8,
   };
   const std::string symbol = tile_transfer_symbol(transfer);
   if (transfer.robust) {
      offset = b.CreateZExt(offset, b.getInt64Ty());
      if (load)
         call_kernel(t, symbol, {tile, region.base, offset, region.size, stride});
      else
         call_kernel(t, symbol, {region.base, offset, region.size, tile, stride});
      return;
   }
   Value *memory = pointer_to(t, region, offset);
   if (load)
      call_kernel(t, symbol, {tile, memory, stride});
   else
      call_kernel(t, symbol, {memory, tile, stride});
}

} // namespace

bool emit_tile(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_tile_load_weft:
      emit_transfer(t, intr, TileAccess::load);
      return true;
   case nir_intrinsic_tile_store_weft:
      emit_transfer(t, intr, TileAccess::store);
      return true;
   case nir_intrinsic_tile_muladd_weft:
      emit_muladd(t, intr);
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
