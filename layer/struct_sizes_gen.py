#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

"""Computes the sizes of the structs that may be in the pNext chains that the layer copies, from
Vulkan's registry (vk.xml and video.xml). Writes them as struct_sizes.inc: sType, and size in bytes
for pointers of 8 bytes.

Take the newest registry. It need not match the headers that the layer is built with.

    layer/struct_sizes_gen.py vk.xml video.xml > layer/struct_sizes.inc
"""

import re
import sys
import xml.etree.ElementTree as et

# The structs whose chains are copied.
ROOTS = {'VkDeviceCreateInfo', 'VkPhysicalDeviceFeatures2', 'VkPipelineShaderStageCreateInfo',
         'VkComputePipelineCreateInfo'}

# Size and alignment, which are the same thing for all of C's own types.
SCALARS = {'char': 1, 'int8_t': 1, 'uint8_t': 1, 'int16_t': 2, 'uint16_t': 2, 'int': 4,
           'int32_t': 4, 'uint32_t': 4, 'float': 4, 'double': 8, 'int64_t': 8, 'uint64_t': 8,
           'size_t': 8, 'void': 0}
POINTER = 8


def is_vulkan(node, attribute):
    return 'vulkan' in node.get(attribute, 'vulkan').split(',')


class Registry:
    def __init__(self, files):
        self.types = {}
        self.values = {}
        for file in files:
            root = et.parse(file).getroot()
            for node in root.findall('./types/type'):
                if is_vulkan(node, 'api'):
                    self.types.setdefault(node.get('name') or node.findtext('name'), node)
            self.add_values(root)

    def add_values(self, root):
        for block in root.findall('./enums'):
            for node in block.findall('./enum[@value]'):
                self.values[node.get('name')] = node.get('value')
            for node in block.findall('./enum[@alias]'):
                self.values.setdefault(node.get('name'), node.get('alias'))
        for part in root.findall('./feature') + root.findall('./extensions/extension'):
            for node in part.findall('./require/enum'):
                if node.get('offset'):
                    number = int(node.get('extnumber') or part.get('number'))
                    value = 1000000000 + (number - 1) * 1000 + int(node.get('offset'))
                    self.values[node.get('name')] = str(-value if node.get('dir') else value)
                elif node.get('value'):
                    self.values[node.get('name')] = node.get('value')
                elif node.get('alias'):
                    self.values.setdefault(node.get('name'), node.get('alias'))

    def value(self, name):
        text = self.values[name]
        while text in self.values:
            text = self.values[text]
        return int(re.fullmatch(r'\(?~?(\d+)U?L*\)?', text).group(1), 0)

    def layout(self, name):
        """Size and alignment of a type."""
        if name in SCALARS:
            return SCALARS[name], SCALARS[name]
        if name.startswith('PFN_'):
            return POINTER, POINTER
        node = self.types[name]
        if node.get('alias'):
            return self.layout(node.get('alias'))
        category = node.get('category')
        if category == 'enum':
            bits = 8 if self.is_wide(name) else 4
            return bits, bits
        if category in ('bitmask', 'basetype'):
            return self.layout(node.findtext('type'))
        if category == 'handle':
            return POINTER, POINTER
        if category == 'union':
            members = [self.member(m) for m in node.findall('./member')]
            alignment = max(m[1] for m in members)
            return round_up(max(m[0] for m in members), alignment), alignment
        assert category == 'struct', f'{name} is a {category}'
        return self.struct(node)

    def is_wide(self, name):
        node = self.types[name]
        return node.get('bitwidth') == '64' or '64' in (node.get('requires') or '')

    def member(self, node):
        """Size, alignment and bits, if it is a bit field."""
        text = ''.join(node.itertext()).split('/')[0]
        size, alignment = self.layout(node.findtext('type')) if '*' not in text else (POINTER,) * 2
        lengths = re.findall(r'\[(\w+)\]', re.sub(r'\s', '', text))
        for length in lengths:
            size *= int(length) if length.isdigit() else self.value(length)
        bits = re.match(r'\s*:(\d+)', node.find('name').tail or '')
        return size, alignment, int(bits.group(1)) if bits else None

    def struct(self, node):
        at, largest, free_bits = 0, 1, 0
        for m in node.findall('./member'):
            if not is_vulkan(m, 'api'):
                continue
            size, alignment, bits = self.member(m)
            largest = max(largest, alignment)
            if bits is not None and bits <= free_bits:
                free_bits -= bits
                continue
            free_bits = 8 * size - bits if bits is not None else 0
            at = round_up(at, alignment) + size
        return round_up(at, largest), largest


def round_up(number, to):
    return -(-number // to) * to


def main(*files):
    registry = Registry(files)
    sizes = {}
    for name, node in registry.types.items():
        if (node.get('category') != 'struct' or node.get('alias')
                or not ROOTS & set(node.get('structextends', '').split(','))):
            continue
        for member in node.findall('./member'):
            if member.findtext('name') == 'sType' and member.get('values') in registry.values:
                sizes[registry.value(member.get('values'))] = registry.struct(node)[0]
    version = registry.types['VK_HEADER_VERSION'].find('name').tail.strip()
    print('/* Written by struct_sizes_gen.py from the registry of Vulkan 1.4.%s: data only.  */'
          % version)
    line = ''
    for stype, size in sorted(sizes.items()):
        entry = '{%d, %d},' % (stype, size)
        if len(line) + 1 + len(entry) > 100:
            print(line)
            line = ''
        line += (' ' if line else '') + entry
    print(line)


main(*sys.argv[1:])
