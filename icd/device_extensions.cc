// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The device extensions. Extensions that became part of Vulkan 1.1 to 1.4 are listed too, because
/// programs search for the names.

#include "icd/physical_device.h"
#include "icd/settings.h"

#include "backend/cpu/compiler.h"

namespace weft {

void get_device_extensions(vk_device_extension_table *e)
{
   // Vulkan 1.1
   e->KHR_16bit_storage = true;
   e->KHR_bind_memory2 = true;
   e->KHR_dedicated_allocation = true;
   e->KHR_descriptor_update_template = true;
   e->KHR_device_group = true;
   e->KHR_external_fence = true;
   e->KHR_external_memory = true;
   e->KHR_external_semaphore = true;
   e->KHR_get_memory_requirements2 = true;
   e->KHR_maintenance1 = true;
   e->KHR_maintenance2 = true;
   e->KHR_maintenance3 = true;
   e->KHR_relaxed_block_layout = true;
   e->KHR_sampler_ycbcr_conversion = true;
   e->KHR_shader_draw_parameters = settings().graphics_queue;
   e->KHR_storage_buffer_storage_class = true;
   e->KHR_variable_pointers = true;

   // Vulkan 1.2
   e->KHR_8bit_storage = true;
   e->KHR_buffer_device_address = true;
   e->KHR_create_renderpass2 = true;
   e->KHR_depth_stencil_resolve = true;
   e->KHR_driver_properties = true;
   e->KHR_image_format_list = true;
   e->KHR_imageless_framebuffer = true;
   e->KHR_sampler_mirror_clamp_to_edge = true;
   e->KHR_separate_depth_stencil_layouts = true;
   e->KHR_shader_atomic_int64 = true;
   e->KHR_shader_float16_int8 = true;
   e->KHR_shader_float_controls = true;
   e->KHR_shader_subgroup_extended_types = true;
   e->KHR_spirv_1_4 = true;
   e->KHR_timeline_semaphore = true;
   e->KHR_uniform_buffer_standard_layout = true;
   e->KHR_vulkan_memory_model = true;
   e->EXT_descriptor_indexing = true;
   e->EXT_host_query_reset = true;
   e->EXT_sampler_filter_minmax = true;
   e->EXT_scalar_block_layout = true;

   // Vulkan 1.3
   e->KHR_copy_commands2 = true;
   e->KHR_dynamic_rendering = true;
   e->KHR_format_feature_flags2 = true;
   e->KHR_maintenance4 = true;
   e->KHR_shader_integer_dot_product = true;
   e->KHR_shader_non_semantic_info = true;
   e->KHR_shader_terminate_invocation = true;
   e->KHR_synchronization2 = true;
   e->KHR_zero_initialize_workgroup_memory = true;
   e->EXT_image_robustness = true;
   e->EXT_inline_uniform_block = true;
   e->EXT_pipeline_creation_cache_control = true;
   e->EXT_pipeline_creation_feedback = true;
   e->EXT_private_data = true;
   e->EXT_shader_demote_to_helper_invocation = true;
   e->EXT_subgroup_size_control = !settings().hides_subgroup_sizes;
   e->EXT_texel_buffer_alignment = true;
   e->EXT_tooling_info = true;

   // Vulkan 1.4
   e->KHR_dynamic_rendering_local_read = true;
   e->KHR_global_priority = true;
   e->KHR_index_type_uint8 = true;
   e->KHR_line_rasterization = true;
   e->KHR_load_store_op_none = true;
   e->KHR_map_memory2 = true;
   e->KHR_maintenance5 = true;
   e->KHR_maintenance6 = true;
   e->KHR_push_descriptor = true;
   e->KHR_shader_expect_assume = true;
   e->KHR_shader_float_controls2 = true;
   e->KHR_shader_subgroup_rotate = true;
   e->KHR_vertex_attribute_divisor = true;
   e->EXT_global_priority = true;
   e->EXT_global_priority_query = true;
   e->EXT_host_image_copy = true;
   e->EXT_pipeline_robustness = true;

   // Extensions that are not part of Vulkan 1.4
   e->KHR_calibrated_timestamps = true;
   e->KHR_copy_memory_indirect = true;
   e->KHR_cooperative_matrix =
      advertises_matrix_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   e->NV_cooperative_matrix = advertises_matrix_extension(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
   e->NV_cooperative_matrix2 =
      advertises_matrix_extension(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   e->NV_shader_subgroup_partitioned = true;
   e->NV_cooperative_matrix_decode_vector =
      advertises_matrix_extension(VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME);
   e->EXT_cooperative_matrix_maintenance1 =
      advertises_matrix_extension(VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME);
   e->QCOM_cooperative_matrix_conversion =
      advertises_matrix_extension(VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME);
   e->ARM_cooperative_matrix_layouts =
      advertises_matrix_extension(VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME);
   e->KHR_compute_shader_derivatives = true;
   e->KHR_external_fence_fd = true;
   e->KHR_external_memory_fd = true;
   e->KHR_external_semaphore_fd = true;
   e->KHR_pipeline_binary = true;
   e->KHR_pipeline_executable_properties = true;
   e->KHR_maintenance7 = true;
   e->KHR_maintenance8 = true;
   e->KHR_maintenance9 = true;
   e->KHR_maintenance10 = true;
   e->KHR_robustness2 = true;
   e->KHR_shader_bfloat16 = advertises_matrices_of(ComponentType::bf16);
   e->KHR_shader_clock = true;
   e->KHR_shader_maximal_reconvergence = true;
   e->KHR_shader_quad_control = true;
   e->KHR_shader_relaxed_extended_instruction = true;
   e->KHR_shader_subgroup_uniform_control_flow = true;
   e->KHR_unified_image_layouts = true;
   e->KHR_workgroup_memory_explicit_layout = true;
   e->EXT_4444_formats = true;
   e->EXT_border_color_swizzle = true;
   e->EXT_calibrated_timestamps = true;
   e->EXT_conditional_rendering = true;
   e->EXT_custom_border_color = true;
   e->EXT_descriptor_buffer = true;
   e->EXT_device_generated_commands = true;
   e->EXT_external_memory_host = true;
   e->EXT_image_2d_view_of_3d = true;
   e->EXT_image_sliced_view_of_3d = true;
   e->EXT_shader_object = true;
   e->EXT_shader_replicated_composites = true;
   e->EXT_shader_subgroup_ballot = true;
   e->EXT_shader_subgroup_vote = true;
   e->EXT_shader_float8 = advertises_matrices_of(ComponentType::e4m3);
   e->EXT_memory_budget = true;
   e->EXT_memory_priority = true;
   e->EXT_mutable_descriptor_type = true;
   e->EXT_nested_command_buffer = true;
   e->EXT_non_seamless_cube_map = true;
   e->EXT_pageable_device_local_memory = true;
   e->EXT_queue_family_foreign = true;
   e->EXT_robustness2 = true;
   e->EXT_shader_atomic_float = true;
   e->EXT_shader_atomic_float2 = true;
   e->EXT_shader_image_atomic_int64 = true;
   e->EXT_ycbcr_image_arrays = true;
   e->EXT_zero_initialize_device_memory = true;
   e->GOOGLE_decorate_string = true;
   e->GOOGLE_hlsl_functionality1 = true;
   e->GOOGLE_user_type = true;
   e->VALVE_mutable_descriptor_type = true;
}

} // namespace weft
