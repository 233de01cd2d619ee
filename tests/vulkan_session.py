"""A session with graphics on a real OpenXR runtime: Vulkan, with just the structures that it takes to begin one.

Nothing is rendered: frames are submitted without layers. Field names and values are those of vulkan_core.h.
"""

import ctypes
import ctypes.util
import sys

import pytest
import xr

from openxr_agentic import loader

VULKAN_1_1 = 1 << 22 | 1 << 12
GRAPHICS_BIT = 1


class ApplicationInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("pApplicationName", ctypes.c_char_p),
        ("applicationVersion", ctypes.c_uint32),
        ("pEngineName", ctypes.c_char_p),
        ("engineVersion", ctypes.c_uint32),
        ("apiVersion", ctypes.c_uint32),
    ]


class InstanceCreateInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("pApplicationInfo", ctypes.POINTER(ApplicationInfo)),
        ("enabledLayerCount", ctypes.c_uint32),
        ("ppEnabledLayerNames", ctypes.c_void_p),
        ("enabledExtensionCount", ctypes.c_uint32),
        ("ppEnabledExtensionNames", ctypes.c_void_p),
    ]


class QueueCreateInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("queueFamilyIndex", ctypes.c_uint32),
        ("queueCount", ctypes.c_uint32),
        ("pQueuePriorities", ctypes.POINTER(ctypes.c_float)),
    ]


class DeviceCreateInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("queueCreateInfoCount", ctypes.c_uint32),
        ("pQueueCreateInfos", ctypes.POINTER(QueueCreateInfo)),
        ("enabledLayerCount", ctypes.c_uint32),
        ("ppEnabledLayerNames", ctypes.c_void_p),
        ("enabledExtensionCount", ctypes.c_uint32),
        ("ppEnabledExtensionNames", ctypes.c_void_p),
        ("pEnabledFeatures", ctypes.c_void_p),
    ]


class QueueFamily(ctypes.Structure):
    _fields_ = [
        ("queueFlags", ctypes.c_uint32),
        ("queueCount", ctypes.c_uint32),
        ("timestampValidBits", ctypes.c_uint32),
        ("minImageTransferGranularity", ctypes.c_uint32 * 3),
    ]


def extension():
    """The extension that an instance needs for it; skips where the active runtime has none."""
    name = "XR_KHR_vulkan_enable2"
    if sys.platform != "linux" or name not in loader.instance_extensions(loader.load().get_instance_proc_addr):
        pytest.skip(f"the active runtime has no {name}, by which these tests make a session with frames")
    return name


def create_session(instance, system):
    """Create a session with a Vulkan device of its own, which lives until the process ends."""
    from xr.platform import linux  # only there

    def call(name, prototype, *arguments):
        address = ctypes.cast(xr.get_instance_proc_addr(instance, name), ctypes.c_void_p).value
        assert prototype(address)(instance, *arguments) == xr.Result.SUCCESS, name

    vulkan = ctypes.CDLL(ctypes.util.find_library("vulkan") or "libvulkan.so.1")
    look_up = linux.PFN_vkGetInstanceProcAddr(ctypes.cast(vulkan.vkGetInstanceProcAddr, ctypes.c_void_p).value)
    result = ctypes.c_int()

    requirements = linux.GraphicsRequirementsVulkanKHR()
    prototype = linux.PFN_xrGetVulkanGraphicsRequirementsKHR
    call("xrGetVulkanGraphicsRequirements2KHR", prototype, system, ctypes.byref(requirements))

    application = ApplicationInfo(0, None, b"test", 1, None, 0, VULKAN_1_1)
    info = InstanceCreateInfo(1, None, 0, ctypes.pointer(application))
    wanted = linux.VulkanInstanceCreateInfoKHR(
        system_id=system,
        pfn_get_instance_proc_addr=look_up,
        vulkan_create_info=ctypes.cast(ctypes.pointer(info), ctypes.POINTER(linux.VkInstanceCreateInfo)),
    )
    made = linux.VkInstance()
    prototype = linux.PFN_xrCreateVulkanInstanceKHR
    call("xrCreateVulkanInstanceKHR", prototype, wanted, ctypes.byref(made), ctypes.byref(result))
    assert result.value == 0

    physical = linux.VkPhysicalDevice()
    wanted = linux.VulkanGraphicsDeviceGetInfoKHR(system, made)
    prototype = linux.PFN_xrGetVulkanGraphicsDevice2KHR
    call("xrGetVulkanGraphicsDevice2KHR", prototype, wanted, ctypes.byref(physical))

    family = graphics_family(vulkan, physical)
    queue = QueueCreateInfo(2, None, 0, family, 1, (ctypes.c_float * 1)(1.0))
    info = DeviceCreateInfo(3, None, 0, 1, ctypes.pointer(queue))
    wanted = linux.VulkanDeviceCreateInfoKHR(
        system_id=system,
        pfn_get_instance_proc_addr=look_up,
        vulkan_physical_device=physical,
        vulkan_create_info=ctypes.cast(ctypes.pointer(info), ctypes.POINTER(linux.VkDeviceCreateInfo)),
    )
    device = linux.VkDevice()
    prototype = linux.PFN_xrCreateVulkanDeviceKHR
    call("xrCreateVulkanDeviceKHR", prototype, wanted, ctypes.byref(device), ctypes.byref(result))
    assert result.value == 0

    binding = linux.GraphicsBindingVulkanKHR(made, physical, device, family, 0)
    return xr.create_session(instance, xr.SessionCreateInfo(system_id=system, next=binding))


def graphics_family(vulkan, device):
    count = ctypes.c_uint32()
    vulkan.vkGetPhysicalDeviceQueueFamilyProperties(device, ctypes.byref(count), None)
    families = (QueueFamily * count.value)()
    vulkan.vkGetPhysicalDeviceQueueFamilyProperties(device, ctypes.byref(count), families)
    return next(index for index, family in enumerate(families) if family.queueFlags & GRAPHICS_BIT)
