// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// Where an installed glslang has this header.
#include "../../SPIRV/GlslangToSpv.h"
