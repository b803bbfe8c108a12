/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Bit fields of 8, 16 and 64 bits (VK_KHR_maintenance9). NIR's instructions have 32 bits only. */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* Translates OpBitFieldInsert, OpBitFieldSExtract, OpBitFieldUExtract and OpBitReverse of these
 * sizes; false for other instructions. */
bool weft_handle_bit_fields(struct vtn_builder *b, uint32_t opcode, const uint32_t *w);
