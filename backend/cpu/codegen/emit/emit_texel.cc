// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texels of compressed images and the residency of texels, by a call for all active lanes
/// (decode_texels.h, residency.h).

#include "backend/cpu/codegen/translator.h"
#include "backend/cpu/runtime/decode_texels.h"
#include "backend/cpu/runtime/residency.h"

namespace weft::cpu {

using llvm::Value;

namespace {

/// A function's operands and results: arrays of words of all lanes.
class LaneCall {
public:
   LaneCall(Translator &t, const nir_def &def, unsigned operand_count, unsigned result_count)
       : t(t), is_uniform(t.is_uniform(def)),
         type(is_uniform ? static_cast<llvm::Type *>(t.b.getInt32Ty())
                         : t.vector_of(t.b.getInt32Ty())),
         operands(t.variable(llvm::ArrayType::get(type, operand_count), "operands")),
         results(t.variable(llvm::ArrayType::get(type, result_count), "results"))
   {
   }

   void add(const nir_src &source, unsigned component)
   {
      Value *v = is_uniform ? t.uniform(source, component) : t.varying(source, component);
      t.b.CreateStore(v, t.b.CreateConstInBoundsGEP1_32(type, operands, count++));
   }

   void call(const char *symbol)
   {
      llvm::IRBuilder<> &b = t.b;
      Value *active =
         is_uniform ? b.getInt64(1) : b.CreateZExt(t.bits_of(t.mask_or_ones()), b.getInt64Ty());
      t.call(symbol, b.getVoidTy(), {active, b.getInt32(is_uniform ? 1 : t.W), operands, results});
   }

   Value *result(unsigned number)
   {
      return t.b.CreateLoad(type, t.b.CreateConstInBoundsGEP1_32(type, results, number));
   }

private:
   Translator &t;
   const bool is_uniform;
   llvm::Type *const type;
   Value *const operands, *const results;
   unsigned count = 0;
};

void emit_decoded_texel(Translator &t, nir_intrinsic_instr *intr)
{
   LaneCall call(t, intr->def, decode_operands, decoded_components);
   call.add(intr->src[0], 0);
   for (unsigned word = 0; word < 4; word++)
      call.add(intr->src[1], word);
   call.add(intr->src[2], 0);
   call.call(decode_texels_symbol);
   for (unsigned c = 0; c < intr->def.num_components; c++)
      t.define(intr->def, c, call.result(c));
}

void emit_residency(Translator &t, nir_intrinsic_instr *intr)
{
   LaneCall call(t, intr->def, residency_operands, 1);
   for (unsigned word = 0; word < residency_operands; word++)
      call.add(intr->src[0], word);
   call.call(find_residency_symbol);
   t.define(intr->def, 0, t.b.CreateIsNotNull(call.result(0)));
}

} // namespace

bool emit_texel(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_image_load:
      emit_decoded_texel(t, intr);
      return true;
   case nir_intrinsic_is_sparse_resident_zink:
      emit_residency(t, intr);
      return true;
   default:
      return false;
   }
}

} // namespace weft::cpu
