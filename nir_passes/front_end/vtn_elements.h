/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* What looks at single elements of matrices: SPV_NV_cooperative_matrix2's conversions, reductions
 * and per-element operations, and SPV_EXT_cooperative_matrix_maintenance1, which has the same and
 * the coordinates of components. */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* To another use. */
void weft_convert_use(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_transpose(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_reduce(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_per_element_op(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_get_coordinate(struct vtn_builder *b, const uint32_t *w, unsigned count);

/* Conversions of the component type that transpose as well; false if it is none. */
bool weft_handle_transposing_conversion(struct vtn_builder *b, uint32_t opcode, const uint32_t *w);
