// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::fuzz {

using oracle::Integer;

Number whole(Type type, int64_t value)
{
   if (is_float(type))
      return {0, double(value)};
   return {wrap(type, value)};
}

Number boolean(bool value)
{
   return {value};
}

int64_t wrap(Type type, int64_t value)
{
   if (type == Type::boolean)
      return value != 0;
   const uint32_t unused = 64 - bits(type);
   const uint64_t high = uint64_t(value) << unused;
   return is_signed(type) ? int64_t(high) >> unused : int64_t(high >> unused);
}

Integer mathematical(Type type, int64_t value)
{
   return type == Type::u64 ? Integer(uint64_t(value)) : Integer(value);
}

static int digits(Type type)
{
   return std::min<int>(oracle::format(component(type)).fraction_bits + 1, 24);
}

static int highest_exponent(Type type)
{
   return std::min(std::ilogb(oracle::largest_finite(component(type))), 100);
}

double granule(double value)
{
   if (value == 0)
      return INFINITY;
   int exponent;
   const double fraction = std::frexp(std::fabs(value), &exponent);
   const auto mantissa = uint64_t(std::ldexp(fraction, 53));
   return std::ldexp(1.0, exponent - 53 + std::countr_zero(mantissa));
}

bool representable(Type type, double value)
{
   if (value == 0)
      return true;
   if (!std::isfinite(value))
      return false;
   const int lowest = std::max(std::ilogb(oracle::smallest_normal(component(type))), -100);
   const int exponent = std::ilogb(value);
   return exponent >= lowest && exponent <= highest_exponent(type) &&
          std::fabs(value) <= oracle::largest_finite(component(type)) &&
          std::ldexp(granule(value), digits(type)) > std::fabs(value);
}

bool exact_in_any_order(Type type, double unit, double magnitude)
{
   return magnitude == 0 ||
          (magnitude < std::ldexp(unit, digits(type)) && representable(type, unit) &&
           std::ilogb(magnitude) < highest_exponent(type));
}

static std::optional<Number> checked(Type type, double value)
{
   if (!representable(type, value))
      return std::nullopt;
   return Number{0, value};
}

static bool is_sum(const Number &x)
{
   return x.magnitude != 0;
}

double unit_of(const Number &x)
{
   return is_sum(x) ? x.unit : granule(x.f);
}

double magnitude_of(const Number &x)
{
   return is_sum(x) ? x.magnitude : std::fabs(x.f);
}

/// x + y, if double holds it, and if the order of all terms does not matter.
static std::optional<Number> exact_sum(Type type, const Number &x, const Number &y)
{
   const double sum = x.f + y.f, part = sum - x.f;
   if ((x.f - (sum - part)) + (y.f - part) != 0)
      return std::nullopt;
   std::optional<Number> result = checked(type, sum);
   if (!result)
      return std::nullopt;
   result->unit = std::min(unit_of(x), unit_of(y));
   result->magnitude = magnitude_of(x) + magnitude_of(y);
   if ((is_sum(x) || is_sum(y)) && !exact_in_any_order(type, result->unit, result->magnitude))
      return std::nullopt;
   return result;
}

/// x · y; a compiler may multiply each term separately.
static std::optional<Number> exact_product(Type type, const Number &x, const Number &y)
{
   std::optional<Number> result = checked(type, x.f * y.f);
   if (!result || (!is_sum(x) && !is_sum(y)))
      return result;
   result->unit = unit_of(x) * unit_of(y);
   result->magnitude = magnitude_of(x) * magnitude_of(y);
   if (!exact_in_any_order(type, result->unit, result->magnitude))
      return std::nullopt;
   return result;
}

static Number negated(Number x)
{
   x.f = -x.f;
   return x;
}

static std::optional<Number> unary_float(Unary op, Type type, const Number &number)
{
   const double x = number.f;
   switch (op) {
   case Unary::negate:
      return negated(number);
   case Unary::absolute:
      return x < 0 ? negated(number) : number;
   case Unary::sign:
      return Number{0, double((x > 0) - (x < 0))};
   case Unary::floor:
      return checked(type, std::floor(x));
   case Unary::trunc:
      return checked(type, std::trunc(x));
   default:
      return std::nullopt;
   }
}

static std::optional<Number> unary_integer(Unary op, Type type, int64_t x)
{
   const bool lowest = is_signed(type) && mathematical(type, x) == oracle::int_min(component(type));
   switch (op) {
   case Unary::negate:
      return Number{wrap(type, int64_t(0 - uint64_t(x)))};
   case Unary::bit_not:
      return Number{wrap(type, ~x)};
   case Unary::absolute:
      return lowest ? std::nullopt : std::optional(Number{x < 0 ? -x : x});
   case Unary::sign:
      return Number{(x > 0) - (x < 0)};
   case Unary::bit_count:
      return Number{std::popcount(uint32_t(x))};
   case Unary::bit_reverse: {
      uint32_t reversed = 0;
      for (int bit = 0; bit < 32; bit++)
         reversed |= (uint32_t(x) >> bit & 1) << (31 - bit);
      return Number{reversed};
   }
   case Unary::find_lsb:
      return Number{x == 0 ? 0xffffffff : int64_t(std::countr_zero(uint32_t(x)))};
   case Unary::find_msb:
      return Number{x == 0 ? 0xffffffff : 31 - int64_t(std::countl_zero(uint32_t(x)))};
   default:
      return std::nullopt;
   }
}

std::optional<Number> unary(Unary op, Type type, const Number &x)
{
   if (type == Type::boolean)
      return Number{!x.i};
   return is_float(type) ? unary_float(op, type, x) : unary_integer(op, type, x.i);
}

template <typename T>
static std::optional<Number> compare(Binary op, T x, T y)
{
   switch (op) {
   case Binary::equal:
      return Number{x == y};
   case Binary::not_equal:
      return Number{x != y};
   case Binary::less:
      return Number{x < y};
   case Binary::less_equal:
      return Number{x <= y};
   case Binary::greater:
      return Number{x > y};
   case Binary::greater_equal:
      return Number{x >= y};
   default:
      return std::nullopt;
   }
}

static std::optional<Number> binary_float(Binary op, Type type, const Number &x, const Number &y)
{
   switch (op) {
   case Binary::add:
      return exact_sum(type, x, y);
   case Binary::sub:
      return exact_sum(type, x, negated(y));
   case Binary::mul:
      return exact_product(type, x, y);
   case Binary::div: {
      // Vulkan allows division an error of 2.5 ulp; division by powers of two is exact on all
      // drivers.
      const bool power = y.f != 0 && granule(y.f) == std::fabs(y.f);
      return power && representable(type, 1 / y.f) ? exact_product(type, x, {0, 1 / y.f})
                                                   : std::nullopt;
   }
   case Binary::min:
      return x.f < y.f ? x : y;
   case Binary::max:
      return x.f > y.f ? x : y;
   default:
      return std::nullopt;
   }
}

static std::optional<Number> binary_integer(Binary op, Type type, int64_t x, int64_t y)
{
   const auto wrapped = [&](uint64_t value) { return Number{wrap(type, int64_t(value))}; };
   const Integer a = mathematical(type, x), b = mathematical(type, y);
   switch (op) {
   case Binary::add:
      return wrapped(uint64_t(x) + uint64_t(y));
   case Binary::sub:
      return wrapped(uint64_t(x) - uint64_t(y));
   case Binary::mul:
      return wrapped(uint64_t(x) * uint64_t(y));
   case Binary::div:
      if (b == 0 || (b == -1 && a == oracle::int_min(component(type))))
         return std::nullopt;
      return wrapped(uint64_t(a / b));
   case Binary::mod:
      if (b <= 0 || a < 0)
         return std::nullopt;
      return wrapped(uint64_t(a % b));
   case Binary::min:
      return a < b ? Number{x} : Number{y};
   case Binary::max:
      return a > b ? Number{x} : Number{y};
   case Binary::bit_and:
      return wrapped(uint64_t(x & y));
   case Binary::bit_or:
      return wrapped(uint64_t(x | y));
   case Binary::bit_xor:
      return wrapped(uint64_t(x ^ y));
   case Binary::shift_left:
      if (b < 0 || b >= bits(type))
         return std::nullopt;
      return wrapped(uint64_t(x) << y);
   case Binary::shift_right:
      if (b < 0 || b >= bits(type))
         return std::nullopt;
      return wrapped(uint64_t(a >> y));
   default:
      return std::nullopt;
   }
}

std::optional<Number> binary(Binary op, Type type, const Number &x, const Number &y)
{
   if (is_comparison(op))
      return is_float(type) ? compare(op, x.f, y.f)
                            : compare(op, mathematical(type, x.i), mathematical(type, y.i));
   switch (op) {
   case Binary::logical_and:
      return Number{x.i && y.i};
   case Binary::logical_or:
      return Number{x.i || y.i};
   case Binary::logical_xor:
      return Number{x.i != y.i};
   default:
      return is_float(type) ? binary_float(op, type, x, y) : binary_integer(op, type, x.i, y.i);
   }
}

std::optional<Number> multiply_add(Type type, const Number &x, const Number &y, const Number &z)
{
   // A driver may round the product or not.
   const std::optional<Number> product = exact_product(type, x, y);
   return product ? exact_sum(type, *product, z) : std::nullopt;
}

std::optional<Number> convert(Type to, Type from, const Number &x)
{
   const bool is_true = is_float(from) ? x.f != 0 : x.i != 0;
   if (to == Type::boolean)
      return boolean(is_true);
   if (is_float(to)) {
      if (is_float(from))
         return checked(to, x.f);
      const Integer value = mathematical(from, x.i);
      if (value > 1 << 24 || value < -(1 << 24))
         return std::nullopt;
      return checked(to, double(int64_t(value)));
   }
   if (!is_float(from))
      return Number{wrap(to, x.i)};
   const double truncated = std::trunc(x.f);
   if (std::fabs(truncated) > 1e15)
      return std::nullopt;
   const Integer value = int64_t(truncated);
   if (value < oracle::int_min(component(to)) || value > oracle::int_max(component(to)))
      return std::nullopt;
   return Number{wrap(to, int64_t(value))};
}

static std::optional<Number> reduce_floats(Reduction op, Type type, const std::vector<Number> &list)
{
   if (op == Reduction::min || op == Reduction::max) {
      if (list.empty())
         return std::nullopt;
      Number result = list[0];
      for (const Number &n : list)
         result = *binary_float(op == Reduction::min ? Binary::min : Binary::max, type, result, n);
      return result;
   }
   if (op == Reduction::add) {
      Number sum = {.f = 0, .unit = INFINITY};
      for (const Number &n : list) {
         sum.unit = std::min(sum.unit, unit_of(n));
         sum.magnitude += magnitude_of(n);
         sum.f += n.f;
      }
      if (!exact_in_any_order(type, sum.unit, sum.magnitude))
         return std::nullopt;
      return sum;
   }
   if (op != Reduction::mul)
      return std::nullopt;
   // The product of any subset is exact if all factors together have few digits.
   double product = 1, odd = 1;
   int exponents = 0;
   for (const Number &n : list) {
      product *= n.f;
      if (n.f != 0) {
         odd *= std::fabs(n.f) / granule(n.f);
         exponents += std::abs(std::ilogb(n.f)) + 1;
      }
      if (odd >= std::ldexp(1.0, digits(type)) || exponents > (type == Type::f16 ? 12 : 90))
         return std::nullopt;
   }
   return checked(type, product);
}

std::optional<Number> reduce(Reduction op, Type type, const std::vector<Number> &list)
{
   if (is_float(type))
      return reduce_floats(op, type, list);
   const bool logical = type == Type::boolean;
   Number result;
   switch (op) {
   case Reduction::add:
   case Reduction::bit_or:
   case Reduction::bit_xor:
      result.i = 0;
      break;
   case Reduction::mul:
      result.i = 1;
      break;
   case Reduction::bit_and:
      result.i = logical ? 1 : wrap(type, -1);
      break;
   case Reduction::min:
      result.i = logical ? 1 : wrap(type, int64_t(oracle::int_max(component(type))));
      break;
   case Reduction::max:
      result.i = logical ? 0 : wrap(type, int64_t(oracle::int_min(component(type))));
      break;
   }
   constexpr Binary steps[] = {Binary::add,     Binary::mul,    Binary::min,    Binary::max,
                               Binary::bit_and, Binary::bit_or, Binary::bit_xor};
   for (const Number &n : list) {
      if (logical)
         result.i = op == Reduction::bit_and  ? result.i & n.i
                    : op == Reduction::bit_or ? result.i | n.i
                                              : result.i ^ n.i;
      else
         result = *binary_integer(steps[int(op)], type, result.i, n.i);
   }
   return result;
}

Number decode(Type type, const std::byte *in)
{
   if (is_float(type))
      return {0, oracle::decode_float(component(type), in)};
   return {int64_t(oracle::decode_int(component(type), in))};
}

void encode(Type type, const Number &n, std::byte *out)
{
   if (is_float(type))
      oracle::encode_float(component(type), n.f, out);
   else
      oracle::encode_int(component(type), n.i, out);
}

} // namespace weft::fuzz
