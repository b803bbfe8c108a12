// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/spirv/spirv.h"
#include "util/format/u_formats.h"

namespace weft::spirv {

/// The SPIR-V image format (3.11) for a format that the front end made from one; Unknown for
/// others.
SpvImageFormat image_format(pipe_format);

/// Whether the format needs the capability StorageImageExtendedFormats.
bool is_extended_format(SpvImageFormat);

} // namespace weft::spirv
