// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

// Compiled for general registers only. A call of a library's function would not preserve the vector
// registers. So all functions are inline, and sanitizers, which insert calls, are off.

#include "backend/cpu/runtime/lane_memory.h"

#if defined(__clang__)
#define WEFT_INLINE [[gnu::always_inline, clang::no_sanitize("address", "thread", "undefined")]]
#define WEFT_ENTRY [[clang::no_sanitize("address", "thread", "undefined")]]
#else
#define WEFT_INLINE [[gnu::always_inline, gnu::no_sanitize("address,thread,undefined")]]
#define WEFT_ENTRY [[gnu::no_sanitize("address,thread,undefined")]]
#endif

namespace weft::cpu {

namespace {

struct Load {
   template <typename Number>
   WEFT_INLINE static void move(uint64_t memory, const uint8_t *data)
   {
      __builtin_memcpy(const_cast<uint8_t *>(data), reinterpret_cast<const void *>(memory),
                       sizeof(Number));
   }
   template <typename Number>
   WEFT_INLINE static void leave_out(const uint8_t *data)
   {
      const Number zero = 0;
      __builtin_memcpy(const_cast<uint8_t *>(data), &zero, sizeof(zero));
   }
};

struct Store {
   template <typename Number>
   WEFT_INLINE static void move(uint64_t memory, const uint8_t *data)
   {
      __builtin_memcpy(reinterpret_cast<void *>(memory), data, sizeof(Number));
   }
   template <typename Number>
   WEFT_INLINE static void leave_out(const uint8_t *)
   {
   }
};

template <typename Access, typename Number, typename Offset>
WEFT_INLINE inline void access_lanes(uint64_t base, uint64_t size, uint64_t active,
                                     const void *offsets, const uint8_t *data, uint32_t components)
{
   const bool any_fits = size >= sizeof(Number);
   const uint64_t last = size == unlimited ? unlimited : size - sizeof(Number);
   for (; active; active &= active - 1) {
      const auto lane = uint32_t(__builtin_ctzll(active));
      Offset offset = static_cast<const Offset *>(offsets)[lane];
      const uint8_t *element = data + lane * components * sizeof(Number);
      for (uint32_t c = 0; c < components; c++) {
         if (any_fits && offset <= last)
            Access::template move<Number>(base + offset, element);
         else
            Access::template leave_out<Number>(element);
         offset += sizeof(Number);
         element += sizeof(Number);
      }
   }
}

template <typename Access, typename Number>
WEFT_INLINE inline void access_lanes(uint64_t base, uint64_t size, uint64_t active,
                                     const void *offsets, const uint8_t *data, uint32_t form)
{
   const uint32_t components = form & 0xff;
   if (form >> 16 == sizeof(uint64_t))
      access_lanes<Access, Number, uint64_t>(base, size, active, offsets, data, components);
   else
      access_lanes<Access, Number, uint32_t>(base, size, active, offsets, data, components);
}

template <typename Access>
WEFT_INLINE inline void access_lanes(const void *memory, uint64_t size, uint64_t active,
                                     const void *offsets, const uint8_t *data, uint32_t form)
{
   const auto base = uint64_t(memory);
   switch (form >> 8 & 0xff) {
   case 1:
      return access_lanes<Access, uint8_t>(base, size, active, offsets, data, form);
   case 2:
      return access_lanes<Access, uint16_t>(base, size, active, offsets, data, form);
   case 4:
      return access_lanes<Access, uint32_t>(base, size, active, offsets, data, form);
   default:
      return access_lanes<Access, uint64_t>(base, size, active, offsets, data, form);
   }
}

} // namespace

WEFT_ENTRY void load_lanes(const uint8_t *base, uint64_t size, uint64_t active, const void *offsets,
                           uint8_t *data, uint32_t form)
{
   access_lanes<Load>(base, size, active, offsets, data, form);
}

WEFT_ENTRY void store_lanes(uint8_t *base, uint64_t size, uint64_t active, const void *offsets,
                            const uint8_t *data, uint32_t form)
{
   access_lanes<Store>(base, size, active, offsets, data, form);
}

} // namespace weft::cpu
