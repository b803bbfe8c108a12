/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#pragma once

#include "nir_passes/matrices/tensors/tensor_access.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Emits a load or store. Each invocation moves its components, with a decode function for runs run by
 * run, or all invocations move the matrix as a whole. If several ways are possible, the shader
 * chooses at run time; conditions that are constants fold. */
void weft_expand_tensor_access(nir_builder *, const struct weft_tensor_access *);

#ifdef __cplusplus
}
#endif
