/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 *
 * The layer's own commands, for tools such as weft-run.  vkGetInstanceProcAddr returns them if the
 * layer is active, and null otherwise.  C, so that any program may include the file.
 */

#pragma once

#include <stddef.h>
#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum WeftMatrixSupport {
   WEFT_MATRIX_SUPPORT_MISSING = 0,  /* neither driver nor layer: see `reason` */
   WEFT_MATRIX_SUPPORT_NATIVE = 1,   /* the driver; the layer does nothing */
   WEFT_MATRIX_SUPPORT_EXTENDED = 2, /* the driver, and the layer adds operations */
   WEFT_MATRIX_SUPPORT_LOWERED = 3,  /* the layer alone */
} WeftMatrixSupport;

typedef struct WeftMatrixExtension {
   char extensionName[VK_MAX_EXTENSION_NAME_SIZE];
   WeftMatrixSupport support;
   char reason[VK_MAX_DESCRIPTION_SIZE]; /* empty unless it is missing */
} WeftMatrixExtension;

/* The state of each extension of cooperative matrices, by Vulkan's rule for arrays: without
 * pExtensions only the count; VK_INCOMPLETE if the array is too small. */
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceMatrixExtensionsWEFT)(
   VkPhysicalDevice physicalDevice, uint32_t *pExtensionCount, WeftMatrixExtension *pExtensions);

/* The driver's capabilities as JSON (weftc --driver), by Vulkan's rule for byte arrays: without
 * pReport only the size, with the terminating zero; VK_INCOMPLETE if the array is too small. */
typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceDriverReportWEFT)(
   VkPhysicalDevice physicalDevice, size_t *pReportSize, char *pReport);

#ifdef __cplusplus
}
#endif
