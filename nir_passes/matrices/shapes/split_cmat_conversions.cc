// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Conversions of the component type or the use, and transposes. Matrices with tiles of one size
/// are converted tile by tile, others element by element.

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_conversion.h"
#include "nir_passes/matrices/shapes/split_context.h"

#include <functional>

namespace weft::cmat {

namespace {

/// Sets every component of the result to change() of its element in the source. Components outside
/// of the matrix become any element.
template <typename Change>
void take_elements(SplitContext &c, const Matrix &result, const Matrix &source, bool transposed,
                   const Change &change)
{
   nir_builder *b = &c.b;
   const glsl_cmat_description &desc = result.desc;
   c.for_each_tile(desc, [&](nir_def *i) {
      build_loop(b, c.components(desc), [&](nir_def *component) {
         const Coordinates at = c.in_matrix(desc, i, c.coordinates(desc, component));
         nir_def *row = nir_umin(b, at.row, nir_imm_int(b, desc.rows - 1)),
                 *col = nir_umin(b, at.col, nir_imm_int(b, desc.cols - 1));
         nir_def *value =
            element(c, source, transposed ? Coordinates{col, row} : Coordinates{row, col});
         nir_cmat_insert(b, c.tile(result, i), change(value), c.tile(result, i), component);
      });
   });
}

/// To another use.
void convert_use(SplitContext &c, const Matrix &result, const Matrix &source)
{
   if (!c.are_split_alike(result.desc, source.desc))
      return take_elements(c, result, source, false, std::identity());
   c.for_each_part(result.desc, [&](const auto &part) {
      nir_cmat_convert_weft(&c.b, part(result), part(source));
   });
}

/// To another component type.
void convert_type(SplitContext &c, nir_intrinsic_instr *instr, const Matrix &result,
                  const Matrix &source)
{
   c.for_each_part(result.desc, [&](const auto &part) {
      _nir_build_cmat_unary_op(&c.b, part(result), part(source),
                               {._ = 0,
                                .alu_op = nir_intrinsic_alu_op(instr),
                                .saturate = nir_intrinsic_saturate(instr)});
   });
}

Matrix temporary(SplitContext &c, glsl_cmat_description desc, glsl_cmat_use use)
{
   desc.use = uint8_t(use);
   nir_variable *variable = nir_local_variable_create(c.b.impl, c.split_type(desc), "converted");
   return {nir_build_deref_var(&c.b, variable), desc};
}

/// The tiles of A and B depend on the component type, but the tiles of accumulators do not. So
/// matrices with tiles of different sizes change their type as accumulators.
void convert_as_accumulators(SplitContext &c, nir_intrinsic_instr *instr, const Matrix &result,
                             const Matrix &source)
{
   Matrix from = source, to = result;
   if (source.desc.use != GLSL_CMAT_USE_ACCUMULATOR) {
      from = temporary(c, source.desc, GLSL_CMAT_USE_ACCUMULATOR);
      convert_use(c, from, source);
   }
   if (result.desc.use != GLSL_CMAT_USE_ACCUMULATOR)
      to = temporary(c, result.desc, GLSL_CMAT_USE_ACCUMULATOR);
   convert_type(c, instr, to, from);
   if (result.desc.use != GLSL_CMAT_USE_ACCUMULATOR)
      convert_use(c, result, to);
}

} // namespace

void split_unary_op(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0), source = c.operand(instr, 1);
   if (c.are_split_alike(result.desc, source.desc))
      convert_type(c, instr, result, source);
   else
      convert_as_accumulators(c, instr, result, source);
   c.clear_padding(result);
}

void split_convert(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0);
   convert_use(c, result, c.operand(instr, 1));
   c.clear_padding(result);
}

void split_transpose(SplitContext &c, nir_intrinsic_instr *instr)
{
   const Matrix result = c.operand(instr, 0), source = c.operand(instr, 1);
   const auto from = glsl_base_type(source.desc.element_type),
              to = glsl_base_type(result.desc.element_type);
   take_elements(c, result, source, true,
                 [&](nir_def *value) { return convert_component(&c.b, instr, value, from, to); });
   c.clear_padding(result);
}

} // namespace weft::cmat
