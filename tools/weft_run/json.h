// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Builds JSON as text, inner values first.

#pragma once

#include <string>
#include <string_view>

namespace weft::weft_run::json {

/// Quotes a string.
std::string quote(std::string_view text);

class Object {
public:
   /// `value` must be JSON.
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
