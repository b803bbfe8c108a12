// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The loop over the components that the running invocation has of a matrix, for passes that run
/// before the number of components is known.

#pragma once

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

namespace weft::cmat {

/// Calls body with the numbers from 0 to count - 1 that have an element in the matrix, and with
/// coordinates(number), the coordinates of that element. The third coordinate is nonzero if the
/// number has an element.
template <typename Coordinates, typename Body>
void for_each_number(nir_builder *b, nir_def *count, const Coordinates &coordinates,
                     const Body &body)
{
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "component");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   {
      nir_def *number = nir_load_var(b, counter);
      nir_break_if(b, nir_uge(b, number, count));
      nir_def *at = coordinates(number);
      nir_if *inside = nir_push_if(b, nir_ine_imm(b, nir_channel(b, at, 2), 0));
      body(number, at);
      nir_pop_if(b, inside);
      nir_store_var(b, counter, nir_iadd_imm(b, number, 1), 1);
   }
   nir_pop_loop(b, loop);
}

/// Calls body with the number of each component that lies in the matrix, and with the result of
/// cmat_coordinates_weft for it. The loop may be unrolled, once the number of components is known.
template <typename Body>
void for_each_component(nir_builder *b, const glsl_cmat_description &desc, const Body &body)
{
   const auto coordinates = [&](nir_def *number) {
      return _nir_build_cmat_coordinates_weft(b, number, {._ = 0, .cmat_desc = desc});
   };
   nir_def *length = _nir_build_cmat_length(b, {._ = 0, .cmat_desc = desc});
   for_each_number(b, length, coordinates, body);
}

} // namespace weft::cmat
