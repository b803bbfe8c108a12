// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/option_values.h"

#include <bit>
#include <cmath>
#include <cstdlib>

namespace weft::weftc {

std::optional<uint64_t> parse_integer(const std::string &text)
{
   char *end = nullptr;
   const bool negative = text.starts_with('-');
   const uint64_t value =
      negative ? uint64_t(strtoll(text.c_str(), &end, 0)) : strtoull(text.c_str(), &end, 0);
   return !text.empty() && *end == '\0' ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> parse_number(const std::string &text, uint64_t most)
{
   if (text.empty() || text.size() > 18 ||
       text.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
   const uint64_t value = strtoull(text.c_str(), nullptr, 10);
   return value <= most ? std::optional(value) : std::nullopt;
}

std::vector<std::string> split(const std::string &text, char separator)
{
   std::vector<std::string> parts(1);
   for (char c : text) {
      if (c == separator)
         parts.emplace_back();
      else
         parts.back() += c;
   }
   return parts;
}

std::optional<SpecArgument> parse_spec(const std::string &text)
{
   const size_t equals = text.find('=');
   if (equals == std::string::npos)
      return std::nullopt;
   const std::optional<uint64_t> id = parse_integer(text.substr(0, equals));
   const std::optional<ParsedValue> value = parse_value(text.substr(equals + 1));
   if (!id || *id > UINT32_MAX || !value)
      return std::nullopt;
   return SpecArgument{uint32_t(*id), value->bits};
}

std::optional<std::array<uint32_t, 3>> parse_shape(const std::string &text)
{
   std::array<uint32_t, 3> shape;
   char end;
   if (sscanf(text.c_str(), "%ux%ux%u%c", &shape[0], &shape[1], &shape[2], &end) != 3)
      return std::nullopt;
   return shape;
}

static std::optional<runner::BufferPlace> parse_place(const std::string &text)
{
   const std::vector<std::string> parts = split(text, '.');
   std::array<uint32_t, 3> numbers = {};
   if (parts.size() < 2 || parts.size() > 3)
      return std::nullopt;
   for (size_t i = 0; i < parts.size(); i++) {
      const std::optional<uint64_t> number = parse_number(parts[i], i == 2 ? 65535 : UINT32_MAX);
      if (!number)
         return std::nullopt;
      numbers[i] = uint32_t(*number);
   }
   return runner::BufferPlace{numbers[0], numbers[1], numbers[2]};
}

std::optional<BufferArgument> parse_buffer(const std::string &text)
{
   constexpr uint64_t most = 1u << 30;
   const size_t equals = text.find('=');
   const auto place = parse_place(text.substr(0, equals));
   if (equals == std::string::npos || !place || equals + 1 == text.size())
      return std::nullopt;
   const std::string what = text.substr(equals + 1);
   using enum BufferArgument::Contents;
   for (const auto &[word, contents] : {std::pair("random:", random), {"zero:", zero}}) {
      if (!what.starts_with(word))
         continue;
      const auto size = parse_number(what.substr(std::string(word).size()), most);
      return size ? std::optional(BufferArgument{*place, contents, "", *size}) : std::nullopt;
   }
   return BufferArgument{*place, file, what, 0};
}

std::optional<std::array<uint32_t, 3>> parse_workgroups(const std::string &text)
{
   const std::vector<std::string> parts = split(text, ',');
   std::array<uint32_t, 3> counts = {1, 1, 1};
   if (parts.size() > 3)
      return std::nullopt;
   for (size_t i = 0; i < parts.size(); i++) {
      const std::optional<uint64_t> number = parse_number(parts[i], 65535);
      if (!number)
         return std::nullopt;
      counts[i] = uint32_t(*number);
   }
   return counts;
}

std::optional<uint32_t> parse_spirv_version(const std::string &text)
{
   const std::optional<uint64_t> minor =
      text.starts_with("1.") ? parse_number(text.substr(2), 6) : std::nullopt;
   return minor && *minor >= 3 ? std::optional(0x10000 | uint32_t(*minor) << 8) : std::nullopt;
}

std::optional<double> parse_tolerance(const std::string &text)
{
   char *end = nullptr;
   const double value = strtod(text.c_str(), &end);
   const bool valid = !text.empty() && !*end && value >= 0 && !std::isinf(value);
   return valid ? std::optional(value) : std::nullopt;
}

std::optional<SaveArgument> parse_save(const std::string &text)
{
   const size_t equals = text.find('=');
   const auto place = parse_place(text.substr(0, equals));
   if (equals == std::string::npos || !place || equals + 1 == text.size())
      return std::nullopt;
   return SaveArgument{*place, text.substr(equals + 1)};
}

std::optional<uint32_t> parse_timeout(const std::string &text)
{
   const std::optional<uint64_t> seconds = parse_number(text, 86400);
   return seconds && *seconds ? std::optional(uint32_t(*seconds * 1000)) : std::nullopt;
}

std::optional<ParsedValue> parse_value(const std::string &text)
{
   if (text == "true" || text == "false")
      return ParsedValue{text == "true", 4};
   if (const std::optional<uint64_t> integer = parse_integer(text))
      return ParsedValue{*integer, 4};
   char *end = nullptr;
   const double value = strtod(text.c_str(), &end);
   if (end == text.c_str())
      return std::nullopt;
   if (std::string(end) == "d")
      return ParsedValue{std::bit_cast<uint64_t>(value), 8};
   if (*end != '\0')
      return std::nullopt;
   return ParsedValue{std::bit_cast<uint32_t>(float(value)), 4};
}

} // namespace weft::weftc
