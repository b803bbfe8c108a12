// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Expectations about the text of a shader: the lines that matter, in their order.

#pragma once

#include <gtest/gtest.h>

#include <string>

namespace weft::test {

/// Whether the text has the expected lines in this order. Other lines may stand between them. An
/// expected line is a part of a line of the text. In it `$name` stands for a word of letters,
/// digits and `%_#`: any word where the name comes first, and the same one after that. Marks at the
/// beginning of an expected line:
///
///     + …   the next line of the text
///     - …   no line between the two lines around this one, or as far as the text's end
testing::AssertionResult has_lines(const std::string &text, const std::string &expected);

} // namespace weft::test
