/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* The layouts of SPV_ARM_cooperative_matrix_layouts, as the front end hands them on. */

#pragma once

#include "compiler/glsl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The matrix_layout of cmat_load and cmat_store, by SPIR-V's numbers: their stride is a constant
 * number of blocks then.  lower_cmat_layouts() lowers them. */
#define WEFT_LAYOUT_ROW_BLOCKED ((enum glsl_matrix_layout)4202)
#define WEFT_LAYOUT_COLUMN_BLOCKED ((enum glsl_matrix_layout)4203)

struct vtn_builder;

/* Loads and stores with one of these layouts; false if it is none. */
bool weft_handle_blocked_layout(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                                unsigned count);

#ifdef __cplusplus
}
#endif
