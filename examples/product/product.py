# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Multiplies a tile of matrices on the first device that has VK_KHR_cooperative_matrix, with no
package but Python's own.

   python3 product.py MODULE.spv             MODULE: product.comp, compiled
"""

import ctypes
import pathlib
import struct
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint32, c_uint64
from ctypes import c_void_p, cast, pointer, sizeof

SIZE = 16  # rows and columns
PART = 4096  # bytes between A, B and C
API_VERSION = 1 << 22 | 3 << 12
EXTENSION = b'VK_KHR_cooperative_matrix'
FLOAT16, FLOAT32 = 0, 1  # VkComponentTypeKHR
STORAGE_BUFFER, COMPUTE, HOST_VISIBLE_COHERENT = 7, 0x20, 2 | 4

vulkan = ctypes.CDLL('libvulkan.so.1')


def structure(name, *fields):
    """A structure of Vulkan's whose fields are given as (name, type)."""
    return type(name, (ctypes.Structure,), {'_fields_': list(fields)})


def tagged(name, number, *fields):
    """The same with sType, which is `number`, and pNext in front."""
    tag = [('sType', c_int), ('pNext', c_void_p)]

    def init(self, **values):
        ctypes.Structure.__init__(self, sType=number, **values)
    return type(name, (ctypes.Structure,), {'_fields_': tag + list(fields), '__init__': init})


def words(*names):
    return [(name, c_uint32) for name in names]


ApplicationInfo = tagged('ApplicationInfo', 0, ('name', c_char_p), ('version', c_uint32),
                         ('engine', c_char_p), *words('engineVersion', 'apiVersion'))
InstanceCreateInfo = tagged(
    'InstanceCreateInfo', 1, ('flags', c_uint32), ('application', POINTER(ApplicationInfo)),
    ('layerCount', c_uint32), ('layers', c_void_p), ('extensionCount', c_uint32),
    ('extensions', c_void_p))
ExtensionProperties = structure('ExtensionProperties', ('name', c_char * 256), ('version', c_uint32))
CooperativeMatrixProperties = tagged(
    'CooperativeMatrixProperties', 1000506001, *words('m', 'n', 'k', 'a', 'b', 'c', 'result',
                                                      'saturating', 'scope'))
SubgroupProperties = tagged('SubgroupProperties', 1000094000,
                            *words('size', 'stages', 'operations', 'quads'))
# Only the name of the device's own properties is read.
Properties2 = tagged('Properties2', 1000059001, *words('api', 'driver', 'vendor', 'device', 'type'),
                     ('name', c_char * 256), ('rest', c_uint64 * 128))
QueueCreateInfo = tagged('QueueCreateInfo', 2, *words('flags', 'family', 'count'),
                         ('priorities', POINTER(c_float)))
CooperativeMatrixFeatures = tagged('CooperativeMatrixFeatures', 1000506000,
                                   *words('cooperativeMatrix', 'robust'))
Float16Features = tagged('Float16Features', 1000082000, *words('float16', 'int8'))
Storage16Features = tagged('Storage16Features', 1000083000,
                           *words('storageBuffer', 'uniform', 'push', 'inputOutput'))
MemoryModelFeatures = tagged('MemoryModelFeatures', 1000211000,
                             *words('model', 'deviceScope', 'chains'))
DeviceCreateInfo = tagged(
    'DeviceCreateInfo', 3, ('flags', c_uint32), ('queueCount', c_uint32),
    ('queues', POINTER(QueueCreateInfo)), ('layerCount', c_uint32), ('layers', c_void_p),
    ('extensionCount', c_uint32), ('extensions', POINTER(c_char_p)), ('features', c_void_p))
BufferCreateInfo = tagged('BufferCreateInfo', 12, ('flags', c_uint32), ('size', c_uint64),
                          *words('usage', 'sharing', 'familyCount'), ('families', c_void_p))
MemoryRequirements = structure('MemoryRequirements', ('size', c_uint64), ('alignment', c_uint64),
                               ('types', c_uint32))
MemoryType = structure('MemoryType', *words('flags', 'heap'))
MemoryProperties = structure('MemoryProperties', ('count', c_uint32), ('types', MemoryType * 32),
                             ('rest', c_uint64 * 34))
MemoryAllocateInfo = tagged('MemoryAllocateInfo', 5, ('size', c_uint64), ('type', c_uint32))
LayoutBinding = structure('LayoutBinding', *words('binding', 'type', 'count', 'stages'),
                          ('samplers', c_void_p))
SetLayoutCreateInfo = tagged('SetLayoutCreateInfo', 32, *words('flags', 'count'),
                             ('bindings', POINTER(LayoutBinding)))
PipelineLayoutCreateInfo = tagged(
    'PipelineLayoutCreateInfo', 30, *words('flags', 'setCount'), ('sets', POINTER(c_uint64)),
    ('rangeCount', c_uint32), ('ranges', c_void_p))
ShaderModuleCreateInfo = tagged('ShaderModuleCreateInfo', 16, ('flags', c_uint32),
                                ('size', c_size_t), ('code', c_char_p))
MapEntry = structure('MapEntry', *words('id', 'offset'), ('size', c_size_t))
SpecializationInfo = structure('SpecializationInfo', ('count', c_uint32),
                               ('entries', POINTER(MapEntry)), ('size', c_size_t),
                               ('data', POINTER(c_uint32)))
StageCreateInfo = tagged('StageCreateInfo', 18, *words('flags', 'stage'), ('module', c_uint64),
                         ('name', c_char_p), ('specialization', POINTER(SpecializationInfo)))
ComputePipelineCreateInfo = tagged('ComputePipelineCreateInfo', 29, ('flags', c_uint32),
                                   ('stage', StageCreateInfo), ('layout', c_uint64),
                                   ('base', c_uint64), ('baseIndex', c_int))
PoolSize = structure('PoolSize', *words('type', 'count'))
DescriptorPoolCreateInfo = tagged('DescriptorPoolCreateInfo', 33,
                                  *words('flags', 'maxSets', 'count'), ('sizes', POINTER(PoolSize)))
SetAllocateInfo = tagged('SetAllocateInfo', 34, ('pool', c_uint64), ('count', c_uint32),
                         ('layouts', POINTER(c_uint64)))
BufferInfo = structure('BufferInfo', ('buffer', c_uint64), ('offset', c_uint64),
                       ('range', c_uint64))
WriteDescriptorSet = tagged(
    'WriteDescriptorSet', 35, ('set', c_uint64), *words('binding', 'element', 'count', 'type'),
    ('images', c_void_p), ('buffers', POINTER(BufferInfo)), ('views', c_void_p))
CommandPoolCreateInfo = tagged('CommandPoolCreateInfo', 39, *words('flags', 'family'))
CommandBufferAllocateInfo = tagged('CommandBufferAllocateInfo', 40, ('pool', c_uint64),
                                   *words('level', 'count'))
CommandBufferBeginInfo = tagged('CommandBufferBeginInfo', 42, ('flags', c_uint32),
                                ('inheritance', c_void_p))
MemoryBarrier = tagged('MemoryBarrier', 46, *words('source', 'destination'))
SubmitInfo = tagged('SubmitInfo', 4, ('waitCount', c_uint32), ('waits', c_void_p),
                    ('stages', c_void_p), ('count', c_uint32), ('buffers', POINTER(c_void_p)),
                    ('signalCount', c_uint32), ('signals', c_void_p))


def call(name, *arguments):
    result = getattr(vulkan, name)(*arguments)
    if result != 0:
        sys.exit(f'product.py: {name} gave {result}')


def create(name, device, info):
    handle = c_uint64()
    call(name, device, byref(info), None, byref(handle))
    return handle


def enumerate_all(function, kind, *arguments):
    count = c_uint32()
    function(*arguments, byref(count), None)
    found = (kind * count.value)(*[kind() for _ in range(count.value)])
    function(*arguments, byref(count), found)
    return list(found)


def has_matrices(instance, device):
    extensions = enumerate_all(vulkan.vkEnumerateDeviceExtensionProperties, ExtensionProperties,
                               device, None)
    if EXTENSION not in [e.name for e in extensions]:
        return False
    find = vulkan.vkGetInstanceProcAddr
    find.restype = c_void_p
    function = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)(
        find(instance, b'vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR'))
    return any((o.m, o.n, o.k, o.a, o.b, o.c, o.result) ==
               (SIZE, SIZE, SIZE, FLOAT16, FLOAT16, FLOAT32, FLOAT32)
               for o in enumerate_all(function, CooperativeMatrixProperties, device))


def chain(*structures):
    """Links the structures by pNext; the first of them."""
    for first, second in zip(structures, structures[1:]):
        first.pNext = cast(pointer(second), c_void_p)
    return structures[0]


def main(module):
    instance = c_void_p()
    application = ApplicationInfo(apiVersion=API_VERSION)
    call('vkCreateInstance', byref(InstanceCreateInfo(application=pointer(application))), None,
         byref(instance))
    devices = [c_void_p(d) for d in
               enumerate_all(vulkan.vkEnumeratePhysicalDevices, c_void_p, instance)]
    physical = next((d for d in devices if has_matrices(instance, d)), None)
    if not physical:
        sys.exit('product.py: no device has the matrices that the shader needs')
    subgroup = SubgroupProperties()
    properties = chain(Properties2(), subgroup)
    vulkan.vkGetPhysicalDeviceProperties2(physical, byref(properties))

    queue_info = QueueCreateInfo(count=1, priorities=pointer(c_float(1)))
    device_info = chain(
        DeviceCreateInfo(queueCount=1, queues=pointer(queue_info), extensionCount=1,
                         extensions=pointer(c_char_p(EXTENSION))),
        CooperativeMatrixFeatures(cooperativeMatrix=1), Float16Features(float16=1),
        Storage16Features(storageBuffer=1), MemoryModelFeatures(model=1))
    device = c_void_p()
    call('vkCreateDevice', physical, byref(device_info), None, byref(device))
    queue = c_void_p()
    vulkan.vkGetDeviceQueue(device, 0, 0, byref(queue))

    # A, B and C lie in one buffer.
    buffer = create('vkCreateBuffer', device, BufferCreateInfo(size=3 * PART, usage=0x20))
    needs = MemoryRequirements()
    vulkan.vkGetBufferMemoryRequirements(device, buffer, byref(needs))
    memories = MemoryProperties()
    vulkan.vkGetPhysicalDeviceMemoryProperties(physical, byref(memories))
    kind = next(i for i in range(memories.count) if needs.types >> i & 1 and
                memories.types[i].flags & HOST_VISIBLE_COHERENT == HOST_VISIBLE_COHERENT)
    memory = create('vkAllocateMemory', device, MemoryAllocateInfo(size=needs.size, type=kind))
    call('vkBindBufferMemory', device, buffer, memory, c_uint64(0))
    mapped = c_void_p()
    call('vkMapMemory', device, memory, c_uint64(0), c_uint64(2**64 - 1), 0, byref(mapped))
    count = SIZE * SIZE
    a = [i * 7 % 23 - 11 for i in range(count)]
    b = [i * 5 % 19 - 9 for i in range(count)]
    for i, (letter, values) in enumerate((('e', a), ('e', b), ('f', range(count)))):
        data = struct.pack(f'{count}{letter}', *values)
        ctypes.memmove(mapped.value + i * PART, data, len(data))

    bindings = (LayoutBinding * 3)(*[
        LayoutBinding(binding=i, type=STORAGE_BUFFER, count=1, stages=COMPUTE) for i in range(3)])
    set_layout = create('vkCreateDescriptorSetLayout', device,
                        SetLayoutCreateInfo(count=3, bindings=bindings))
    layout = create('vkCreatePipelineLayout', device,
                    PipelineLayoutCreateInfo(setCount=1, sets=pointer(set_layout)))
    code = pathlib.Path(module).read_bytes()
    shader = create('vkCreateShaderModule', device,
                    ShaderModuleCreateInfo(size=len(code), code=code))
    entry = MapEntry(id=0, offset=0, size=4)
    specialization = SpecializationInfo(count=1, entries=pointer(entry), size=4,
                                        data=pointer(c_uint32(subgroup.size)))
    stage = StageCreateInfo(stage=COMPUTE, module=shader.value, name=b'main',
                            specialization=pointer(specialization))
    pipeline = c_uint64()
    call('vkCreateComputePipelines', device, c_uint64(0), 1,
         byref(ComputePipelineCreateInfo(stage=stage, layout=layout.value)), None, byref(pipeline))

    pool = create('vkCreateDescriptorPool', device, DescriptorPoolCreateInfo(
        maxSets=1, count=1, sizes=pointer(PoolSize(type=STORAGE_BUFFER, count=3))))
    descriptors = c_uint64()
    call('vkAllocateDescriptorSets', device,
         byref(SetAllocateInfo(pool=pool.value, count=1, layouts=pointer(set_layout))),
         byref(descriptors))
    for i in range(3):
        part = BufferInfo(buffer=buffer.value, offset=i * PART, range=PART)
        vulkan.vkUpdateDescriptorSets(device, 1, byref(WriteDescriptorSet(
            set=descriptors.value, binding=i, count=1, type=STORAGE_BUFFER,
            buffers=pointer(part))), 0, None)

    command_pool = create('vkCreateCommandPool', device, CommandPoolCreateInfo())
    commands = c_void_p()
    call('vkAllocateCommandBuffers', device,
         byref(CommandBufferAllocateInfo(pool=command_pool.value, count=1)), byref(commands))
    call('vkBeginCommandBuffer', commands, byref(CommandBufferBeginInfo()))
    vulkan.vkCmdBindPipeline(commands, 1, pipeline)
    vulkan.vkCmdBindDescriptorSets(commands, 1, layout, 0, 1, byref(descriptors), 0, None)
    vulkan.vkCmdDispatch(commands, 1, 1, 1)
    # The host reads the shader's writes.
    vulkan.vkCmdPipelineBarrier(commands, 0x800, 0x4000, 0, 1,
                                byref(MemoryBarrier(source=0x40, destination=0x2000)), 0, None, 0,
                                None)
    call('vkEndCommandBuffer', commands)
    call('vkQueueSubmit', queue, 1, byref(SubmitInfo(count=1, buffers=pointer(commands))),
         c_uint64(0))
    call('vkQueueWaitIdle', queue)

    product = struct.unpack(f'{count}f', ctypes.string_at(mapped.value + 2 * PART, count * 4))
    for i, got in enumerate(product):
        row, column = divmod(i, SIZE)
        expected = i + sum(a[row * SIZE + k] * b[k * SIZE + column] for k in range(SIZE))
        if got != expected:
            sys.exit(f'product.py: element {i} is {got} instead of {expected}')
    print(f'{properties.name.decode()}: {count} elements are right')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: product.py MODULE.spv')
    main(sys.argv[1])
