#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT

"""Prints all commands of Vulkan's core versions, from the registry, as C++ initializers of
CoreCommand (core_version_test.cc).

    tests/icd/core_commands_gen.py vk.xml > core_commands.inc
"""

import sys
import xml.etree.ElementTree as et

LEVELS = {'VkDevice': 'device', 'VkQueue': 'device', 'VkCommandBuffer': 'device',
          'VkInstance': 'instance', 'VkPhysicalDevice': 'instance'}


def main():
    root = et.parse(sys.argv[1]).getroot()
    first_parameter = {node.findtext('proto/name'): node.findtext('param/type')
                       for node in root.findall('commands/command') if node.find('proto') is not None}
    for feature in root.findall('feature'):
        if 'vulkan' not in feature.get('api').split(','):
            continue
        version = feature.get('number').replace('.', '_')
        for command in feature.findall('require/command'):
            name = command.get('name')
            level = LEVELS.get(first_parameter[name], 'none')
            # The answer for these two does not depend on the instance, or they are the question.
            if name not in ('vkGetInstanceProcAddr', 'vkEnumerateInstanceVersion'):
                print(f'{{"{name}", Level::{level}, VK_API_VERSION_{version}}},')


if __name__ == '__main__':
    main()
