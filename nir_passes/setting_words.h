// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <algorithm>
#include <string_view>

namespace weft {

/// Calls `f` for each word of a setting's list, which has commas between its words. Empty words
/// are skipped.
template <typename F>
void for_each_word(std::string_view list, const F &f)
{
   while (!list.empty()) {
      const std::string_view word = list.substr(0, list.find(','));
      list.remove_prefix(std::min(list.size(), word.size() + 1));
      if (!word.empty())
         f(word);
   }
}

} // namespace weft
