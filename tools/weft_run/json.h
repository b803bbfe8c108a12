// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// JSON as text, made from the inside out.

#pragma once

#include <string>
#include <string_view>

namespace weft::weft_run::json {

/// A string in quotes.
std::string quote(std::string_view text);

class Object {
public:
   /// `value` is JSON already.
   Object &add(std::string_view name, const std::string &value);
   std::string text() const { return "{" + members + "}"; }

private:
   std::string members;
};

class Array {
public:
   Array &add(const std::string &value);
   std::string text() const { return "[" + values + "]"; }

private:
   std::string values;
};

} // namespace weft::weft_run::json
