// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Formulas in the header comments of modules: "in[i + 256] * 2", "i < 256 ? in[i] : 0",
/// "sum(k < 16, a[i / 16 * 16 + k] * b[k * 16 + i % 16])".  Numbers are double; a / b is the whole
/// quotient, rounded down.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace weft::modules {

/// An element of a buffer; NaN where there is none.
using Lookup = std::function<double(const std::string &buffer, double index)>;

/// The value where `i` is a number. Throws std::runtime_error for a text that is no formula.
double evaluate(std::string_view formula, uint32_t i, const Lookup &);

} // namespace weft::modules
