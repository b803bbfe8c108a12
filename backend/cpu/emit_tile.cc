// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles become calls of the kernels in tile_kernels.h.  A tile lies in private memory, whose layout makes it the
/// dense array that the kernels want.  Everything about a tile operation is uniform by definition.

#include "backend/cpu/memory_access.h"
#include "backend/cpu/tile_kernels.h"

#include "nir_passes/cmat_uses.h"

namespace weft::cpu {

using llvm::Value;

namespace {

Value *tile_pointer(Translator &t, const nir_src &offset)
{
   Value *bytes = t.b.CreateMul(t.first_active(offset), t.b.getInt32(t.W));
   return t.b.CreateGEP(t.b.getInt8Ty(), t.scratch, t.b.CreateZExt(bytes, t.b.getInt64Ty()));
}

ComponentType component_type(uint8_t base_type, bool is_signed)
{
   switch (glsl_base_type(base_type)) {
   case GLSL_TYPE_FLOAT16: return ComponentType::f16;
   case GLSL_TYPE_FLOAT: return ComponentType::f32;
   case GLSL_TYPE_DOUBLE: return ComponentType::f64;
   case GLSL_TYPE_INT8:
   case GLSL_TYPE_UINT8: return is_signed ? ComponentType::s8 : ComponentType::u8;
   case GLSL_TYPE_INT16:
   case GLSL_TYPE_UINT16: return is_signed ? ComponentType::s16 : ComponentType::u16;
   case GLSL_TYPE_INT:
   case GLSL_TYPE_UINT: return is_signed ? ComponentType::s32 : ComponentType::u32;
   default: return is_signed ? ComponentType::s64 : ComponentType::u64;
   }
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
   const glsl_cmat_description d = nir_intrinsic_cmat_desc(intr), a = nir_intrinsic_a_cmat_desc(intr),
                               b = nir_intrinsic_b_cmat_desc(intr);
   const unsigned mask = nir_intrinsic_cmat_signed_mask(intr);
   const MatrixOperation operation = {
      d.rows, d.cols, a.cols,
      component_type(a.element_type, mask & NIR_CMAT_A_SIGNED),
      component_type(b.element_type, mask & NIR_CMAT_B_SIGNED),
      component_type(d.element_type, mask & NIR_CMAT_C_SIGNED),
      component_type(d.element_type, mask & NIR_CMAT_RESULT_SIGNED),
      bool(nir_intrinsic_saturate(intr)),
   };
   call_kernel(t, tile_muladd_symbol(operation),
               {tile_pointer(t, intr->src[0]), tile_pointer(t, intr->src[1]), tile_pointer(t, intr->src[2]),
                tile_pointer(t, intr->src[3])});
}

void emit_transfer(Translator &t, nir_intrinsic_instr *intr, TileAccess direction)
{
   llvm::IRBuilder<> &b = t.b;
   const bool load = direction == TileAccess::load;
   const nir_src &address = intr->src[load ? 1 : 0];
   Value *tile = tile_pointer(t, intr->src[load ? 0 : 1]);
   Value *stride = b.CreateSExtOrTrunc(t.first_active(intr->src[2]), b.getInt64Ty());
   const nir_variable_mode modes = nir_intrinsic_memory_modes(intr);
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);

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
      desc.rows, desc.cols, component_bits(desc) / 8,
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
   case nir_intrinsic_tile_load_weft: emit_transfer(t, intr, TileAccess::load); return true;
   case nir_intrinsic_tile_store_weft: emit_transfer(t, intr, TileAccess::store); return true;
   case nir_intrinsic_tile_muladd_weft: emit_muladd(t, intr); return true;
   default: return false;
   }
}

} // namespace weft::cpu
