// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/nir_passes/lines.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <vector>

namespace weft::test {
namespace {

using Names = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string &text)
{
   std::vector<std::string> lines;
   for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const size_t first = text.find_first_not_of(' ', at);
      if (first < end)
         lines.push_back(text.substr(first, end - first));
      at = end + 1;
   }
   return lines;
}

template <typename Predicate>
std::string take(const std::string &text, size_t at, Predicate belongs)
{
   size_t end = at;
   while (end < text.size() && belongs(text[end]))
      end++;
   return text.substr(at, end - at);
}

bool in_name(char c)
{
   return isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool in_word(char c)
{
   return in_name(c) || c == '%' || c == '#';
}

/// The names after a match at this place of the line.
std::optional<Names> match_at(const std::string &line, size_t at, const std::string &pattern,
                              Names names)
{
   for (size_t i = 0; i < pattern.size();) {
      if (pattern[i] != '$') {
         if (at >= line.size() || line[at++] != pattern[i++])
            return std::nullopt;
         continue;
      }
      const std::string name = take(pattern, i + 1, in_name), word = take(line, at, in_word);
      if (word.empty() || names.try_emplace(name, word).first->second != word)
         return std::nullopt;
      i += 1 + name.size();
      at += word.size();
   }
   return names;
}

std::optional<Names> match(const std::string &line, const std::string &pattern, const Names &names)
{
   for (size_t at = 0; at < line.size(); at++) {
      if (std::optional<Names> found = match_at(line, at, pattern, names))
         return found;
   }
   return std::nullopt;
}

} // namespace

testing::AssertionResult has_lines(const std::string &text, const std::string &expected)
{
   const std::vector<std::string> lines = split(text);
   std::vector<std::string> absent;
   Names names;
   size_t next = 0;
   const auto failure = [&](const std::string &problem) {
      return testing::AssertionFailure() << problem << ", after line " << next << " of\n" << text;
   };
   const auto all_absent = [&](size_t end) {
      for (size_t i = next; i < end; i++) {
         for (const std::string &pattern : absent) {
            if (match(lines[i], pattern, names))
               return failure("unexpected: " + lines[i]);
         }
      }
      return testing::AssertionSuccess();
   };
   for (const std::string &line : split(expected)) {
      const bool marked = line.size() > 2 && line[1] == ' ';
      const std::string pattern =
         marked && (line[0] == '+' || line[0] == '-') ? line.substr(2) : line;
      if (marked && line[0] == '-') {
         absent.push_back(pattern);
         continue;
      }
      const size_t last =
         marked && line[0] == '+' ? std::min(next + 1, lines.size()) : lines.size();
      size_t at = next;
      std::optional<Names> found;
      while (at < last && !(found = match(lines[at], pattern, names)))
         at++;
      if (!found)
         return failure("missing: " + line);
      if (const testing::AssertionResult result = all_absent(at); !result)
         return result;
      absent.clear();
      names = *found;
      next = at + 1;
   }
   return all_absent(lines.size());
}

} // namespace weft::test
