// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The ways to run a program: in this process, by each of the runner's paths, and through Vulkan
/// with the layer above Weft's driver.

#pragma once

#include "tests/fuzz/memory.h"

#include <memory>

namespace weft::fuzz {

class Path {
public:
   virtual ~Path() = default;
   virtual std::string name() const = 0;
   /// Whether it runs the program. Only drivers have images and texel buffers.
   virtual bool takes(const Program &) const = 0;
   /// Runs a program and compares its buffers. Returns the difference, or nothing.
   virtual std::optional<std::string> run(const Program &, std::span<const uint32_t> spirv,
                                          const Expected &) = 0;
};

/// The files of driver and layer (tests/fuzz/meson.build).
struct VulkanFiles {
   std::string driver_manifest, layer_folder;
};

/// All paths, or the named ones. A path through Vulkan starts when it first runs. A process can
/// have only one driver below the layer. That driver has one instruction set, and 8×8×8 tiles only
/// (layer-split) or all tiles (layer-tiles).
std::vector<std::unique_ptr<Path>> make_paths(const VulkanFiles &,
                                              const std::vector<std::string> &names);

/// The operations that all paths have.
std::vector<MatrixOperation> common_operations();

} // namespace weft::fuzz
