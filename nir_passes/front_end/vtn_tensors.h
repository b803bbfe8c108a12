/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Tensor layouts and views of SPV_NV_tensor_addressing (vtn_*.c only).
 *
 * A layout or view is a struct of 32-bit numbers. Variables, arrays, parameters and phis of them
 * need no code of their own, and constants fold. */

#pragma once

#include "nir_passes/matrices/tensors/tensor_access.h"

#include "compiler/spirv/vtn_private.h"

struct weft_tensor_layout weft_get_tensor_layout(struct vtn_builder *b, uint32_t id);
struct weft_tensor_view weft_get_tensor_view(struct vtn_builder *b, uint32_t id);
/* The view that permutes and clips nothing. */
struct weft_tensor_view weft_whole_tensor_view(struct vtn_builder *b, unsigned dim);

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
