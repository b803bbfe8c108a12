// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texels of compressed images, by a call for all active lanes (decode_texels.h).

#include "backend/cpu/codegen/translator.h"
#include "backend/cpu/runtime/decode_texels.h"

namespace weft::cpu {

using llvm::Value;

bool emit_texel(Translator &t, nir_intrinsic_instr *intr)
{
   if (intr->intrinsic != nir_intrinsic_image_load)
      return false;
   llvm::IRBuilder<> &b = t.b;
   const bool is_uniform = t.is_uniform(intr->def);
   llvm::Type *type = is_uniform ? t.scalar_type(intr->def) : t.vector_of(t.scalar_type(intr->def));
   auto *operands = t.variable(llvm::ArrayType::get(type, decode_operands), "operands");
   auto *results = t.variable(llvm::ArrayType::get(type, decoded_components), "texels");
   unsigned count = 0;
   const auto store = [&](const nir_src &source, unsigned component) {
      Value *v = is_uniform ? t.uniform(source, component) : t.varying(source, component);
      b.CreateStore(v, b.CreateConstInBoundsGEP1_32(type, operands, count++));
   };
   store(intr->src[0], 0);
   for (unsigned word = 0; word < 4; word++)
      store(intr->src[1], word);
   store(intr->src[2], 0);
   Value *active =
      is_uniform ? b.getInt64(1) : b.CreateZExt(t.bits_of(t.mask_or_ones()), b.getInt64Ty());
   t.call(decode_texels_symbol, b.getVoidTy(),
          {active, b.getInt32(is_uniform ? 1 : t.W), operands, results});
   for (unsigned c = 0; c < intr->def.num_components; c++)
      t.define(intr->def, c, b.CreateLoad(type, b.CreateConstInBoundsGEP1_32(type, results, c)));
   return true;
}

} // namespace weft::cpu
