// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/split_cmat_shapes.h"

#include "nir_passes/matrices/shapes/split_context.h"

#include <vector>

namespace weft {

namespace cmat {

namespace {

/* ---- operations on each component by itself ---- */

void split_construct(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0);
   c.for_each_part(result.desc, [&](const auto &part) {
      nir_cmat_construct(&c.b, part(result), instr->src[1].ssa);
   });
   c.clear_padding(result);
}

void split_binary_op(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0), x = c.operand(instr, 1), y = c.operand(instr, 2);
   c.for_each_part(result.desc, [&](const auto &part) {
      _nir_build_cmat_binary_op(&c.b, part(result), part(x), part(y),
                                {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
   });
   c.clear_padding(result);
}

void split_scalar_op(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0), source = c.operand(instr, 1);
   c.for_each_part(result.desc, [&](const auto &part) {
      _nir_build_cmat_scalar_op(&c.b, part(result), part(source), instr->src[2].ssa,
                                {._ = 0, .alu_op = nir_intrinsic_alu_op(instr)});
   });
   c.clear_padding(result);
}

void split_bitcast(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0), source = c.operand(instr, 1);
   c.for_each_part(result.desc,
                   [&](const auto &part) { nir_cmat_bitcast(&c.b, part(result), part(source)); });
}

void split_copy(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0), source = c.operand(instr, 1);
   c.for_each_part(result.desc,
                   [&](const auto &part) { nir_cmat_copy(&c.b, part(result), part(source)); });
}

using Split = void (*)(SplitContext &, nir_intrinsic_instr *);

/// The function that splits an instruction; null if it is no operation on matrices.
Split split_function(nir_intrinsic_op op)
{
   switch (op) {
   case nir_intrinsic_cmat_construct:
      return split_construct;
   case nir_intrinsic_cmat_load:
      return split_load;
   case nir_intrinsic_cmat_load_columns_weft:
      return split_load_columns;
   case nir_intrinsic_cmat_store:
      return split_store;
   case nir_intrinsic_cmat_muladd:
      return split_muladd;
   case nir_intrinsic_cmat_length:
      return split_length;
   case nir_intrinsic_cmat_coordinates_weft:
      return split_coordinates;
   case nir_intrinsic_cmat_runs_weft:
      return split_runs;
   case nir_intrinsic_cmat_run_coordinates_weft:
      return split_run_coordinates;
   case nir_intrinsic_cmat_unary_op:
      return split_unary_op;
   case nir_intrinsic_cmat_binary_op:
      return split_binary_op;
   case nir_intrinsic_cmat_scalar_op:
      return split_scalar_op;
   case nir_intrinsic_cmat_bitcast:
      return split_bitcast;
   case nir_intrinsic_cmat_copy:
      return split_copy;
   case nir_intrinsic_cmat_insert_columns_weft:
      return split_insert_columns;
   case nir_intrinsic_cmat_extract:
      return split_extract;
   case nir_intrinsic_cmat_insert:
      return split_insert;
   case nir_intrinsic_cmat_insert_run_weft:
      return split_insert_run;
   case nir_intrinsic_cmat_element_weft:
      return split_element;
   case nir_intrinsic_cmat_convert_weft:
      return split_convert;
   case nir_intrinsic_cmat_transpose_weft:
      return split_transpose;
   default:
      return nullptr;
   }
}

bool split_all(SplitContext &c)
{
   std::vector<nir_intrinsic_instr *> work;
   nir_foreach_block(block, c.b.impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic)
            work.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   bool progress = c.types.found();
   for (nir_intrinsic_instr *instr : work) {
      const Split split = split_function(instr->intrinsic);
      if (!split)
         continue;
      c.b.cursor = nir_before_instr(&instr->instr);
      split(c, instr);
      nir_instr_remove(&instr->instr);
      progress = true;
   }
   nir_metadata_preserve(c.b.impl, progress ? nir_metadata_none : nir_metadata_all);
   return progress;
}

} // namespace

} // namespace cmat

bool split_cmat_shapes(nir_shader *nir, const SplitOptions &options)
{
   cmat::SplitContext context(nir, options);
   return cmat::split_all(context);
}

} // namespace weft
