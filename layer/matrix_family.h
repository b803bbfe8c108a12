/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 *
 * What the layer makes of each extension of cooperative matrices on a device, and why it makes nothing
 * of one: a command of the layer's own, for tools such as weft-run.  vkGetInstanceProcAddr gives it where
 * the layer is on, and null elsewhere.  C, so that programs of any kind may include it.
 */

#pragma once

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum WeftMatrixSupport {
   WEFT_MATRIX_SUPPORT_MISSING = 0,  /* neither driver nor layer: `reason` says why */
   WEFT_MATRIX_SUPPORT_NATIVE = 1,   /* the driver; the layer steps aside */
   WEFT_MATRIX_SUPPORT_EXTENDED = 2, /* the driver, and the layer adds operations */
   WEFT_MATRIX_SUPPORT_LOWERED = 3,  /* the layer alone */
} WeftMatrixSupport;

typedef struct WeftMatrixExtension {
   char extensionName[VK_MAX_EXTENSION_NAME_SIZE];
   WeftMatrixSupport support;
   char reason[VK_MAX_DESCRIPTION_SIZE]; /* empty unless it is missing */
} WeftMatrixExtension;

/* By Vulkan's rule for arrays: without pExtensions the count alone; VK_INCOMPLETE where too few fit. */
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceMatrixExtensionsWEFT)(
   VkPhysicalDevice physicalDevice, uint32_t *pExtensionCount, WeftMatrixExtension *pExtensions);

#ifdef __cplusplus
}
#endif
