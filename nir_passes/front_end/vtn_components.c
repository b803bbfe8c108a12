/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_components.h"

void weft_for_each_component(struct vtn_builder *b, const struct glsl_cmat_description *desc,
                             weft_component_body body, void *data)
{
   nir_builder *nb = &b->nb;
   nir_variable *counter = nir_local_variable_create(nb->impl, glsl_uint_type(), "component");
   nir_store_var(nb, counter, nir_imm_int(nb, 0), 1);
   nir_def *count = nir_cmat_length(nb, .cmat_desc = *desc);
   nir_loop *loop = nir_push_loop(nb);
   {
      nir_def *number = nir_load_var(nb, counter);
      nir_break_if(nb, nir_uge(nb, number, count));
      nir_def *element = nir_cmat_coordinates_weft(nb, number, .cmat_desc = *desc);
      nir_if *inside = nir_push_if(nb, nir_ine_imm(nb, nir_channel(nb, element, 2), 0));
      {
         const struct weft_component component = {number, nir_channel(nb, element, 0),
                                                  nir_channel(nb, element, 1)};
         body(b, &component, data);
      }
      nir_pop_if(nb, inside);
      nir_store_var(nb, counter, nir_iadd_imm(nb, number, 1), 1);
   }
   nir_pop_loop(nb, loop);
}
