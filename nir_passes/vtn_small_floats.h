/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Conversions and dot products of bfloat16 and float8. */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* Whether the instruction was one of those; others are vtn's own. */
bool weft_handle_small_floats(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                              unsigned count);
