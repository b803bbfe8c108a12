/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Conversions and dot products of bfloat16 and float8. */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* Translates an instruction of these types; false for other instructions. */
bool weft_handle_small_floats(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                              unsigned count);

/* The operation of the cmat_unary_op for a conversion of matrices by an instruction of SPIR-V. */
nir_op weft_component_conversion(struct vtn_builder *b, uint32_t opcode,
                                 const struct glsl_type *source, const struct glsl_type *result);
/* Whether the value has the decoration for saturation. */
bool weft_is_saturating(struct vtn_builder *b, uint32_t id);
