// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/tensor_runs.h"

#include "nir_passes/matrices/tensors/tensor_place.h"

namespace weft {

namespace {

nir_def *is_multiple(nir_builder *b, nir_def *n, uint32_t of_power_of_two)
{
   return nir_ieq_imm(b, nir_iand_imm(b, n, of_power_of_two - 1), 0);
}

/// Whether the clip leaves runs whole.
nir_def *clips_whole_runs(nir_builder *b, const TensorAccess &a, const TensorRuns &runs)
{
   const bool in_row = runs.layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
   const TensorClip &clip = a.view.clip;
   nir_def *first = in_row ? clip.first_col : clip.first_row,
           *span = in_row ? clip.cols : clip.rows;
   nir_def *is_all = nir_uge_imm(b, span, in_row ? a.matrix.cols : a.matrix.rows);
   is_all = nir_iand(b, is_all, nir_ieq_imm(b, first, 0));
   return nir_ior(b, is_all, is_multiple(b, nir_ior(b, first, span), runs.length));
}

} // namespace

std::optional<TensorRuns> tensor_runs(const TensorAccess &a)
{
   const TensorView &view = a.view;
   if (!a.decoding.run || view.has_dimensions || view.dim != a.layout.dim)
      return std::nullopt;
   const uint32_t length = a.decoding.run_length;
   const unsigned last = a.layout.dim - 1;
   if (view.permutation[last] == last && a.matrix.cols % length == 0)
      return TensorRuns{length, GLSL_MATRIX_LAYOUT_ROW_MAJOR};
   if (last > 0 && view.permutation[last - 1] == last && a.matrix.rows % length == 0)
      return TensorRuns{length, GLSL_MATRIX_LAYOUT_COLUMN_MAJOR};
   return std::nullopt;
}

nir_def *runs_fit(nir_builder *b, const TensorAccess &a, const TensorRuns &runs)
{
   const TensorLayout &layout = a.layout;
   const unsigned last = layout.dim - 1;
   nir_def *offset = layout.offset[last], *span = layout.span[last],
           *dimension = layout.dimension[last], *block_size = layout.block_size[last];
   nir_def *fit = nir_ine_imm(b, run_count(b, a, runs), 0);
   const auto require = [&](nir_def *condition) { fit = nir_iand(b, fit, condition); };

   require(is_multiple(b, nir_ior(b, span, block_size), runs.length));
   nir_def *piece = block_piece(b, layout);
   nir_def *block_rest = nir_umod(b, block_size, piece), *offset_rest = nir_umod(b, offset, piece);
   require(nir_ieq_imm(b, nir_ior(b, block_rest, offset_rest), 0));
   require(nir_ige_imm(b, offset, 0));
   if (layout.clamp_mode != SpvTensorClampModeUndefined) {
      nir_def *is_whole = nir_ige(b, nir_isub(b, dimension, span), offset);
      if (layout.clamp_mode == SpvTensorClampModeConstant)
         is_whole = nir_ior(b, is_whole, is_multiple(b, dimension, runs.length));
      require(is_whole);
   }
   if (is_never_clipped(a) && runs.layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR)
      return fit;
   require(clips_whole_runs(b, a, runs));
   if (runs.layout != GLSL_MATRIX_LAYOUT_ROW_MAJOR) {
      nir_def *width = nir_umin(b, nir_imm_int(b, a.matrix.cols), a.view.clip.cols);
      require(nir_ieq(b, width, layout.span[a.view.permutation[last]]));
   }
   return fit;
}

nir_def *run_count(nir_builder *b, const TensorAccess &a, const TensorRuns &runs)
{
   return _nir_build_cmat_runs_weft(
      b,
      {._ = 0, .cmat_desc = a.part_desc, .matrix_layout = runs.layout, .run_length = runs.length});
}

nir_def *run_coordinates(nir_builder *b, const TensorAccess &a, const TensorRuns &runs,
                         nir_def *number)
{
   return _nir_build_cmat_run_coordinates_weft(
      b, number,
      {._ = 0, .cmat_desc = a.part_desc, .matrix_layout = runs.layout, .run_length = runs.length});
}

} // namespace weft
