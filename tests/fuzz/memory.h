// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Memories of a program while it is interpreted. They record the invocation and time of each
/// access. They refuse behaviour that Vulkan leaves open: data races, elements read before they are
/// written, places outside.

#pragma once

#include "tests/fuzz/numbers.h"

#include <functional>

namespace weft::fuzz {

/// The invocation of an access, and the number of barriers that it has passed. Invocation -1 means
/// any invocation of the subgroup, for matrix accesses.
struct Access {
   int32_t workgroup = 0, subgroup = 0, invocation = 0;
   uint32_t workgroup_barriers = 0, subgroup_barriers = 0;
};

/// Equal atomics may come in any order.  `value` and `comparand` are set for exchanges only.  The
/// program uses the result of an exclusive atomic, so no other access may come between.
struct Atomicity {
   Atomic op = Atomic::add;
   bool exclusive = false;
   int64_t value = 0, comparand = 0;

   bool operator==(const Atomicity &) const = default;
};

struct AtomicAccess {
   Access access;
   Atomicity how;
};

struct Cell {
   Number number;
   double bound = 0; ///< the allowed distance of a float from `number`
   bool written = false;
   Access write;
   std::vector<Access> reads;         ///< since that write; reads that the next write must come
                                      ///< after
   std::vector<AtomicAccess> atomics; ///< since that write, too
};

class CellArray {
public:
   explicit CellArray(const Memory &);

   /// Reads an element. Returns the reason why that is not allowed, or null.
   const char *read(uint64_t element, const Access &, Number &, double &bound);
   const char *write(uint64_t element, const Access &, const Number &, double bound);
   /// Replaces a number, which becomes `old`, by update(number).
   const char *update(uint64_t element, const Access &, const Atomicity &,
                      const std::function<Number(const Number &)> &update, Number &old);
   /// Restores the contents before the program, for shared memory of the next workgroup.
   void clear();

   const std::vector<Cell> &all() const { return cells; }

private:
   bool writable;
   std::vector<Cell> cells;
};

/// The contents of a program's memories at its end, by memory; shared ones are empty.
using Expected = std::vector<std::vector<Cell>>;

/// The difference between a buffer of the program and the expected contents, or nothing. `actual`
/// was initial_bytes() before.
std::optional<std::string> difference(const Memory &, const std::vector<Cell> &,
                                      std::span<const std::byte> actual);

} // namespace weft::fuzz
