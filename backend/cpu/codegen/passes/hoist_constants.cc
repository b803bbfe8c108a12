// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/hoist_constants.h"

namespace weft::cpu {

bool hoist_constants(nir_shader *shader)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_block *start = nir_start_block(impl);
   nir_instr *last = nullptr;
   bool moved = false;
   const auto hoist = [&](nir_instr *instr) {
      moved |= nir_instr_prev(instr) != last || instr->block != start;
      nir_instr_move(last ? nir_after_instr(last) : nir_before_impl(impl), instr);
      last = instr;
   };
   nir_foreach_block(block, impl) {
      nir_foreach_instr_safe(instr, block) {
         if (instr->type == nir_instr_type_load_const || instr->type == nir_instr_type_undef)
            hoist(instr);
      }
   }
   nir_foreach_block(block, impl) {
      nir_foreach_instr_safe(instr, block) {
         if (block == start || instr->type != nir_instr_type_alu ||
             !nir_op_is_vec(nir_instr_as_alu(instr)->op))
            continue;
         const auto is_constant = [](nir_src *src, void *) { return nir_src_is_const(*src); };
         if (nir_foreach_src(instr, is_constant, nullptr))
            hoist(instr);
      }
   }
   nir_metadata_preserve(impl, nir_metadata_control_flow);
   return moved;
}

} // namespace weft::cpu
