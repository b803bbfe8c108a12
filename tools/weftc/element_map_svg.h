// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/element_map.h"

#include <string>
#include <vector>

namespace weft::weftc {

struct MapDrawing {
   ElementMap map;
   std::vector<std::string> matrices; ///< that have this map, for the title
};

/// One SVG document with a grid for each map: a cell is an element, its colour and first number the
/// invocation that owns it, the second number the component there.
std::string draw_element_maps(const std::vector<MapDrawing> &);

} // namespace weft::weftc
