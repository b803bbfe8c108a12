# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

"""Writes struct_size(): the sizes of the structs that may stand in the pNext chains that the layer
copies, from Vulkan's registry (vk.xml)."""

import sys
import xml.etree.ElementTree as et

# Whose chains are copied.
ROOTS = {'VkDeviceCreateInfo', 'VkPhysicalDeviceFeatures2', 'VkPipelineShaderStageCreateInfo',
         'VkComputePipelineCreateInfo'}


def is_vulkan(node, attribute):
    return 'vulkan' in node.get(attribute, 'vulkan').split(',')


def declared_types(registry):
    """The names of types that <vulkan/vulkan_core.h> declares."""
    parts = [f for f in registry.findall('./feature') if is_vulkan(f, 'api')]
    parts += [e for e in registry.findall('./extensions/extension')
              if is_vulkan(e, 'supported') and not e.get('platform')]
    return {t.get('name') for part in parts for require in part.findall('./require')
            if is_vulkan(require, 'api') for t in require.findall('./type')}


def main(xml, output):
    registry = et.parse(xml).getroot()
    declared = declared_types(registry)
    cases = {}
    for node in registry.findall('./types/type[@category="struct"]'):
        if (node.get('name') not in declared or not is_vulkan(node, 'api')
                or not ROOTS & set(node.get('structextends', '').split(','))):
            continue
        for member in node.findall('./member'):
            if member.findtext('name') == 'sType':
                cases[member.get('values')] = node.get('name')
    with open(output, 'w', encoding='utf-8') as out:
        out.write('#include "layer/struct_chain.h"\n\n'
                  'namespace weft::layer {\n\n'
                  'size_t struct_size(VkStructureType type)\n{\n   switch (type) {\n')
        for stype, name in sorted(cases.items()):
            out.write(f'   case {stype}: return sizeof({name});\n')
        out.write('   default: return 0;\n   }\n}\n\n} // namespace weft::layer\n')


main(*sys.argv[1:])
