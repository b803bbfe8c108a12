// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The state that the lowerings of matrices to arrays of components share (lower_cmat*.cc only).

#pragma once

#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/cmat_types.h"
#include "nir_passes/target.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir.h"
#include "compiler/nir/nir_builder.h"

#include <functional>
#include <set>
#include <vector>

namespace weft::cmat {

struct Context {
   /// The form is one whose matrices become arrays.
   Context(nir_shader *nir, const Target &target, MatrixForm form);

   const Target &target;
   const Map map;
   nir_builder b;
   /// Matrices become arrays of the components that the invocation has.
   CmatTypes types;

   RegisterMap register_map(const glsl_cmat_description &desc) const
   {
      return cmat::register_map(desc, target.subgroup_size);
   }
   /// Components per invocation.
   uint32_t length(const glsl_cmat_description &desc) const
   {
      return cmat::length(map, desc, target.subgroup_size);
   }
   Matrix operand(const nir_intrinsic_instr *instr, unsigned source) const
   {
      return types.operand(instr, source);
   }

   bool is_unrolled(const glsl_cmat_description &desc) const
   {
      return cmat::is_unrolled(desc, target.subgroup_size) &&
             !loops.contains(glsl_cmat_type(&desc));
   }

   /// With registers, a multiplication of more products becomes a loop.
   static constexpr uint32_t max_products = 2048;
   /// If a shader has many multiplications, makes loops of the larger ones.
   void limit_products(const std::vector<nir_intrinsic_instr *> &muladds);

   nir_def *load_component(const Matrix &, nir_def *component);
   void store_component(const Matrix &, nir_def *component, nir_def *value);
   /// Calls body with the number of each component: as constants if there are few, in a loop if
   /// many.
   void for_each_component(const glsl_cmat_description &,
                           const std::function<void(nir_def *)> &body);
   /// Calls body with the number of each component, as a constant.
   void for_each_component_unrolled(const glsl_cmat_description &,
                                    const std::function<void(uint32_t)> &body);

private:
   std::set<const glsl_type *> loops; ///< matrices whose code would be too long
};

/// The operations whose lowering depends on the form: with private tiles …
void lower_load_to_tiles(Context &, nir_intrinsic_instr *);
void lower_store_to_tiles(Context &, nir_intrinsic_instr *);
void lower_muladd_to_tiles(Context &, nir_intrinsic_instr *);
/// (writes a workgroup's matrix: cmat_marks.h)
void lower_insert_columns_to_tiles(Context &, nir_intrinsic_instr *);
/// … and with registers.
void lower_load_to_registers(Context &, nir_intrinsic_instr *);
void lower_store_to_registers(Context &, nir_intrinsic_instr *);
void lower_muladd_to_registers(Context &, nir_intrinsic_instr *);
/// The number of products that an invocation adds up in a multiplication; 0 if the matrices are so
/// large that the multiplication is a loop in any case.
uint32_t products_in_registers(const Context &, const nir_intrinsic_instr *muladd);

/// Operations on elements of other invocations (lower_cmat_elements.cc).
void lower_element(Context &, nir_intrinsic_instr *);
void lower_convert(Context &, nir_intrinsic_instr *);
void lower_transpose(Context &, nir_intrinsic_instr *);
/// Calls body with each component of the result and the element of the source at the same place, or
/// with row and column swapped. Result and source are different matrices.
void for_each_element(Context &, const Matrix &result, const Matrix &source, bool transposed,
                      const std::function<void(nir_def *component, nir_def *element)> &body);

/// The value of another invocation. All drivers can shuffle 32 bits, but not all can shuffle other
/// sizes.
nir_def *shuffle(nir_builder *, nir_def *value, nir_def *invocation);

/// Turns loads, stores and muladds into tile_*_weft; matrices stay matrices.
bool lower_to_driver_tiles(nir_shader *);

} // namespace weft::cmat
