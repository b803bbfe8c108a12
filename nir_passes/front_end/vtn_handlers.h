/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Weft's part of the SPIR-V front end: the instructions of the cooperative-matrix family, and of a
 * few other extensions, that Mesa's vtn does not know.
 *
 * For each capability, type and instruction, vtn calls these handlers first. They translate the
 * instructions in the tables of vtn_handlers.c. A handler is C, because vtn_fail() is a longjmp(),
 * which runs no destructors. */

#pragma once

#include "compiler/spirv/nir_spirv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The properties of the target that handlers need. */
struct weft_front_end {
   uint32_t subgroup_size;
   /* Components per invocation. */
   uint32_t (*length)(const struct weft_front_end *, const struct glsl_cmat_description *);
};

/* Both are needed until spirv_to_nir() returns. */
void weft_set_vtn_handlers(struct spirv_to_nir_options *options, struct weft_front_end *front_end);

/* Whether a capability is one of the cooperative-matrix family. */
bool weft_is_family_capability(uint32_t capability);

#ifdef __cplusplus
}
#endif
