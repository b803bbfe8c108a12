// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the lowerings of cooperative matrices share (lower_cmat*.cc only).

#pragma once

#include "nir_passes/cmat_types.h"
#include "nir_passes/element_map.h"
#include "nir_passes/register_map.h"
#include "nir_passes/target.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir.h"
#include "compiler/nir/nir_builder.h"

#include <functional>

namespace weft::cmat {

struct State {
   State(nir_shader *nir, const Target &target);

   const Target &target;
   nir_builder b;
   /// Matrices become arrays of the components that the invocation has.
   CmatTypes types;

   RegisterMap register_map(const glsl_cmat_description &) const;
   /// Components per invocation.
   uint32_t length(const glsl_cmat_description &) const;
   Matrix operand(const nir_intrinsic_instr *instr, unsigned source) const
   {
      return types.operand(instr, source);
   }

   nir_def *load_component(const Matrix &, nir_def *component);
   void store_component(const Matrix &, nir_def *component, nir_def *value);
   /// Calls body with the number of each component: as constants if there are few, in a loop if
   /// many.
   void for_each_component(const glsl_cmat_description &,
                           const std::function<void(nir_def *)> &body);
   /// Calls body with the number of each component, as a constant.
   void for_each_component_unrolled(const glsl_cmat_description &,
                                    const std::function<void(uint32_t)> &body);
   /// A loop that stays one, with 0 to count - 1.
   void loop(uint32_t count, const std::function<void(nir_def *)> &body);
};

/// The three operations that differ between a back end with tiles and one without.
void lower_load_to_tiles(State &, nir_intrinsic_instr *);
void lower_store_to_tiles(State &, nir_intrinsic_instr *);
void lower_muladd_to_tiles(State &, nir_intrinsic_instr *);
void lower_load_to_registers(State &, nir_intrinsic_instr *);
void lower_store_to_registers(State &, nir_intrinsic_instr *);
void lower_muladd_to_registers(State &, nir_intrinsic_instr *);

} // namespace weft::cmat
