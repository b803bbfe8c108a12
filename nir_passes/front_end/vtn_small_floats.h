/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Conversions and dot products of bfloat16 and float8. */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* Whether the instruction was one of those; others are vtn's own. */
bool weft_handle_small_floats(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                              unsigned count);

/* The operation of a cmat_unary_op that converts a matrix of one type to the other, by the
 * instruction's opcode. */
nir_op weft_component_conversion(struct vtn_builder *b, uint32_t opcode,
                                 const struct glsl_type *source, const struct glsl_type *result);
/* Whether the value is decorated so. */
bool weft_is_saturating(struct vtn_builder *b, uint32_t id);
