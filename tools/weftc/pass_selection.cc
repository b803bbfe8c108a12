// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/pass_selection.h"

#include <charconv>

namespace weft::weftc {

bool PassSelection::Name::matches(const PassApplication &application) const
{
   return pass == application.pass && (!occurrence || occurrence == application.occurrence);
}

Result<PassSelection::Name> parse_pass_name(const std::string &text)
{
   PassSelection::Name name;
   const size_t hash = text.find('#');
   name.pass = text.substr(0, hash);
   if (hash != std::string::npos) {
      const char *begin = text.data() + hash + 1, *end = text.data() + text.size();
      const auto [at, error] = std::from_chars(begin, end, name.occurrence);
      if (error != std::errc() || at != end || name.occurrence == 0)
         return Error{"'" + text + "' is not of the form PASS or PASS#NUMBER"};
   }
   if (name.pass.empty())
      return Error{"'" + text + "' names no pass"};
   return name;
}

SelectedPasses::SelectedPasses(const PassSelection &wanted)
    : selection(wanted), seen(wanted.skip.size())
{
   control.may_run = [this](const PassApplication &application) {
      bool skip = has_stopped || application.number > selection.limit;
      for (size_t i = 0; i < selection.skip.size(); i++) {
         if (selection.skip[i].matches(application)) {
            seen[i] = true;
            skip = true;
         }
      }
      return !skip;
   };
   control.after = [this](const PassApplication &application, bool, nir_shader *) {
      has_stopped |= selection.stop_after && selection.stop_after->matches(application);
   };
}

Result<bool> SelectedPasses::check() const
{
   const auto text = [](const PassSelection::Name &name) {
      return name.occurrence ? name.pass + "#" + std::to_string(name.occurrence) : name.pass;
   };
   if (selection.stop_after && !has_stopped)
      return Error{"--stop-after " + text(*selection.stop_after) + ": it did not run"};
   for (size_t i = 0; i < seen.size(); i++) {
      if (!seen[i])
         return Error{"--skip " + text(selection.skip[i]) + ": it would not have run"};
   }
   return true;
}

} // namespace weft::weftc
