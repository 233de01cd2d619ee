/* The layer's instances: made by those below, found by their handles, and each
 * either served by a host of ours or left alone. */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table */

OxaLayerInstance oxa_layer_instances[OXA_LAYER_MOST_INSTANCES];

OxaLayerInstance* oxa_layer_find_further(XrInstance handle) {
    for (size_t i = 1; handle != XR_NULL_HANDLE && i < OXA_LAYER_MOST_INSTANCES; ++i) {
        OxaLayerInstance* instance = &oxa_layer_instances[i];
        if (atomic_load_explicit(&instance->handle, memory_order_acquire) == OXA_HANDLE_NUMBER(handle)) return instance;
    }
    return NULL;
}

static OxaLayerInstance* take_place(void) {
    for (size_t i = 0; i < OXA_LAYER_MOST_INSTANCES; ++i) {
        if (!atomic_exchange(&oxa_layer_instances[i].taken, 1)) return &oxa_layer_instances[i];
    }
    return NULL;
}

static void give_back(OxaLayerInstance* place) { atomic_store(&place->taken, 0); }

/* ---- who provides the extension */

static int is_ours(const char* name) { return name != NULL && strcmp(name, OXA_EXTENSION_NAME) == 0; }

static int is_enabled(const XrInstanceCreateInfo* info) {
    for (uint32_t i = 0; info->enabledExtensionNames != NULL && i < info->enabledExtensionCount; ++i) {
        if (is_ours(info->enabledExtensionNames[i])) return 1;
    }
    return 0;
}

/* 0: the runtime says that it does not offer the extension. Beneath the lowest
 * layer, the loader has the runtime answer also when there is no instance yet. */
static int runtime_may_offer(PFN_xrGetInstanceProcAddr get_instance_proc_addr) {
    PFN_xrVoidFunction function = NULL;
    uint32_t count = 0;
    if (XR_FAILED(get_instance_proc_addr(XR_NULL_HANDLE, "xrEnumerateInstanceExtensionProperties", &function)) ||
        function == NULL) {
        return 1;
    }
    PFN_xrEnumerateInstanceExtensionProperties enumerate = (PFN_xrEnumerateInstanceExtensionProperties)function;
    if (XR_FAILED(enumerate(NULL, 0, &count, NULL))) return 1;
    XrExtensionProperties* properties = calloc(count + (size_t)1, sizeof *properties);
    if (properties == NULL) return 1;
    for (uint32_t i = 0; i < count; ++i) properties[i].type = XR_TYPE_EXTENSION_PROPERTIES;
    int offers = XR_FAILED(enumerate(NULL, count, &count, properties));
    for (uint32_t i = 0; !offers && i < count; ++i) offers = is_ours(properties[i].extensionName);
    free(properties);
    return offers;
}

/* Khronos' own layers watch, and provide nothing. */
static int only_watches(const char* layer_name) {
    static const char* const families[] = {"XR_APILAYER_LUNARG_", "XR_APILAYER_KHRONOS_"};
    for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
        if (strncmp(layer_name, families[i], strlen(families[i])) == 0) return 1;
    }
    return 0;
}

/* 0: surely nobody provides the extension. What a layer offers is in its manifest,
 * which only the loader reads; so another layer has to be asked by trying. */
static int may_be_below(const XrApiLayerNextInfo* next) {
    const XrApiLayerNextInfo* lowest = next;
    while (lowest->next != NULL) {
        lowest = lowest->next;
        if (!only_watches(lowest->layerName)) return 1;
    }
    return runtime_may_offer(lowest->nextGetInstanceProcAddr);
}

static int is_provided(PFN_xrGetInstanceProcAddr get_instance_proc_addr, XrInstance handle) {
    PFN_xrVoidFunction function = NULL;
    return XR_SUCCEEDED(get_instance_proc_addr(handle, OXA_REGISTER_FUNCTION_NAME, &function)) && function != NULL;
}

/* ---- creation */

static XrResult create_below(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info,
                             XrInstance* handle) {
    XrApiLayerCreateInfo below = *layer_info;
    below.nextInfo = layer_info->nextInfo->next;
    *handle = XR_NULL_HANDLE; /* the loader destroys what it finds here when the runtime fails */
    return layer_info->nextInfo->nextCreateApiLayerInstance(info, &below, handle);
}

static XrResult create_without_extension(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info,
                                         XrInstance* handle) {
    const char** names = malloc(info->enabledExtensionCount * sizeof *names);
    if (names == NULL) return XR_ERROR_OUT_OF_MEMORY;
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
        if (!is_ours(info->enabledExtensionNames[i])) names[count++] = info->enabledExtensionNames[i];
    }
    XrInstanceCreateInfo stripped = *info;
    stripped.enabledExtensionCount = count;
    stripped.enabledExtensionNames = count == 0 ? NULL : names;
    XrResult result = create_below(&stripped, layer_info, handle);
    free(names);
    return result;
}

/* *serves: the app wants the extension, and nobody below has it. */
static XrResult create(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info, XrInstance* handle,
                       int* serves) {
    const XrApiLayerNextInfo* next = layer_info->nextInfo;
    *serves = 0;
    if (!is_enabled(info)) return create_below(info, layer_info, handle);
    if (may_be_below(next)) {
        XrResult result = create_below(info, layer_info, handle);
        if (XR_SUCCEEDED(result)) {
            /* A runtime that takes any name provides nothing by that. */
            *serves = !is_provided(next->nextGetInstanceProcAddr, *handle);
            return result;
        }
        /* XR_ERROR_EXTENSION_NOT_PRESENT, or whatever a layer in between made of it. */
    }
    *serves = 1;
    return create_without_extension(info, layer_info, handle);
}

static void look_up_next(OxaLayerInstance* instance, XrInstance handle) {
    PFN_xrVoidFunction function;
#define LOOK_UP(name)                                                                           \
    function = NULL;                                                                            \
    if (XR_FAILED(instance->get_instance_proc_addr(handle, #name, &function))) function = NULL; \
    instance->next.name = (PFN_##name)function;
    OXA_LAYER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

static int is_well_formed(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info) {
    if (info == NULL || layer_info == NULL ||
        layer_info->structType != XR_LOADER_INTERFACE_STRUCT_API_LAYER_CREATE_INFO ||
        layer_info->structVersion != XR_API_LAYER_CREATE_INFO_STRUCT_VERSION ||
        layer_info->structSize != sizeof *layer_info) {
        return 0;
    }
    const XrApiLayerNextInfo* next = layer_info->nextInfo;
    return next != NULL && next->structType == XR_LOADER_INTERFACE_STRUCT_API_LAYER_NEXT_INFO &&
           next->structVersion == XR_API_LAYER_NEXT_INFO_STRUCT_VERSION && next->structSize == sizeof *next &&
           strcmp(next->layerName, OXA_LAYER_NAME) == 0 && next->nextGetInstanceProcAddr != NULL &&
           next->nextCreateApiLayerInstance != NULL;
}

/* Some loaders load a layer once for each folder in which they find it: then this
 * library is below itself, and both copies answer for one handle. */
static int is_below_itself(const XrApiLayerNextInfo* next) {
    for (; next != NULL; next = next->next) {
        if (next->nextCreateApiLayerInstance == oxa_layer_create_instance) return 1;
    }
    return 0;
}

XrResult XRAPI_CALL oxa_layer_create_instance(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info,
                                              XrInstance* handle) {
    if (!is_well_formed(info, layer_info) || handle == NULL) return XR_ERROR_INITIALIZATION_FAILED;
    if (is_below_itself(layer_info->nextInfo)) return create_below(info, layer_info, handle);
    OxaLayerInstance* instance = take_place();
    if (instance == NULL) return XR_ERROR_LIMIT_REACHED;
    XrResult result = create(info, layer_info, handle, &instance->serves);
    if (XR_FAILED(result)) {
        give_back(instance);
        return result;
    }
    instance->get_instance_proc_addr = layer_info->nextInfo->nextGetInstanceProcAddr;
    look_up_next(instance, *handle);
    instance->host = NULL;
    atomic_store(&instance->destroying, 0);
    atomic_store(&instance->display_period_ns, 0);
    instance->main_thread = oxa_thread_number();
    atomic_store(&instance->frames.on_main_ns, 0);
    atomic_store(&instance->frames.inside, 0);
    atomic_store(&instance->frames.elsewhere, 0);
    atomic_store(&instance->main_waiting, 0); /* a forked child has what was counted in its parent */
    if (instance->serves) {
        const OxaHostInfo host_info = {.instance = *handle,
                                       .application_name = info->applicationInfo.applicationName,
                                       .front = OXA_LAYER_FRONT,
                                       .serves = 1,
                                       .main_waiting = &instance->main_waiting,
                                       .frames = &instance->frames};
        instance->host = oxa_host_create(&host_info);
        if (instance->host == NULL) {
            if (instance->next.xrDestroyInstance != NULL) instance->next.xrDestroyInstance(*handle);
            *handle = XR_NULL_HANDLE;
            give_back(instance);
            return XR_ERROR_OUT_OF_MEMORY;
        }
    }
    atomic_store_explicit(&instance->handle, OXA_HANDLE_NUMBER(*handle), memory_order_release);
    return result;
}

/* The host goes first: tools that still run may call OpenXR until they return. */
XrResult XRAPI_CALL oxa_layer_xrDestroyInstance(XrInstance handle) {
    OxaLayerInstance* instance = oxa_layer_find(handle);
    if (instance == NULL || atomic_exchange(&instance->destroying, 1)) return XR_ERROR_HANDLE_INVALID;
    if (instance->host != NULL) oxa_host_destroy(instance->host);
    instance->host = NULL;

    /* Not to be found from here on: as soon as it is destroyed, its handle may be another's. */
    atomic_store(&instance->handle, 0);
    XrResult result = instance->next.xrDestroyInstance(handle);
    if (XR_FAILED(result)) {
        atomic_store(&instance->destroying, 0);
        atomic_store(&instance->handle, OXA_HANDLE_NUMBER(handle));
        return result;
    }
    oxa_layer_forget_sessions(instance);
    give_back(instance);
    return result;
}
