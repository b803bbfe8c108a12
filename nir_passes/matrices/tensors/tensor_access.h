// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The operands of a load or store of a matrix through a tensor layout and view
/// (SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing), as plain data.

#pragma once

#include "nir_passes/matrices/cmat_marks.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"
#include "compiler/spirv/spirv.h"

#include <array>

namespace weft {

/// A number for each dimension, of 32 bits.
using TensorNumbers = std::array<nir_def *, WEFT_MAX_TENSOR_DIM>;

struct TensorLayout {
   unsigned dim;
   SpvTensorClampMode clamp_mode;
   TensorNumbers block_size, dimension, stride, offset, span;
   nir_def *clamp_value;
};

/// A rectangle of the matrix: elements outside of it have no element of the tensor.
struct TensorClip {
   nir_def *first_row, *rows, *first_col, *cols;
};

/// Without dimensions of its own, a view has the dimensions of the layout's span. An access without
/// a view gets a view that permutes and clips nothing.
struct TensorView {
   unsigned dim;
   bool has_dimensions;
   std::array<unsigned, WEFT_MAX_TENSOR_DIM> permutation;
   TensorNumbers dimension, stride;
   TensorClip clip;
};

/// All numbers that the place of an element in memory depends on.
struct TensorAddressing {
   bool is_store;
   glsl_cmat_description matrix; ///< as the program has it
   TensorLayout layout;
   TensorView view;
};

/// Decode functions of a load.
struct TensorDecoding {
   nir_function *element = nullptr; ///< null: memory has the elements themselves
   nir_function *run = nullptr;     ///< of neighbours; null if there is none
   uint32_t run_length = 0;
};

struct TensorAccess : TensorAddressing {
   nir_deref_instr *part; ///< the matrix, or the part of it that the invocations have
   glsl_cmat_description part_desc;
   nir_def *origin;         ///< row and column of the part's first element
   nir_deref_instr *object; ///< has the elements that a load's clip leaves out; may be null
   nir_deref_instr *memory; ///< an array of elements or blocks
   TensorDecoding decoding;
   gl_access_qualifier qualifiers;
};

bool is_tensor_access(const nir_intrinsic_instr *);

/// Reads the operands of cmat_load_tensor_weft or cmat_store_tensor_weft.
TensorAccess tensor_access(nir_builder *, nir_intrinsic_instr *);

} // namespace weft
