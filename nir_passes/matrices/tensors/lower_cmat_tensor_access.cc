// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/lower_cmat_tensor_access.h"

#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_components.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/cmat_origin.h"
#include "nir_passes/matrices/tensors/tensor_place.h"
#include "nir_passes/matrices/tensors/tensor_runs.h"

#include <vector>

namespace weft {

namespace {

/// Moves components or runs.
class Mover {
public:
   Mover(nir_builder *b, const TensorAccess &access, const std::optional<TensorRuns> &runs)
       : b(b), a(access), runs(runs)
   {
   }

   void move_all()
   {
      const auto move = [&](nir_def *number, nir_def *at) {
         const cmat::Coordinates element = cmat::in_whole(b, a.origin, at);
         move_unclipped(number, element.row, element.col);
      };
      if (runs)
         cmat::for_each_number(
            b, run_count(b, a, *runs),
            [&](nir_def *number) { return run_coordinates(b, a, *runs, number); }, move);
      else
         cmat::for_each_component(b, a.part_desc, move);
   }

private:
   void move_unclipped(nir_def *number, nir_def *row, nir_def *col)
   {
      nir_if *unclipped = nullptr;
      if (!is_never_clipped(a))
         unclipped = nir_push_if(b, nir_inot(b, is_clipped(b, a, row, col)));
      const TensorPlace place =
         runs ? tensor_place_of_run(b, a, row, col) : tensor_place(b, a, row, col);
      if (a.is_store)
         store(number, place);
      else
         load(number, place);
      if (unclipped)
         nir_pop_if(b, unclipped);
   }

   void load(nir_def *number, const TensorPlace &place)
   {
      nir_if *inside = place.is_inside ? nir_push_if(b, place.is_inside) : nullptr;
      nir_def *value = read(place);
      if (inside) {
         nir_push_else(b, inside);
         nir_def *clamped = nir_u2uN(b, a.layout.clamp_value, value->bit_size);
         clamped = nir_replicate(b, clamped, value->num_components);
         nir_pop_if(b, inside);
         value = nir_if_phi(b, value, clamped);
      }
      nir_def *part = &a.part->def;
      if (runs)
         _nir_build_cmat_insert_run_weft(b, part, value, part, number,
                                         {._ = 0, .matrix_layout = runs->layout});
      else
         nir_cmat_insert(b, part, value, part, number);
   }

   void store(nir_def *number, const TensorPlace &place)
   {
      nir_if *inside = place.is_inside ? nir_push_if(b, place.is_inside) : nullptr;
      nir_def *value = nir_cmat_extract(b, component_bits(a.matrix), &a.part->def, number);
      nir_store_deref_with_access(b, in_memory(place), value, 1, a.qualifiers);
      if (inside)
         nir_pop_if(b, inside);
   }

   nir_def *read(const TensorPlace &place)
   {
      if (a.decoding.element)
         return decode(place);
      return nir_load_deref_with_access(b, in_memory(place), a.qualifiers);
   }

   nir_deref_instr *in_memory(const TensorPlace &place)
   {
      nir_def *index = nir_u2uN(b, place.index, a.memory->def.bit_size);
      return nir_build_deref_ptr_as_array(b, a.memory, index);
   }

   /// The parameter is a physical pointer. A descriptor's pointer is packed into one.
   nir_def *decode(const TensorPlace &place)
   {
      nir_deref_instr *block = in_memory(place);
      const bool is_physical = nir_deref_mode_is(block, nir_var_mem_global);
      std::vector<nir_def *> arguments = {is_physical ? &block->def
                                                      : weft_pack_decode_pointer(b, block)};
      for (const TensorNumbers *coordinates : {&place.block, &place.in_block})
         arguments.insert(arguments.end(), coordinates->begin(),
                          coordinates->begin() + a.layout.dim);
      const auto type = glsl_base_type(a.matrix.element_type);
      if (runs)
         return call_function(b, a.decoding.run, glsl_vector_type(type, runs->length), arguments);
      return call_function(b, a.decoding.element, glsl_scalar_type(type), arguments);
   }

   nir_builder *b;
   const TensorAccess &a;
   const std::optional<TensorRuns> runs; ///< nothing: components
};

/// Copies the elements that a clip leaves out.
void keep_clipped(nir_builder *b, const TensorAccess &a)
{
   if (!a.object || is_never_clipped(a))
      return;
   nir_if *clipped = nir_push_if(b, nir_inot(b, is_unclipped(b, a)));
   nir_cmat_copy(b, &a.part->def, &a.object->def);
   nir_pop_if(b, clipped);
}

void lower(nir_builder *b, const TensorAccess &a, const WholeOptions &options)
{
   keep_clipped(b, a);
   nir_if *branch = nullptr;
   if (const std::optional<WholeAccess> whole = whole_access(b, a, options)) {
      branch = nir_push_if(b, whole->applies);
      build_whole(b, a, *whole, options);
      nir_push_else(b, branch);
   } else if (const std::optional<TensorRuns> runs = tensor_runs(a)) {
      branch = nir_push_if(b, runs_fit(b, a, *runs));
      Mover(b, a, runs).move_all();
      nir_push_else(b, branch);
   }
   Mover(b, a, std::nullopt).move_all();
   if (branch)
      nir_pop_if(b, branch);
}

bool lower_access(nir_builder *b, nir_intrinsic_instr *instr, void *options)
{
   if (!is_tensor_access(instr))
      return false;
   b->cursor = nir_before_instr(&instr->instr);
   lower(b, tensor_access(b, instr), *static_cast<const WholeOptions *>(options));
   nir_instr_remove(&instr->instr);
   return true;
}

} // namespace

bool lower_cmat_tensor_access(nir_shader *nir, WholeOptions options)
{
   return nir_shader_intrinsics_pass(nir, lower_access, nir_metadata_none, &options);
}

} // namespace weft
