// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/opt_uniform.h"

#include "backend/cpu/codegen/facts/lane_analysis.h"

#include "compiler/nir/nir_builder.h"

namespace weft::cpu {

bool opt_uniform(nir_shader *shader, uint32_t subgroup_size)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_index_ssa_defs(impl);
   const LaneAnalysis lanes(shader, subgroup_size);
   const auto is_uniform = [&](const nir_def &def) {
      const LanePattern p = lanes.pattern(def);
      return def.num_components == 1 && p.group == subgroup_size && p.step == 0;
   };
   std::vector<nir_alu_instr *> found;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_alu)
            continue;
         nir_alu_instr *alu = nir_instr_as_alu(instr);
         if (!alu->def.divergent || !is_uniform(alu->def))
            continue;
         // Only at the first uniform value: values computed from uniform values are uniform anyway.
         bool begins = false;
         for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++)
            begins |= !is_uniform(*alu->src[i].src.ssa);
         if (begins)
            found.push_back(alu);
      }
   }
   nir_builder b = nir_builder_create(impl);
   for (nir_alu_instr *alu : found) {
      b.cursor = nir_after_instr(&alu->instr);
      nir_def *uniform = nir_as_uniform(&b, &alu->def);
      nir_def_rewrite_uses_after(&alu->def, uniform, uniform->parent_instr);
   }
   nir_metadata_preserve(impl, found.empty() ? nir_metadata_all : nir_metadata_control_flow);
   return !found.empty();
}

} // namespace weft::cpu
