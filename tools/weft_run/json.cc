// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/json.h"

#include <cstdio>

namespace weft::weft_run::json {

std::string quote(std::string_view text)
{
   std::string out = "\"";
   for (const char c : text) {
      if (c == '"' || c == '\\') {
         out += '\\';
         out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
         char escaped[8];
         snprintf(escaped, sizeof(escaped), "\\u%04x", c);
         out += escaped;
      } else {
         out += c;
      }
   }
   return out + '"';
}

Object &Object::add(std::string_view name, const std::string &value)
{
   members += (members.empty() ? "" : ", ") + quote(name) + ": " + value;
   return *this;
}

Array &Array::add(const std::string &value)
{
   values += (values.empty() ? "" : ", ") + value;
   return *this;
}

} // namespace weft::weft_run::json
