// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/build_loop.h"

namespace weft {

void build_loop(nir_builder *b, nir_def *count, const std::function<void(nir_def *)> &body)
{
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "component");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   loop->control = nir_loop_control_dont_unroll;
   {
      nir_def *number = nir_load_var(b, counter);
      nir_break_if(b, nir_uge(b, number, count));
      body(number);
      nir_store_var(b, counter, nir_iadd_imm(b, number, 1), 1);
   }
   nir_pop_loop(b, loop);
}

void build_loop(nir_builder *b, uint32_t count, const std::function<void(nir_def *)> &body)
{
   build_loop(b, nir_imm_int(b, int(count)), body);
}

} // namespace weft
