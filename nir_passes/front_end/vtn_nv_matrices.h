/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* SPV_NV_cooperative_matrix. Its matrices have no use in NIR either (GLSL_CMAT_USE_NONE), and a
 * muladd takes copies of them with a use. Operations on components are the same as for KHR
 * matrices. */

#pragma once

#include "compiler/spirv/vtn_private.h"

void weft_nv_matrix_type(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_load(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_store(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_muladd(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_nv_length(struct vtn_builder *b, const uint32_t *w, unsigned count);

/* Translates a length as a specialization constant, also of KHR matrices; false for other
 * instructions. */
bool weft_handle_constant_length(struct vtn_builder *b, uint32_t opcode, const uint32_t *w);
