// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/compiler_options.h"

namespace weft {

namespace {

nir_shader_compiler_options make_llvm_compiler_options()
{
   nir_shader_compiler_options o = {};

   /* Scalar NIR operations give LLVM's best vector code. */
   o.lower_to_scalar = true;
   o.lower_vector_cmp = true;
   o.lower_fdot = true;
   o.lower_fdph = true;

   /* Every supported CPU has fused multiply-add for f32 and f64. Halves are multiplied and added in
    * f32, so a product and a sum are fused only if the shader fuses them. */
   o.fuse_ffma32 = true;
   o.fuse_ffma64 = true;

   o.lower_flrp16 = true;
   o.lower_flrp32 = true;
   o.lower_flrp64 = true;
   o.lower_fpow = true;
   o.lower_fsat = true;
   o.lower_fmod = true;
   o.lower_ffract = true;
   o.lower_fsign = true;
   o.lower_isign = true;
   o.lower_ldexp = true;
   o.lower_scmp = true;
   o.lower_fisnormal = true;
   o.lower_fquantize2f16 = true;
   /* minps and maxps return their second operand for zeros of either sign. */
   o.lower_fminmax_signed_zero = true;

   /* LLVM has ctlz, cttz, ctpop and bitreverse, and saturating addition and subtraction. */
   o.lower_bitfield_extract = true;
   o.lower_bitfield_insert = true;
   o.lower_ifind_msb = true;
   o.lower_uadd_carry = true;
   o.lower_usub_borrow = true;
   o.lower_hadd = true;
   /* The high half of a 64-bit product would need 128 bits. */
   o.lower_int64_options = nir_lower_imul_high64;

   o.lower_pack_half_2x16 = true;
   o.lower_pack_unorm_2x16 = true;
   o.lower_pack_snorm_2x16 = true;
   o.lower_pack_unorm_4x8 = true;
   o.lower_pack_snorm_4x8 = true;
   o.lower_pack_64_2x32 = true;
   o.lower_pack_64_4x16 = true;
   o.lower_pack_32_2x16 = true;
   o.lower_pack_64_2x32_split = true;
   o.lower_pack_32_2x16_split = true;
   o.lower_pack_split = true;
   o.lower_unpack_half_2x16 = true;
   o.lower_unpack_unorm_2x16 = true;
   o.lower_unpack_snorm_2x16 = true;
   o.lower_unpack_unorm_4x8 = true;
   o.lower_unpack_snorm_4x8 = true;
   o.lower_unpack_64_2x32_split = true;
   o.lower_unpack_32_2x16_split = true;
   o.lower_extract_byte = true;
   o.lower_extract_word = true;
   o.lower_insert_byte = true;
   o.lower_insert_word = true;

   o.has_sdot_4x8 = o.has_sdot_4x8_sat = true;
   o.has_udot_4x8 = o.has_udot_4x8_sat = true;
   o.has_sudot_4x8 = o.has_sudot_4x8_sat = true;

   o.support_8bit_alu = true;
   o.support_16bit_alu = true;
   o.lower_device_index_to_zero = true;

   /* Unrolling pays if arrays with dynamic indices become values; further unrolling only costs
    * compile time. */
   o.max_unroll_iterations = 16;
   return o;
}

nir_shader_compiler_options make_spirv_compiler_options()
{
   nir_shader_compiler_options o = make_llvm_compiler_options();

   /* The driver decides about fusion; fused operations of the shader exist at every size. */
   o.fuse_ffma32 = false;
   o.fuse_ffma64 = false;

   o.lower_fpow = false;
   o.lower_fminmax_signed_zero = false;
   o.lower_iadd_sat = true;
   o.lower_uadd_sat = true;
   o.lower_usub_sat = true;
   o.lower_mul_2x32_64 = true;
   /* Vulkan counts and searches bits in 32 bits only. */
   o.lower_int64_options = nir_lower_int64_options(nir_lower_imul_high64 | nir_lower_bit_count64 |
                                                   nir_lower_ufind_msb64 | nir_lower_find_lsb64);

   /* SPIR-V has bit casts of vectors, and GLSL.std.450's packing. */
   o.lower_pack_half_2x16 = false;
   o.lower_pack_64_2x32 = false;
   o.lower_pack_64_4x16 = false;
   o.lower_pack_32_2x16 = false;
   o.lower_pack_64_2x32_split = false;
   o.lower_pack_32_2x16_split = false;
   o.lower_pack_split = false;
   o.lower_unpack_half_2x16 = false;
   o.lower_unpack_64_2x32_split = false;
   o.lower_unpack_32_2x16_split = false;

   /* Dot products without saturation are SPIR-V's own; a shader that uses them requires the
    * driver's feature. */
   o.has_sdot_4x8_sat = false;
   o.has_udot_4x8_sat = false;
   o.has_sudot_4x8_sat = false;

   o.has_cs_global_id = true;
   /* The shader may run on any device of a group. */
   o.lower_device_index_to_zero = false;
   return o;
}

} // namespace

const nir_shader_compiler_options spirv_compiler_options = make_spirv_compiler_options();
const nir_shader_compiler_options llvm_compiler_options = make_llvm_compiler_options();

} // namespace weft
