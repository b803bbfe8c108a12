/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_partitions.h"

/* The code until end_partitions() runs for all invocations with the key of the first one. */
static void begin_partitions(nir_builder *nb, nir_def *key)
{
   nir_push_loop(nb);
   nir_push_if(nb, nir_ball_iequal(nb, key, nir_read_first_invocation(nb, key)));
}

/* Leaves the loop; returns `result`, which the code computed. */
static nir_def *end_partitions(nir_builder *nb, nir_def *result)
{
   const struct glsl_type *type =
      glsl_vector_type(nir_get_glsl_base_type_for_nir_type(nir_type_uint | result->bit_size),
                       result->num_components);
   nir_variable *variable = nir_local_variable_create(nb->impl, type, "partitioned");
   nir_store_var(nb, variable, result, nir_component_mask(result->num_components));
   nir_jump(nb, nir_jump_break);
   nir_pop_if(nb, NULL);
   nir_pop_loop(nb, NULL);
   return nir_load_var(nb, variable);
}

void weft_partition(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   nir_builder *nb = &b->nb;
   nir_def *value = vtn_get_nir_ssa(b, w[3]);
   if (value->bit_size == 1)
      value = nir_b2i32(nb, value);
   begin_partitions(nb, value);
   vtn_push_nir_ssa(b, w[2], end_partitions(nb, nir_ballot(nb, 4, 32, nir_imm_true(nb))));
}

bool weft_handle_partitioned_arithmetic(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                                        unsigned count)
{
   if (opcode < SpvOpGroupNonUniformIAdd || opcode > SpvOpGroupNonUniformLogicalXor ||
       w[4] < SpvGroupOperationPartitionedReduceNV ||
       w[4] > SpvGroupOperationPartitionedExclusiveScanNV)
      return false;
   vtn_fail_if(count != 7, "A partitioned group operation needs a ballot");
   STATIC_ASSERT(SpvGroupOperationReduce + 1 == SpvGroupOperationInclusiveScan &&
                 SpvGroupOperationReduce + 2 == SpvGroupOperationExclusiveScan);
   const uint32_t of_all[] = {
      w[0], w[1], w[2], w[3], w[4] - SpvGroupOperationPartitionedReduceNV + SpvGroupOperationReduce,
      w[5]};
   nir_builder *nb = &b->nb;
   begin_partitions(nb, vtn_get_nir_ssa(b, w[6]));
   vtn_handle_subgroup(b, opcode, of_all, ARRAY_SIZE(of_all));
   struct vtn_ssa_value *result = vtn_ssa_value(b, w[2]);
   const bool is_boolean = result->def->bit_size == 1;
   nir_def *number = is_boolean ? nir_b2i32(nb, result->def) : result->def;
   number = end_partitions(nb, number);
   result->def = is_boolean ? nir_i2b(nb, number) : number;
   return true;
}
