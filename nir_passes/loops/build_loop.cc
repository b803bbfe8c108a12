// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/loops/build_loop.h"

namespace weft {

namespace {

/// Tests the counter before the body or, with `ends_behind`, behind it.
void build_loop(nir_builder *b, nir_def *count, bool ends_behind,
                const std::function<void(nir_def *)> &body)
{
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "component");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   loop->control = nir_loop_control_dont_unroll;
   {
      nir_def *number = nir_load_var(b, counter);
      if (!ends_behind)
         nir_break_if(b, nir_uge(b, number, count));
      body(number);
      nir_def *next = nir_iadd_imm(b, number, 1);
      nir_store_var(b, counter, next, 1);
      if (ends_behind)
         nir_break_if(b, nir_uge(b, next, count));
   }
   nir_pop_loop(b, loop);
}

} // namespace

void build_loop(nir_builder *b, nir_def *count, const std::function<void(nir_def *)> &body)
{
   build_loop(b, count, false, body);
}

/* Emits the form with the test behind the body, which nir_opt_loop would otherwise produce loop by
 * loop, each time with a walk over all blocks of the shader. */
void build_loop(nir_builder *b, uint32_t count, const std::function<void(nir_def *)> &body)
{
   build_loop(b, nir_imm_int(b, int(count)), count > 0, body);
}

} // namespace weft
