// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The instruction sets of the CPU family for which Weft is compiled.

#pragma once

#if defined(__x86_64__)
#include "backend/cpu/host/x86/isa.h"
#else
#error "backend/cpu/host has no folder for this CPU (docs/extending.md, A port to another CPU)"
#endif
