// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles become calls of the kernels in tile_kernels.h. A tile lies in private memory, whose
/// layout makes it the dense array that kernels expect. All operands of a tile operation are
/// uniform by definition.

#include "backend/cpu/codegen/access/region.h"
#include "backend/cpu/codegen/products/plan_products.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/llvm_versions.h"

#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/cmat_uses.h"

namespace weft::cpu {

using llvm::Value;

namespace {

Value *shared_pointer(Translator &t, Value *offset)
{
   Access access{};
   access.space = Space::shared;
   return t.b.CreateGEP(t.b.getInt8Ty(), region_of(t, access).base, offset);
}

/// The address `beyond` bytes behind an offset, for an access of `bytes` bytes.
///
/// Scratch is [component][lane] (emit_memory.cc): component k of the lanes is the run of elements k
/// * W … k * W + W - 1, as element_map.h defines for a dense matrix.
Value *place_pointer(Translator &t, const nir_src &offset, uint32_t bytes, int32_t beyond = 0)
{
   if (weft_is_shared_tile(offset))
      return shared_pointer(t,
                            t.b.CreateAdd(t.first_active(offset), t.b.getInt64(uint64_t(beyond))));
   assert(beyond % int32_t(t.W) == 0);
   return scratch_pointer(t, offset, beyond / int32_t(t.W), bytes_of_invocation(bytes, t.W));
}

Value *tile_pointer(Translator &t, const nir_src &offset, const glsl_cmat_description &desc)
{
   return place_pointer(t, offset, tile_bytes(desc));
}

/// Kernels access only the memory that their arguments point to.
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
         call->addParamAttr(i, no_capture(t.context));
   }
}

/// A TileBlock, as a constant of the module.
Value *tile_block(Translator &t, const ProductBlock &block)
{
   const auto distance = [&](uint32_t bytes) { return t.b.getInt64(bytes); };
   static_assert(offsetof(TileBlock, a_row) == 16);
   llvm::Constant *value = llvm::ConstantStruct::getAnon(
      {t.b.getInt32(block.rows), t.b.getInt32(block.cols), t.b.getInt32(block.depth),
       t.b.getInt32(0), distance(block.a_row), distance(block.a_step), distance(block.b_col),
       distance(block.b_step), distance(block.d_row), distance(block.d_col)});
   auto *constant = new llvm::GlobalVariable(*t.module, value->getType(), true,
                                             llvm::GlobalValue::PrivateLinkage, value, "block");
   constant->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
   constant->setAlignment(llvm::Align(alignof(TileBlock)));
   return constant;
}

void emit_muladd(Translator &t, nir_intrinsic_instr *intr)
{
   const auto pointer = [&](const TileOperand &tiles) {
      return place_pointer(t, *tiles.offset, tiles.bytes, tiles.beyond);
   };
   for (const ProductCall &call : t.products.calls(intr)) {
      Value *d = pointer(call.d);
      call_kernel(t, tile_muladd_symbol(call.operation),
                  {d, pointer(call.a), pointer(call.b), call.in_place ? d : pointer(call.c),
                   tile_block(t, call.block)});
   }
}

/// The only operation whose tile may differ from lane to lane.
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
      weighted_sum({{&t.facts->offsets.offsets(intr->src[0]), t.W},
                    {&t.facts->offsets.offsets(intr->src[1]), desc.cols * bytes},
                    {&t.facts->offsets.offsets(intr->src[2]), bytes}});
   t.define(intr->def, 0, load_from_scratch(t, place, fixed, bytes));
}

/// Stores each lane's run of elements at their places, which may be other lanes' components.
void emit_insert(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   const uint32_t bytes = component_bits(desc) / 8;
   Value *first = b.CreateMul(t.varying(intr->src[2]), t.splat(b.getInt32(bytes)));
   LanePattern pattern = t.facts->patterns.pattern(intr->src[2]);
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

/// The memory that a tile is loaded from or stored to.
struct TileMemory {
   Region region;
   Value *offset;
   bool robust; ///< accesses must stay within the region
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
   Value *packed = place_pointer(t, intr->src[0], packed_bytes(*operation, factor));
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
