// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Draws which invocation holds which element of a matrix.

#pragma once

#include "nir_passes/matrices/element_map.h"
#include "nir_passes/matrices/register_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::weftc {

struct MapDrawing {
   struct Owner {
      std::vector<uint32_t> invocations; ///< all that hold the element
      uint32_t component;
   };

   uint32_t rows, cols, subgroup_size;
   uint32_t components;                    ///< per invocation
   std::vector<Owner> owners;              ///< per element, row by row
   std::string rule;                       ///< in words
   std::vector<std::string> matrices = {}; ///< matrices with this map, for the title
};

MapDrawing drawing_of(const ElementMap &);
MapDrawing drawing_of(const RegisterMap &);

/// Draws one SVG document with a grid for each map. A cell is an element. Its colour and first
/// number are the (first) invocation that holds it; the second number is the component there. A
/// cell's tooltip lists all invocations if there are several.
std::string draw_maps(const std::vector<MapDrawing> &);

} // namespace weft::weftc
