/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* SPV_NV_cooperative_matrix, whose matrices have no use: NIR has them as such (GLSL_CMAT_USE_NONE),
 * and a muladd takes copies of them with the use that it needs.  What is done with their components
 * is the same as with KHR matrices. */

#pragma once

#include "compiler/spirv/vtn_private.h"

void weft_nv_matrix_type(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_load(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_store(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_muladd(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_length(struct vtn_builder *b, const uint32_t *w, unsigned count);

/* The length as a specialization constant, of KHR matrices too; false for other instructions. */
bool weft_handle_constant_length(struct vtn_builder *b, uint32_t opcode, const uint32_t *w);
