/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* The layouts of SPV_ARM_cooperative_matrix_layouts. */

#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vtn_builder;

/* Translates a load or store with one of them; false if it has another layout. */
bool weft_handle_blocked_layout(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                                unsigned count);

#ifdef __cplusplus
}
#endif
