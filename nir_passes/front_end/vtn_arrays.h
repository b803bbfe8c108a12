/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* SPV_QCOM_cooperative_matrix_conversion: matrices of arrays and arrays of matrices, where each
 * invocation of the subgroup has the array of one row (for B: column); bit casts and parts of
 * arrays. */

#pragma once

#include "compiler/spirv/vtn_private.h"

void weft_bit_cast_array(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_extract_sub_array(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_matrix_of_arrays(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_array_of_matrix(struct vtn_builder *b, const uint32_t *w, unsigned count);
