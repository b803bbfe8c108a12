/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Our part of the SPIR-V front end: what of the cooperative-matrix family Mesa's vtn does not know.
 *
 * vtn asks these handlers first, for each capability, each type and each instruction.  An opcode
 * has a row in the table of vtn_handlers.c with its translation, or with none: then a module that
 * uses it is refused by name, where vtn would stumble over an unknown number.  A handler is C, as
 * vtn_fail() is a longjmp() that no destructor would survive. */

#pragma once

#include "compiler/spirv/nir_spirv.h"

#ifdef __cplusplus
extern "C" {
#endif

void weft_set_vtn_handlers(struct spirv_to_nir_options *options);

/* One of the cooperative-matrix family's capabilities. */
struct weft_capability {
   uint32_t number;
   const char *name;
   bool supported;
};

/* NULL for one that is not of the family. */
const struct weft_capability *weft_family_capability(uint32_t capability);

#ifdef __cplusplus
}
#endif
