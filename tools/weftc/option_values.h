// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Parsers of options' values. Each returns nothing for a text of another form.

#pragma once

#include "tools/weftc/arguments.h"

namespace weft::weftc {

/// "16", "0x10", "-1"
std::optional<uint64_t> parse_integer(const std::string &text);
/// Decimal digits only.
std::optional<uint64_t> parse_number(const std::string &text, uint64_t most);
/// One part more than separators.
std::vector<std::string> split(const std::string &text, char separator);
/// "3=1.5"
std::optional<SpecArgument> parse_spec(const std::string &text);
/// "8x8x8"
std::optional<std::array<uint32_t, 3>> parse_shape(const std::string &text);
/// "1.2=FILE", "1.2=random:64"
std::optional<BufferArgument> parse_buffer(const std::string &text);
/// "1.2=FILE"
std::optional<SaveArgument> parse_save(const std::string &text);
/// "4,2": missing counts are 1.
std::optional<std::array<uint32_t, 3>> parse_workgroups(const std::string &text);
/// "1.3" to "1.6", as in a module's header.
std::optional<uint32_t> parse_spirv_version(const std::string &text);
/// A finite number from 0 on.
std::optional<double> parse_tolerance(const std::string &text);
/// Seconds, as milliseconds.
std::optional<uint32_t> parse_timeout(const std::string &text);

} // namespace weft::weftc
