// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The partitions of blocks of BC6H and BC7 (Khronos Data Format Specification, "BPTC Compressed
/// Texture Image Formats"): the subset of each texel, and the anchor of each subset.

#pragma once

namespace weft::oracle {

unsigned subset_of(unsigned subsets, unsigned partition, unsigned texel);
/// Whether the texel's index lacks its most significant bit.
bool is_anchor(unsigned subsets, unsigned partition, unsigned texel);

} // namespace weft::oracle
