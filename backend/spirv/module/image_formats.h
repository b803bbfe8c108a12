// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/spirv/spirv.h"
#include "util/format/u_formats.h"

namespace weft::spirv {

/// The name in SPIR-V (3.11) of what the front end made of such a name; Unknown for anything else.
SpvImageFormat image_format(pipe_format);

/// Whether the format needs the capability StorageImageExtendedFormats.
bool is_extended_format(SpvImageFormat);

} // namespace weft::spirv
