// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sparse buffers and images (Vulkan, "Sparse Resources"). A sparse resource is a range of
/// addresses. The queue gives its pages the content of device memory:
///
///    addresses   │ A: pages 0, 1 │ unbound │ B: page 7 │ A: page 0 │
///
/// The kernel gives a second address to pages of shared mappings only (mremap). So sparse resources
/// have a memory type of their own: shared mappings, which have no huge pages by default and are
/// slower to touch. Unbound parts are pages of their own, because sparseResidencyBuffer lets
/// shaders access them.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

struct vk_queue_submit;

namespace weft {

constexpr VkBufferCreateFlags sparse_buffer_flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
                                                    VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT |
                                                    VK_BUFFER_CREATE_SPARSE_ALIASED_BIT;
constexpr VkImageCreateFlags sparse_image_flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT |
                                                  VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT |
                                                  VK_IMAGE_CREATE_SPARSE_ALIASED_BIT;

/// VkPhysicalDeviceLimits::sparseAddressSpaceSize; processes have 2^47 bytes of addresses.
constexpr uint64_t sparse_addresses = uint64_t(1) << 44;

/// The addresses of a resource, of which no page is bound. They can be captured and replayed if the
/// resource is created for that; `next` is the chain of its creation.
VkResult reserve_sparse(uint64_t size, bool may_be_replayed, const void *next, uint8_t **out);
void release_sparse(uint8_t *start, uint64_t size);

struct SparseBind {
   uint8_t *at;
   uint64_t size;
   uint8_t *pages; ///< null: the part becomes unbound
};

uint32_t count_sparse_binds(const vk_queue_submit *);
/// Writes as many.
void resolve_sparse_binds(const vk_queue_submit *, SparseBind *);
/// False if the kernel refuses: too many mappings, or memory that is not a shared mapping.
bool bind_sparse(const SparseBind &);

} // namespace weft
