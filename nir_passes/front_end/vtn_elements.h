/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Operations on elements of matrices: conversions, reductions and per-element operations of
 * SPV_NV_cooperative_matrix2 and SPV_EXT_cooperative_matrix_maintenance1, and the coordinates of
 * components. */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* Converts to another use. */
void weft_convert_use(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_transpose(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_reduce(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_per_element_op(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_get_coordinate(struct vtn_builder *b, const uint32_t *w, unsigned count);

/* Translates a conversion of the component type that also transposes. Returns false for other
 * instructions. */
bool weft_handle_transposing_conversion(struct vtn_builder *b, uint32_t opcode, const uint32_t *w);
