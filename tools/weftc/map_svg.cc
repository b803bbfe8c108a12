// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/map_svg.h"

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

unsigned width(const MapDrawing &d)
{
   const unsigned grid = row_label + d.cols * cell_width;
   const unsigned words = std::max(unsigned(title(d).size()) * title_character,
                                   unsigned(d.rule.size()) * rule_character);
   return 2 * margin + std::max(grid, words);
}

unsigned height(const MapDrawing &d)
{
   return heading + d.rows * cell_height + margin;
}

/// Neighbouring invocations get similar hues, distant ones different hues; higher components are
/// darker.
std::string colour(const MapDrawing &d, uint32_t invocation, uint32_t component)
{
   const unsigned hue = 360 * invocation / d.subgroup_size;
   const unsigned lightness = 88 - 26 * component / std::max(d.components, 1u);
   std::ostringstream out;
   out << "hsl(" << hue << ",70%," << lightness << "%)";
   return out.str();
}

void text(std::ostream &out, unsigned x, unsigned y, const char *style, const std::string &content)
{
   out << "<text class=\"" << style << "\" x=\"" << x << "\" y=\"" << y << "\">" << content
       << "</text>\n";
}

void draw_cell(std::ostream &out, const MapDrawing &d, const MapDrawing::Owner &owner, unsigned x,
               unsigned y)
{
   const uint32_t first = owner.invocations.front();
   out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << cell_width << "\" height=\""
       << cell_height << "\" fill=\"" << colour(d, first, owner.component) << "\">";
   if (owner.invocations.size() > 1) {
      out << "<title>component " << owner.component << " of invocations";
      for (uint32_t invocation : owner.invocations)
         out << " " << invocation;
      out << "</title>";
   }
   out << "</rect>\n";
   text(out, x + cell_width / 2, y + cell_height / 2 + 4, "cell",
        std::to_string(first) + "." + std::to_string(owner.component));
}

void draw_map(std::ostream &out, const MapDrawing &d, unsigned top)
{
   text(out, margin, top + 18, "title", title(d));
   text(out, margin, top + 36, "rule", d.rule);
   const unsigned left = margin + row_label, first = top + heading;
   for (uint32_t col = 0; col < d.cols; ++col)
      text(out, left + col * cell_width + cell_width / 2, first - 6, "label", std::to_string(col));
   for (uint32_t row = 0; row < d.rows; ++row) {
      const unsigned y = first + row * cell_height;
      text(out, margin + row_label / 2, y + cell_height / 2 + 4, "label", std::to_string(row));
      for (uint32_t col = 0; col < d.cols; ++col)
         draw_cell(out, d, d.owners[row * d.cols + col], left + col * cell_width, y);
   }
}

} // namespace

MapDrawing drawing_of(const ElementMap &map)
{
   std::ostringstream rule;
   rule << "subgroup of " << map.subgroup_size << ": element e = row * " << map.cols
        << " + column is component e / " << map.subgroup_size << " of invocation e mod "
        << map.subgroup_size << " (cells: invocation.component)";
   MapDrawing d = {map.rows, map.cols, map.subgroup_size, map.length(), {}, rule.str()};
   for (uint32_t row = 0; row < map.rows; ++row) {
      for (uint32_t col = 0; col < map.cols; ++col) {
         const ElementMap::Owner owner = map.owner({row, col});
         d.owners.push_back({{owner.invocation}, owner.component});
      }
   }
   return d;
}

MapDrawing drawing_of(const RegisterMap &map)
{
   MapDrawing d = {map.rows, map.cols, map.subgroup_size, map.length(), {}, ""};
   d.owners.resize(map.rows * map.cols);
   for (uint32_t invocation = 0; invocation < map.subgroup_size; ++invocation) {
      for (uint32_t component = 0; component < map.length(); ++component) {
         const RegisterMap::Element e = map.element(invocation, component);
         MapDrawing::Owner &owner = d.owners[e.row * map.cols + e.col];
         owner.invocations.push_back(invocation);
         owner.component = component;
      }
   }
   const size_t holders = d.owners[0].invocations.size();
   std::ostringstream rule;
   rule << "subgroup of " << map.subgroup_size << ", a grid of " << map.grid().rows << "x"
        << map.grid().cols << ": each holds a block of " << map.block_rows() << "x"
        << map.block_cols();
   if (holders > 1)
      rule << ", " << holders << " the same (cells: the first of them.component)";
   else
      rule << " (cells: invocation.component)";
   d.rule = rule.str();
   return d;
}

std::string draw_maps(const std::vector<MapDrawing> &drawings)
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
