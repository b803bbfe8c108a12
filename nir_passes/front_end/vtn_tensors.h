/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Tensor layouts and views of SPV_NV_tensor_addressing (vtn_*.c only).
 *
 * A layout or view is a struct of 32-bit numbers. Variables, arrays, parameters and phis of them
 * need no code of their own, and constants fold. */

#pragma once

#include "nir_passes/matrices/cmat_marks.h"

#include "compiler/spirv/vtn_private.h"

/* A value as an operand of an access: cmat_tensor_layout_weft or cmat_tensor_view_weft. */
nir_def *weft_tensor_layout(struct vtn_builder *b, uint32_t id, unsigned *dim);
nir_def *weft_tensor_view(struct vtn_builder *b, uint32_t id, unsigned layout_dim);
/* The view that permutes and clips nothing. */
nir_def *weft_whole_tensor_view(struct vtn_builder *b, unsigned dim);

/* Translations of instructions, as in the table of vtn_handlers.c. */
void weft_type_tensor_layout(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_type_tensor_view(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_create_tensor_layout(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_layout_set_block_size(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_layout_set_dimension(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_layout_set_stride(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_layout_slice(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_layout_set_clamp_value(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_create_tensor_view(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_view_set_dimension(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_view_set_stride(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_tensor_view_set_clip(struct vtn_builder *b, const uint32_t *w, unsigned count);

/* In vtn_tensor_access.c. */
void weft_cooperative_matrix_load_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count);
void weft_cooperative_matrix_store_tensor(struct vtn_builder *b, const uint32_t *w, unsigned count);
