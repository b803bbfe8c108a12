// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/vector_registers.h"

#include "util/bitset.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// Bits of each lane that a value holds in vectors.
uint32_t vector_bits(const nir_def &def, const LaneAnalysis &patterns)
{
   if (!def.divergent || def.bit_size == 1)
      return 0;
   uint32_t bits = 0;
   for (unsigned c = 0; c < def.num_components; c++) {
      if (patterns.pattern(def, c).group == 1)
         bits += def.bit_size;
   }
   return bits;
}

/// The values that live while blocks are walked backwards.
struct LiveValues {
   std::vector<uint32_t> bits_of; ///< by def index
   std::vector<bool> lives;
   uint32_t bits = 0, most = 0;

   void add(unsigned index)
   {
      if (!lives[index])
         bits += bits_of[index];
      lives[index] = true;
      most = std::max(most, bits);
   }

   void remove(unsigned index)
   {
      if (lives[index])
         bits -= bits_of[index];
      lives[index] = false;
   }

   void visit(nir_block *block)
   {
      lives.assign(lives.size(), false);
      bits = 0;
      for (unsigned i = 0; i < lives.size(); i++) {
         if (BITSET_TEST(block->live_out, i))
            add(i);
      }
      nir_foreach_instr_reverse(instr, block) {
         if (instr->type == nir_instr_type_phi)
            break; // its operands live in the blocks before
         if (const nir_def *def = nir_instr_def(instr))
            remove(def->index);
         nir_foreach_src(
            instr,
            [](nir_src *src, void *values) {
               static_cast<LiveValues *>(values)->add(src->ssa->index);
               return true;
            },
            this);
      }
   }
};

} // namespace

uint32_t most_live_bits(nir_shader *shader, const LaneAnalysis &patterns)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_metadata_require(impl, nir_metadata_live_defs);
   LiveValues values = {std::vector<uint32_t>(impl->ssa_alloc), std::vector<bool>(impl->ssa_alloc)};
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (const nir_def *def = nir_instr_def(instr))
            values.bits_of[def->index] = vector_bits(*def, patterns);
      }
   }
   nir_foreach_block(block, impl)
      values.visit(block);
   return values.most;
}

} // namespace weft::cpu
