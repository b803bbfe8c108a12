// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/element_map_svg.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace weft::weftc {

namespace {

/* Pixels. */
constexpr unsigned cell_width = 40;
constexpr unsigned cell_height = 30;
constexpr unsigned margin = 24;
constexpr unsigned heading = 66; ///< above a grid: two lines of title, column numbers
constexpr unsigned row_label = 34;
constexpr unsigned title_character = 11;
constexpr unsigned rule_character = 7;

std::string title(const MapDrawing &d)
{
   std::string names;
   for (const std::string &name : d.matrices)
      names += (names.empty() ? "" : ", ") + name;
   return names;
}

std::string rule(const MapDrawing &d)
{
   std::ostringstream out;
   out << "subgroup of " << d.map.subgroup_size << ": element e = row * " << d.map.cols
       << " + column is component e / " << d.map.subgroup_size << " of invocation e mod "
       << d.map.subgroup_size << " (cells: invocation.component)";
   return out.str();
}

unsigned width(const MapDrawing &d)
{
   const unsigned grid = row_label + d.map.cols * cell_width;
   const unsigned words = std::max(unsigned(title(d).size()) * title_character,
                                   unsigned(rule(d).size()) * rule_character);
   return 2 * margin + std::max(grid, words);
}

unsigned height(const MapDrawing &d)
{
   return heading + d.map.rows * cell_height + margin;
}

/// Neighbouring invocations differ a little, distant ones much; components get darker.
std::string colour(const ElementMap &map, ElementMap::Owner owner)
{
   const unsigned hue = 360 * owner.invocation / map.subgroup_size;
   const unsigned lightness = 88 - 26 * owner.component / std::max(map.length(), 1u);
   std::ostringstream out;
   out << "hsl(" << hue << ",70%," << lightness << "%)";
   return out.str();
}

void text(std::ostream &out, unsigned x, unsigned y, const char *style, const std::string &content)
{
   out << "<text class=\"" << style << "\" x=\"" << x << "\" y=\"" << y << "\">" << content
       << "</text>\n";
}

void draw_cell(std::ostream &out, const ElementMap &map, ElementMap::Element e, unsigned x,
               unsigned y)
{
   const ElementMap::Owner owner = map.owner(e);
   out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << cell_width << "\" height=\""
       << cell_height << "\" fill=\"" << colour(map, owner) << "\"/>\n";
   text(out, x + cell_width / 2, y + cell_height / 2 + 4, "cell",
        std::to_string(owner.invocation) + "." + std::to_string(owner.component));
}

void draw_map(std::ostream &out, const MapDrawing &d, unsigned top)
{
   text(out, margin, top + 18, "title", title(d));
   text(out, margin, top + 36, "rule", rule(d));
   const unsigned left = margin + row_label, first = top + heading;
   for (uint32_t col = 0; col < d.map.cols; ++col)
      text(out, left + col * cell_width + cell_width / 2, first - 6, "label", std::to_string(col));
   for (uint32_t row = 0; row < d.map.rows; ++row) {
      const unsigned y = first + row * cell_height;
      text(out, margin + row_label / 2, y + cell_height / 2 + 4, "label", std::to_string(row));
      for (uint32_t col = 0; col < d.map.cols; ++col)
         draw_cell(out, d.map, {row, col}, left + col * cell_width, y);
   }
}

} // namespace

std::string draw_element_maps(const std::vector<MapDrawing> &drawings)
{
   unsigned total_width = 0, total_height = margin;
   for (const MapDrawing &d : drawings) {
      total_width = std::max(total_width, width(d));
      total_height += height(d);
   }

   std::ostringstream out;
   out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << total_width << "\" height=\""
       << total_height << "\" viewBox=\"0 0 " << total_width << " " << total_height << "\">\n"
       << "<style>\n"
          "text { font-family: sans-serif; fill: #222; }\n"
          ".title { font-size: 16px; font-weight: bold; }\n"
          ".rule { font-size: 12px; }\n"
          ".label { font-size: 11px; fill: #777; text-anchor: middle; }\n"
          ".cell { font-size: 11px; text-anchor: middle; }\n"
          "rect { stroke: #fff; stroke-width: 1; }\n"
          "</style>\n"
       << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
   unsigned top = margin / 2;
   for (const MapDrawing &d : drawings) {
      draw_map(out, d, top);
      top += height(d);
   }
   out << "</svg>\n";
   return out.str();
}

} // namespace weft::weftc
