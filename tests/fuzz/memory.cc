// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::fuzz {

static constexpr int32_t before_the_program = -1;

/// Whether the second access happens after the first one and sees its effects.
static bool ordered(const Access &first, const Access &second)
{
   if (first.workgroup == before_the_program)
      return true;
   if (first.workgroup != second.workgroup)
      return false;
   if (first.workgroup_barriers < second.workgroup_barriers)
      return true;
   if (first.subgroup != second.subgroup)
      return false;
   if (first.subgroup_barriers < second.subgroup_barriers)
      return true;
   return first.invocation == second.invocation && first.invocation >= 0;
}

static bool all_ordered(const std::vector<AtomicAccess> &atomics, const Access &access)
{
   return std::ranges::all_of(atomics,
                              [&](const AtomicAccess &a) { return ordered(a.access, access); });
}

CellArray::CellArray(const Memory &memory) : writable(memory.writable()), cells(memory.elements)
{
   if (memory.contents == Contents::none)
      return;
   const std::vector<std::byte> bytes = initial_bytes(memory);
   for (uint32_t i = 0; i < memory.elements; i++) {
      cells[i].number = decode(memory.type, &bytes[size_t(i) * memory.component_bytes()]);
      cells[i].written = writable;
      cells[i].write.workgroup = before_the_program;
   }
}

const char *CellArray::read(uint64_t element, const Access &access, Number &number, double &bound)
{
   if (element >= cells.size())
      return "a read outside of a memory";
   Cell &cell = cells[element];
   number = cell.number;
   bound = cell.bound;
   if (!writable)
      return nullptr;
   if (!cell.written)
      return "a read of what is not written";
   if (!ordered(cell.write, access))
      return "a read races with a write";
   if (!all_ordered(cell.atomics, access))
      return "a read races with an atomic";
   std::erase_if(cell.reads, [&](const Access &r) { return ordered(r, access); });
   cell.reads.push_back(access);
   return nullptr;
}

const char *CellArray::write(uint64_t element, const Access &access, const Number &number,
                             double bound)
{
   if (element >= cells.size())
      return "a write outside of a memory";
   if (!writable)
      return "a write to an input";
   Cell &cell = cells[element];
   if (cell.written && !ordered(cell.write, access))
      return "two writes race";
   for (const Access &r : cell.reads) {
      if (!ordered(r, access))
         return "a write races with a read";
   }
   if (!all_ordered(cell.atomics, access))
      return "a write races with an atomic";
   cell = {number, bound, true, access, {}, {}};
   return nullptr;
}

const char *CellArray::update(uint64_t element, const Access &access, const Atomicity &how,
                              const std::function<Number(const Number &)> &update, Number &old)
{
   if (element >= cells.size())
      return "an atomic outside of a memory";
   if (!writable)
      return "an atomic of an input";
   Cell &cell = cells[element];
   if (!cell.written)
      return "an atomic of what is not written";
   if (!ordered(cell.write, access))
      return "an atomic races with a write";
   for (const Access &r : cell.reads) {
      if (!ordered(r, access))
         return "an atomic races with a read";
   }
   for (const AtomicAccess &a : cell.atomics) {
      if (!ordered(a.access, access) && (how.exclusive || a.how != how))
         return "the order of atomics matters";
   }
   // An access that is ordered after this atomic is ordered after all earlier equal atomics, too.
   std::erase_if(cell.atomics,
                 [&](const AtomicAccess &a) { return ordered(a.access, access) && a.how == how; });
   cell.atomics.push_back({access, how});
   old = cell.number;
   cell.number = update(old);
   return nullptr;
}

void CellArray::clear()
{
   if (writable)
      cells.assign(cells.size(), {});
}

static std::string text(Type type, const Number &n)
{
   char s[40];
   if (is_float(type))
      snprintf(s, sizeof(s), "%.17g", n.f);
   else if (type == Type::u64)
      snprintf(s, sizeof(s), "%llu", (unsigned long long)n.i);
   else
      snprintf(s, sizeof(s), "%lld", (long long)n.i);
   return s;
}

std::optional<std::string> difference(const Memory &memory, const std::vector<Cell> &cells,
                                      std::span<const std::byte> actual)
{
   const std::vector<std::byte> before = initial_bytes(memory);
   const uint32_t bytes = memory.component_bytes();
   uint32_t wrong = 0;
   std::string first;
   for (uint32_t i = 0; i < memory.elements; i++) {
      const std::byte *const at = &actual[size_t(i) * bytes];
      const Cell &cell = cells[i];
      const Number found = decode(memory.type, at);
      std::string why;
      if (!cell.written) {
         if (memcmp(at, &before[size_t(i) * bytes], bytes) != 0)
            why = "was overwritten with " + text(memory.type, found);
      } else {
         // Zeros of both signs are equal, because the sign may depend on the order of a sum.
         const bool right = is_float(memory.type) ? std::fabs(found.f - cell.number.f) <= cell.bound
                                                  : found.i == cell.number.i;
         if (!right)
            why = "is " + text(memory.type, found) + ", expected " +
                  text(memory.type, cell.number) +
                  (cell.bound ? " within " + std::to_string(cell.bound) : "");
      }
      if (why.empty())
         continue;
      if (!wrong++)
         first = "element " + std::to_string(i) + " " + why;
   }
   if (!wrong)
      return std::nullopt;
   return first + " (" + std::to_string(wrong) + " of " + std::to_string(memory.elements) +
          " elements differ)";
}

} // namespace weft::fuzz
