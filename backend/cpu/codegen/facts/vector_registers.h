// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// An estimate of the vector registers that a shader needs.

#pragma once

#include "backend/cpu/codegen/facts/lane_analysis.h"

namespace weft::cpu {

/// The most bits of each lane that vectors hold at one place of the entry point. Uniform values and
/// integers in steps from lane to lane, as addresses are, count nothing: both are scalars. The
/// entry point has divergence information.
uint32_t most_live_bits(nir_shader *, const LaneAnalysis &);

} // namespace weft::cpu
