/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Our part of the SPIR-V front end: the instructions of the cooperative-matrix
 * family that Mesa's vtn does not know.
 *
 * vtn asks these handlers first, for each capability, each type and each instruction: those of the
 * tables in vtn_handlers.c are known there.  A handler is C, as vtn_fail() is a longjmp() that no
 * destructor would survive. */

#pragma once

#include "compiler/spirv/nir_spirv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What handlers have to know of the target. */
struct weft_front_end {
   uint32_t subgroup_size;
   /* Components per invocation. */
   uint32_t (*length)(const struct weft_front_end *, const struct glsl_cmat_description *);
   /* Whether cmat_load and cmat_store have to keep to the specification's alignment of pointers and strides. */
   bool aligned_matrices;
};

/* Both are needed until spirv_to_nir() returns. */
void weft_set_vtn_handlers(struct spirv_to_nir_options *options, struct weft_front_end *front_end);

/* Whether it is one of the cooperative-matrix family's capabilities. */
bool weft_is_family_capability(uint32_t capability);

#ifdef __cplusplus
}
#endif
