// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/commands/shrink.h"

#include "tests/commands/print.h"

#include <algorithm>
#include <cstdint>

namespace weft::commands {
namespace {

/// A list in a case, any part of which can be removed.
struct List {
   size_t size;
   /// Removes `count` elements, beginning with the element `first`.
   std::function<void(Case &, size_t first, size_t count)> erase;
};

/// `find` gives the vector of a case.
template <typename Find>
List list_of(const Case &c, Find find, size_t least = 0)
{
   const size_t size = find(const_cast<Case &>(c)).size();
   return {size > least ? size - least : 0, [find](Case &changed, size_t first, size_t count) {
              auto &list = find(changed);
              const auto begin = list.begin() + int64_t(std::min(first, list.size()));
              list.erase(begin, begin + std::min(int64_t(count), list.end() - begin));
           }};
}

/// The lists within a step; `step` finds it.
void add_lists(const Case &c, size_t number, std::vector<List> &lists)
{
   const auto add = [&]<typename T, typename F>(const T &, F f, size_t least) {
      lists.push_back(list_of(
         c, [number, f](Case &changed) -> auto & { return f(std::get<T>(changed.steps[number])); },
         least));
   };
   const Visitor visitor = {
      [&](const Record &r) {
         add(r, [](Record &record) -> auto & { return record.commands; }, 0);
         for (size_t i = 0; i < r.commands.size(); i++) {
            const auto add_part = [&]<typename T, typename F>(const T &, F f) {
               add(
                  r,
                  [i, f](Record &record) -> auto & { return f(std::get<T>(record.commands[i])); },
                  1);
            };
            const Visitor parts = {
               [&](const PushDescriptors &p) {
                  add_part(p, [](PushDescriptors &push) -> auto & { return push.writes; });
               },
               [&](const CopyBuffer &p) {
                  add_part(p, [](CopyBuffer &copy) -> auto & { return copy.regions; });
               },
               [&](const WaitEvents &p) {
                  add_part(p, [](WaitEvents &wait) -> auto & { return wait.events; });
               },
               [&](const Execute &p) {
                  add_part(p, [](Execute &execute) -> auto & { return execute.buffers; });
               },
               [](const auto &) {},
            };
            std::visit(parts, r.commands[i]);
         }
      },
      [&](const UpdateSets &u) {
         add(u, [](UpdateSets &update) -> auto & { return update.writes; }, 0);
         add(u, [](UpdateSets &update) -> auto & { return update.copies; }, 0);
      },
      [&](const Submit &s) {
         add(s, [](Submit &submit) -> auto & { return submit.batches; }, 0);
         for (size_t i = 0; i < s.batches.size(); i++) {
            add(s, [i](Submit &submit) -> auto & { return submit.batches[i].waits; }, 0);
            add(s, [i](Submit &submit) -> auto & { return submit.batches[i].buffers; }, 0);
            add(s, [i](Submit &submit) -> auto & { return submit.batches[i].signals; }, 0);
         }
      },
      [&](const WaitTimelines &w) {
         add(w, [](WaitTimelines &wait) -> auto & { return wait.values; }, 1);
      },
      [&](const WaitFences &w) {
         add(w, [](WaitFences &wait) -> auto & { return wait.fences; }, 1);
      },
      [](const auto &) {},
   };
   std::visit(visitor, c.steps[number]);
}

class Shrinker {
public:
   Shrinker(const Case &c, const StillFails &still_fails, std::chrono::seconds limit)
       : best(c), still_fails(still_fails), end(std::chrono::steady_clock::now() + limit)
   {
   }

   Case run()
   {
      for (bool progress = true; progress && !is_late();) {
         progress = shorten([](Case &c) {
            return list_of(c, [](Case &changed) -> auto & { return changed.steps; });
         });
         for (size_t s = 0; s < best.steps.size() && !is_late(); s++) {
            for (size_t l = 0; !is_late(); l++) {
               std::vector<List> lists;
               if (s < best.steps.size())
                  add_lists(best, s, lists);
               if (l >= lists.size())
                  break;
               progress |= shorten([s, l](Case &c) {
                  std::vector<List> again;
                  if (s < c.steps.size())
                     add_lists(c, s, again);
                  return l < again.size() ? again[l] : List{0, {}};
               });
            }
         }
         progress |= simplify();
      }
      return best;
   }

private:
   bool is_late() const { return std::chrono::steady_clock::now() > end; }

   bool accept(Case candidate)
   {
      const Interpretation expected = make_valid(candidate);
      // The repair may have added the removed part again.
      if (to_text(candidate).size() >= to_text(best).size() || !still_fails(candidate, expected))
         return false;
      best = std::move(candidate);
      return true;
   }

   /// Leaves out halves, quarters and so on.
   template <typename Find>
   bool shorten(Find find)
   {
      bool progress = false;
      for (size_t part = find(best).size; part > 0; part /= 2) {
         for (size_t first = 0; first < find(best).size && !is_late();) {
            Case candidate = best;
            find(best).erase(candidate, first, part);
            if (accept(std::move(candidate)))
               progress = true;
            else
               first += part;
         }
      }
      return progress;
   }

   /// Replaces commands by older forms, one workgroup, no base and no features.
   bool simplify()
   {
      bool progress = false;
      const auto attempt = [&](auto change) {
         if (is_late())
            return;
         Case candidate = best;
         if (change(candidate))
            progress |= accept(std::move(candidate));
      };
      for (bool Features::*feature :
           {&Features::robust, &Features::null_descriptors, &Features::pipeline_robustness,
            &Features::maintenance6, &Features::nested, &Features::matrices}) {
         attempt([&](Case &c) {
            const bool was = c.features.*feature;
            c.features.*feature = false;
            return was;
         });
      }
      for (size_t s = 0; s < best.steps.size(); s++) {
         const Record *record = std::get_if<Record>(&best.steps[s]);
         for (size_t i = 0; record && i < record->commands.size(); i++) {
            attempt([&](Case &c) {
               Record &r = std::get<Record>(c.steps[s]);
               if (i >= r.commands.size())
                  return false;
               auto *dispatch = std::get_if<Dispatch>(&r.commands[i]);
               const bool is_plain =
                  !dispatch || (dispatch->count == std::array{1u, 1u, 1u} && !dispatch->with_base);
               if (is_plain)
                  return false;
               *dispatch = {{}, {1, 1, 1}, false};
               return true;
            });
            record = s < best.steps.size() ? std::get_if<Record>(&best.steps[s]) : nullptr;
         }
      }
      return progress;
   }

   Case best;
   const StillFails &still_fails;
   const std::chrono::steady_clock::time_point end;
};

} // namespace

Case shrink(const Case &c, const StillFails &still_fails, std::chrono::seconds limit)
{
   return Shrinker(c, still_fails, limit).run();
}

} // namespace weft::commands
