/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* The operands of a load or store of a matrix through a tensor layout and view
 * (SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing), as plain data. The front end checks them.
 * C, like the front end. */

#pragma once

#include "compiler/nir/nir_builder.h"
#include "compiler/spirv/spirv.h"

#define WEFT_MAX_TENSOR_DIM 5

/* Arrays have a number of 32 bits for each dimension. */
struct weft_tensor_layout {
   unsigned dim;
   SpvTensorClampMode clamp_mode;
   nir_def *block_size[WEFT_MAX_TENSOR_DIM];
   nir_def *dimension[WEFT_MAX_TENSOR_DIM];
   nir_def *stride[WEFT_MAX_TENSOR_DIM];
   nir_def *offset[WEFT_MAX_TENSOR_DIM];
   nir_def *span[WEFT_MAX_TENSOR_DIM];
   nir_def *clamp_value;
};

/* A rectangle of the matrix: elements outside of it have no element of the tensor. */
struct weft_tensor_clip {
   nir_def *first_row, *rows, *first_col, *cols;
};

/* Without dimensions of its own, a view has those of the layout's span. */
struct weft_tensor_view {
   unsigned dim;
   bool has_dimensions;
   unsigned permutation[WEFT_MAX_TENSOR_DIM];
   nir_def *dimension[WEFT_MAX_TENSOR_DIM];
   nir_def *stride[WEFT_MAX_TENSOR_DIM];
   struct weft_tensor_clip clip;
};

struct weft_tensor_access {
   bool is_store;
   bool is_aligned; /* cmat_load and cmat_store need the alignment that Vulkan requires */
   enum gl_access_qualifier qualifiers;
   struct weft_tensor_layout layout;
   struct weft_tensor_view view; /* an access without a view: one that permutes and clips nothing */
   struct glsl_cmat_description desc;
   nir_deref_instr *matrix;
   nir_deref_instr
      *object; /* has the elements that a load's clip leaves out; NULL without a view */
   nir_deref_instr *memory; /* an array of elements, or of the blocks of the decode function */
   nir_function *decode, *decode_run; /* NULL: none */
   unsigned run_length;               /* elements that decode_run returns */
};
