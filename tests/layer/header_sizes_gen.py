# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

"""Writes header_sizes: the compiler's sizes of the structs of layer/struct_sizes_gen.py that the
headers have. Reads the registry (vk.xml) of these headers."""

import sys
import xml.etree.ElementTree as et

# The structs whose chains are copied.
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
        out.write('#include "tests/layer/header_sizes.h"\n\n'
                  'namespace weft::layer_test {\n\n'
                  'const std::vector<HeaderSize> header_sizes = {\n')
        for stype, name in sorted(cases.items()):
            out.write(f'   {{{stype}, sizeof({name}), "{name}"}},\n')
        out.write('};\n\n} // namespace weft::layer_test\n')


main(*sys.argv[1:])
