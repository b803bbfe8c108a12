// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "vulkan_util/profile.h"

#include <string>

namespace weft::layer {

/// The values of the setting, in the order of layer/setting_table.h.
enum class Lowering {
   automatic, ///< shaders that the driver can run itself stay as they are
   gain,      ///< the same, without matrices by which programs lose
   tiles,     ///< every shader is lowered, to the driver's own tiles if it can be built from them
   registers, ///< the driver's own matrices are hidden
};

/// The settings that the plan for a device depends on.
struct PlanSettings {
   Lowering lowering = Lowering::automatic;
   const Profile *profile = nullptr;
   /// The device is presented as this one if matrices are lowered for it; null: as itself.
   const Identity *identity = nullptr;
   std::string refused; ///< the reason if nothing is lowered: matrices in registers do not fit the
                        ///< profile
   bool hides_float8 = false; ///< from this program, unless the driver supports it

   /// Whether the layer is to leave out matrices that programs lose by.
   bool hides_slow_matrices() const { return lowering == Lowering::gain && !profile; }
   /// Whether the layer's matrices replace the driver's own.
   bool hides_native() const { return lowering == Lowering::registers || profile; }
};

} // namespace weft::layer
