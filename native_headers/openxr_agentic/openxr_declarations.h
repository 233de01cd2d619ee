/* Our own declarations of core OpenXR 1.0, for builds without the Khronos
 * header. Only openxr_core.h includes this file.
 *
 * Names, values, and the order and width of fields are the interface and are
 * those of the standard; tests/test_native_headers.py compares every one of
 * them with an installed Khronos header. */
#ifndef OPENXR_AGENTIC_OPENXR_DECLARATIONS_H_
#define OPENXR_AGENTIC_OPENXR_DECLARATIONS_H_ 1

#include <stddef.h>
#include <stdint.h>

#include "openxr_lists.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The calling convention matters on 32-bit Windows and on 32-bit Android only. */
#if defined(_WIN32)
#define XRAPI_ATTR
#define XRAPI_CALL __stdcall
#define XRAPI_PTR __stdcall
#elif defined(__ANDROID__) && defined(__ARM_32BIT_STATE)
#define XRAPI_ATTR __attribute__((pcs("aapcs-vfp")))
#define XRAPI_CALL
#define XRAPI_PTR XRAPI_ATTR
#else
#define XRAPI_ATTR
#define XRAPI_CALL
#define XRAPI_PTR
#endif

#if UINTPTR_MAX > 0xFFFFFFFFu
#define XR_PTR_SIZE 8
#else
#define XR_PTR_SIZE 4
#endif

/* Structures that are read through pointers to their common head. */
#if defined(__GNUC__)
#define XR_MAY_ALIAS __attribute__((__may_alias__))
#else
#define XR_MAY_ALIAS
#endif

/* Handles are pointers where a pointer has 64 bits, and 64-bit integers
 * elsewhere: a handle always holds 64 bits. */
#if XR_PTR_SIZE == 8
#define XR_DEFINE_HANDLE(object) typedef struct object##_T* object;
#else
#define XR_DEFINE_HANDLE(object) typedef uint64_t object;
#endif
#define XR_DEFINE_ATOM(object) typedef uint64_t object;

XR_DEFINE_HANDLE(XrInstance)
XR_DEFINE_HANDLE(XrSession)
XR_DEFINE_HANDLE(XrSpace)
XR_DEFINE_HANDLE(XrSwapchain)
XR_DEFINE_HANDLE(XrActionSet)
XR_DEFINE_HANDLE(XrAction)
XR_DEFINE_ATOM(XrSystemId)
XR_DEFINE_ATOM(XrPath)

typedef uint32_t XrBool32;
typedef uint64_t XrFlags64;
typedef uint64_t XrVersion;
typedef int64_t XrTime;     /* nanoseconds; 0 and below are never valid */
typedef int64_t XrDuration; /* nanoseconds */

#define XR_TRUE 1
#define XR_FALSE 0
#define XR_NULL_HANDLE 0
#define XR_NULL_PATH 0
#define XR_NULL_SYSTEM_ID 0
#define XR_NO_DURATION 0
#define XR_INFINITE_DURATION 0x7fffffffffffffffLL
#define XR_MIN_HAPTIC_DURATION -1
#define XR_FREQUENCY_UNSPECIFIED 0

/* A version holds 16 bits of major, 16 bits of minor and 32 bits of patch. */
#define XR_MAKE_VERSION(major, minor, patch) \
    ((uint64_t)(major) << 48 | ((uint64_t)(minor) & 0xffffu) << 32 | ((uint64_t)(patch) & 0xffffffffu))
#define XR_VERSION_MAJOR(version) ((uint16_t)((uint64_t)(version) >> 48))
#define XR_VERSION_MINOR(version) ((uint16_t)((uint64_t)(version) >> 32))
#define XR_VERSION_PATCH(version) ((uint32_t)(version))

#define XR_SUCCEEDED(result) ((result) >= 0)
#define XR_FAILED(result) ((result) < 0)
#define XR_UNQUALIFIED_SUCCESS(result) ((result) == 0)

/* Sizes of text fields in bytes, terminating NUL included. */
#define XR_MAX_EXTENSION_NAME_SIZE 128
#define XR_MAX_API_LAYER_NAME_SIZE 256
#define XR_MAX_API_LAYER_DESCRIPTION_SIZE 256
#define XR_MAX_SYSTEM_NAME_SIZE 256
#define XR_MAX_APPLICATION_NAME_SIZE 128
#define XR_MAX_ENGINE_NAME_SIZE 128
#define XR_MAX_RUNTIME_NAME_SIZE 128
#define XR_MAX_PATH_LENGTH 256
#define XR_MAX_STRUCTURE_NAME_SIZE 64
#define XR_MAX_RESULT_STRING_SIZE 64
#define XR_MAX_ACTION_SET_NAME_SIZE 64
#define XR_MAX_LOCALIZED_ACTION_SET_NAME_SIZE 128
#define XR_MAX_ACTION_NAME_SIZE 64
#define XR_MAX_LOCALIZED_ACTION_NAME_SIZE 128
#define XR_MIN_COMPOSITION_LAYERS_SUPPORTED 16

/* Enumerations. The last value of each keeps it 32 bits wide. */

#define OXA_ENUMERATOR(name, value) name = value,

typedef enum XrResult { OXA_CORE_RESULTS(OXA_ENUMERATOR) XR_RESULT_MAX_ENUM = 0x7FFFFFFF } XrResult;

typedef enum XrStructureType {
    OXA_CORE_STRUCTURE_TYPES(OXA_ENUMERATOR) XR_STRUCTURE_TYPE_MAX_ENUM = 0x7FFFFFFF
} XrStructureType;

typedef enum XrFormFactor {
    XR_FORM_FACTOR_HEAD_MOUNTED_DISPLAY = 1,
    XR_FORM_FACTOR_HANDHELD_DISPLAY = 2,
    XR_FORM_FACTOR_MAX_ENUM = 0x7FFFFFFF
} XrFormFactor;

typedef enum XrViewConfigurationType {
    XR_VIEW_CONFIGURATION_TYPE_PRIMARY_MONO = 1,
    XR_VIEW_CONFIGURATION_TYPE_PRIMARY_STEREO = 2,
    XR_VIEW_CONFIGURATION_TYPE_MAX_ENUM = 0x7FFFFFFF
} XrViewConfigurationType;

typedef enum XrEnvironmentBlendMode {
    XR_ENVIRONMENT_BLEND_MODE_OPAQUE = 1,
    XR_ENVIRONMENT_BLEND_MODE_ADDITIVE = 2,
    XR_ENVIRONMENT_BLEND_MODE_ALPHA_BLEND = 3,
    XR_ENVIRONMENT_BLEND_MODE_MAX_ENUM = 0x7FFFFFFF
} XrEnvironmentBlendMode;

typedef enum XrReferenceSpaceType {
    XR_REFERENCE_SPACE_TYPE_VIEW = 1,
    XR_REFERENCE_SPACE_TYPE_LOCAL = 2,
    XR_REFERENCE_SPACE_TYPE_STAGE = 3,
    XR_REFERENCE_SPACE_TYPE_MAX_ENUM = 0x7FFFFFFF
} XrReferenceSpaceType;

typedef enum XrActionType {
    XR_ACTION_TYPE_BOOLEAN_INPUT = 1,
    XR_ACTION_TYPE_FLOAT_INPUT = 2,
    XR_ACTION_TYPE_VECTOR2F_INPUT = 3,
    XR_ACTION_TYPE_POSE_INPUT = 4,
    XR_ACTION_TYPE_VIBRATION_OUTPUT = 100,
    XR_ACTION_TYPE_MAX_ENUM = 0x7FFFFFFF
} XrActionType;

typedef enum XrEyeVisibility {
    XR_EYE_VISIBILITY_BOTH = 0,
    XR_EYE_VISIBILITY_LEFT = 1,
    XR_EYE_VISIBILITY_RIGHT = 2,
    XR_EYE_VISIBILITY_MAX_ENUM = 0x7FFFFFFF
} XrEyeVisibility;

typedef enum XrSessionState {
    XR_SESSION_STATE_UNKNOWN = 0,
    XR_SESSION_STATE_IDLE = 1,
    XR_SESSION_STATE_READY = 2,
    XR_SESSION_STATE_SYNCHRONIZED = 3,
    XR_SESSION_STATE_VISIBLE = 4,
    XR_SESSION_STATE_FOCUSED = 5,
    XR_SESSION_STATE_STOPPING = 6,
    XR_SESSION_STATE_LOSS_PENDING = 7,
    XR_SESSION_STATE_EXITING = 8,
    XR_SESSION_STATE_MAX_ENUM = 0x7FFFFFFF
} XrSessionState;

/* Flags */

typedef XrFlags64 XrInstanceCreateFlags;
typedef XrFlags64 XrSessionCreateFlags;

typedef XrFlags64 XrSpaceVelocityFlags;
#define XR_SPACE_VELOCITY_LINEAR_VALID_BIT ((XrSpaceVelocityFlags)0x1)
#define XR_SPACE_VELOCITY_ANGULAR_VALID_BIT ((XrSpaceVelocityFlags)0x2)

typedef XrFlags64 XrSpaceLocationFlags;
#define XR_SPACE_LOCATION_ORIENTATION_VALID_BIT ((XrSpaceLocationFlags)0x1)
#define XR_SPACE_LOCATION_POSITION_VALID_BIT ((XrSpaceLocationFlags)0x2)
#define XR_SPACE_LOCATION_ORIENTATION_TRACKED_BIT ((XrSpaceLocationFlags)0x4)
#define XR_SPACE_LOCATION_POSITION_TRACKED_BIT ((XrSpaceLocationFlags)0x8)

typedef XrFlags64 XrViewStateFlags;
#define XR_VIEW_STATE_ORIENTATION_VALID_BIT ((XrViewStateFlags)0x1)
#define XR_VIEW_STATE_POSITION_VALID_BIT ((XrViewStateFlags)0x2)
#define XR_VIEW_STATE_ORIENTATION_TRACKED_BIT ((XrViewStateFlags)0x4)
#define XR_VIEW_STATE_POSITION_TRACKED_BIT ((XrViewStateFlags)0x8)

typedef XrFlags64 XrSwapchainCreateFlags;
#define XR_SWAPCHAIN_CREATE_PROTECTED_CONTENT_BIT ((XrSwapchainCreateFlags)0x1)
#define XR_SWAPCHAIN_CREATE_STATIC_IMAGE_BIT ((XrSwapchainCreateFlags)0x2)

typedef XrFlags64 XrSwapchainUsageFlags;
#define XR_SWAPCHAIN_USAGE_COLOR_ATTACHMENT_BIT ((XrSwapchainUsageFlags)0x01)
#define XR_SWAPCHAIN_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT ((XrSwapchainUsageFlags)0x02)
#define XR_SWAPCHAIN_USAGE_UNORDERED_ACCESS_BIT ((XrSwapchainUsageFlags)0x04)
#define XR_SWAPCHAIN_USAGE_TRANSFER_SRC_BIT ((XrSwapchainUsageFlags)0x08)
#define XR_SWAPCHAIN_USAGE_TRANSFER_DST_BIT ((XrSwapchainUsageFlags)0x10)
#define XR_SWAPCHAIN_USAGE_SAMPLED_BIT ((XrSwapchainUsageFlags)0x20)
#define XR_SWAPCHAIN_USAGE_MUTABLE_FORMAT_BIT ((XrSwapchainUsageFlags)0x40)

typedef XrFlags64 XrCompositionLayerFlags;
#define XR_COMPOSITION_LAYER_CORRECT_CHROMATIC_ABERRATION_BIT ((XrCompositionLayerFlags)0x1)
#define XR_COMPOSITION_LAYER_BLEND_TEXTURE_SOURCE_ALPHA_BIT ((XrCompositionLayerFlags)0x2)
#define XR_COMPOSITION_LAYER_UNPREMULTIPLIED_ALPHA_BIT ((XrCompositionLayerFlags)0x4)

typedef XrFlags64 XrInputSourceLocalizedNameFlags;
#define XR_INPUT_SOURCE_LOCALIZED_NAME_USER_PATH_BIT ((XrInputSourceLocalizedNameFlags)0x1)
#define XR_INPUT_SOURCE_LOCALIZED_NAME_INTERACTION_PROFILE_BIT ((XrInputSourceLocalizedNameFlags)0x2)
#define XR_INPUT_SOURCE_LOCALIZED_NAME_COMPONENT_BIT ((XrInputSourceLocalizedNameFlags)0x4)

/* Geometry */

typedef struct XrVector2f {
    float x, y;
} XrVector2f;
typedef struct XrVector3f {
    float x, y, z;
} XrVector3f;
typedef struct XrQuaternionf {
    float x, y, z, w;
} XrQuaternionf;
typedef struct XrPosef {
    XrQuaternionf orientation;
    XrVector3f position;
} XrPosef;
typedef struct XrFovf {
    float angleLeft, angleRight, angleUp, angleDown;
} XrFovf;
typedef struct XrExtent2Df {
    float width, height;
} XrExtent2Df;
typedef struct XrOffset2Di {
    int32_t x, y;
} XrOffset2Di;
typedef struct XrExtent2Di {
    int32_t width, height;
} XrExtent2Di;
typedef struct XrRect2Di {
    XrOffset2Di offset;
    XrExtent2Di extent;
} XrRect2Di;

/* What most structures begin with: their own type, and the next one of a
 * chain. The runtime writes to an OUT structure and only reads an IN one. */
#define OXA_IN            \
    XrStructureType type; \
    const void* next;
#define OXA_OUT           \
    XrStructureType type; \
    void* next;

typedef struct XR_MAY_ALIAS XrBaseInStructure {
    XrStructureType type;
    const struct XrBaseInStructure* next;
} XrBaseInStructure;
typedef struct XR_MAY_ALIAS XrBaseOutStructure {
    XrStructureType type;
    struct XrBaseOutStructure* next;
} XrBaseOutStructure;

/* Instance and system */

typedef struct XrApiLayerProperties {
    OXA_OUT
    char layerName[XR_MAX_API_LAYER_NAME_SIZE];
    XrVersion specVersion;
    uint32_t layerVersion;
    char description[XR_MAX_API_LAYER_DESCRIPTION_SIZE];
} XrApiLayerProperties;

typedef struct XrExtensionProperties {
    OXA_OUT
    char extensionName[XR_MAX_EXTENSION_NAME_SIZE];
    uint32_t extensionVersion;
} XrExtensionProperties;

typedef struct XrApplicationInfo {
    char applicationName[XR_MAX_APPLICATION_NAME_SIZE];
    uint32_t applicationVersion;
    char engineName[XR_MAX_ENGINE_NAME_SIZE];
    uint32_t engineVersion;
    XrVersion apiVersion;
} XrApplicationInfo;

typedef struct XrInstanceCreateInfo {
    OXA_IN
    XrInstanceCreateFlags createFlags;
    XrApplicationInfo applicationInfo;
    uint32_t enabledApiLayerCount;
    const char* const* enabledApiLayerNames;
    uint32_t enabledExtensionCount;
    const char* const* enabledExtensionNames;
} XrInstanceCreateInfo;

typedef struct XrInstanceProperties {
    OXA_OUT
    XrVersion runtimeVersion;
    char runtimeName[XR_MAX_RUNTIME_NAME_SIZE];
} XrInstanceProperties;

typedef struct XrSystemGetInfo {
    OXA_IN
    XrFormFactor formFactor;
} XrSystemGetInfo;

typedef struct XrSystemGraphicsProperties {
    uint32_t maxSwapchainImageHeight;
    uint32_t maxSwapchainImageWidth;
    uint32_t maxLayerCount;
} XrSystemGraphicsProperties;

typedef struct XrSystemTrackingProperties {
    XrBool32 orientationTracking;
    XrBool32 positionTracking;
} XrSystemTrackingProperties;

typedef struct XrSystemProperties {
    OXA_OUT
    XrSystemId systemId;
    uint32_t vendorId;
    char systemName[XR_MAX_SYSTEM_NAME_SIZE];
    XrSystemGraphicsProperties graphicsProperties;
    XrSystemTrackingProperties trackingProperties;
} XrSystemProperties;

/* Events: all fit into the buffer, whose type tells which one it is. */

typedef struct XrEventDataBuffer {
    OXA_IN
    uint8_t varying[4000];
} XrEventDataBuffer;
#define XR_MAX_EVENT_DATA_SIZE sizeof(XrEventDataBuffer)

typedef struct XR_MAY_ALIAS XrEventDataBaseHeader {
    OXA_IN
} XrEventDataBaseHeader;

typedef struct XrEventDataEventsLost {
    OXA_IN
    uint32_t lostEventCount;
} XrEventDataEventsLost;

typedef struct XrEventDataInstanceLossPending {
    OXA_IN
    XrTime lossTime;
} XrEventDataInstanceLossPending;

typedef struct XrEventDataSessionStateChanged {
    OXA_IN
    XrSession session;
    XrSessionState state;
    XrTime time;
} XrEventDataSessionStateChanged;

typedef struct XrEventDataReferenceSpaceChangePending {
    OXA_IN
    XrSession session;
    XrReferenceSpaceType referenceSpaceType;
    XrTime changeTime;
    XrBool32 poseValid;
    XrPosef poseInPreviousSpace;
} XrEventDataReferenceSpaceChangePending;

typedef struct XrEventDataInteractionProfileChanged {
    OXA_IN
    XrSession session;
} XrEventDataInteractionProfileChanged;

/* Sessions, views and frames */

typedef struct XrSessionCreateInfo {
    OXA_IN
    XrSessionCreateFlags createFlags;
    XrSystemId systemId;
} XrSessionCreateInfo;

typedef struct XrSessionBeginInfo {
    OXA_IN
    XrViewConfigurationType primaryViewConfigurationType;
} XrSessionBeginInfo;

typedef struct XrViewConfigurationProperties {
    OXA_OUT
    XrViewConfigurationType viewConfigurationType;
    XrBool32 fovMutable;
} XrViewConfigurationProperties;

typedef struct XrViewConfigurationView {
    OXA_OUT
    uint32_t recommendedImageRectWidth;
    uint32_t maxImageRectWidth;
    uint32_t recommendedImageRectHeight;
    uint32_t maxImageRectHeight;
    uint32_t recommendedSwapchainSampleCount;
    uint32_t maxSwapchainSampleCount;
} XrViewConfigurationView;

typedef struct XrViewLocateInfo {
    OXA_IN
    XrViewConfigurationType viewConfigurationType;
    XrTime displayTime;
    XrSpace space;
} XrViewLocateInfo;

typedef struct XrViewState {
    OXA_OUT
    XrViewStateFlags viewStateFlags;
} XrViewState;

typedef struct XrView {
    OXA_OUT
    XrPosef pose;
    XrFovf fov;
} XrView;

typedef struct XrFrameWaitInfo {
    OXA_IN
} XrFrameWaitInfo;

typedef struct XrFrameState {
    OXA_OUT
    XrTime predictedDisplayTime;
    XrDuration predictedDisplayPeriod;
    XrBool32 shouldRender;
} XrFrameState;

typedef struct XrFrameBeginInfo {
    OXA_IN
} XrFrameBeginInfo;

typedef struct XR_MAY_ALIAS XrCompositionLayerBaseHeader {
    OXA_IN
    XrCompositionLayerFlags layerFlags;
    XrSpace space;
} XrCompositionLayerBaseHeader;

typedef struct XrFrameEndInfo {
    OXA_IN
    XrTime displayTime;
    XrEnvironmentBlendMode environmentBlendMode;
    uint32_t layerCount;
    const XrCompositionLayerBaseHeader* const* layers;
} XrFrameEndInfo;

typedef struct XrSwapchainSubImage {
    XrSwapchain swapchain;
    XrRect2Di imageRect;
    uint32_t imageArrayIndex;
} XrSwapchainSubImage;

typedef struct XrCompositionLayerProjectionView {
    OXA_IN
    XrPosef pose;
    XrFovf fov;
    XrSwapchainSubImage subImage;
} XrCompositionLayerProjectionView;

typedef struct XrCompositionLayerProjection {
    OXA_IN
    XrCompositionLayerFlags layerFlags;
    XrSpace space;
    uint32_t viewCount;
    const XrCompositionLayerProjectionView* views;
} XrCompositionLayerProjection;

typedef struct XrCompositionLayerQuad {
    OXA_IN
    XrCompositionLayerFlags layerFlags;
    XrSpace space;
    XrEyeVisibility eyeVisibility;
    XrSwapchainSubImage subImage;
    XrPosef pose;
    XrExtent2Df size;
} XrCompositionLayerQuad;

/* Spaces */

typedef struct XrReferenceSpaceCreateInfo {
    OXA_IN
    XrReferenceSpaceType referenceSpaceType;
    XrPosef poseInReferenceSpace;
} XrReferenceSpaceCreateInfo;

typedef struct XrActionSpaceCreateInfo {
    OXA_IN
    XrAction action;
    XrPath subactionPath;
    XrPosef poseInActionSpace;
} XrActionSpaceCreateInfo;

typedef struct XrSpaceLocation {
    OXA_OUT
    XrSpaceLocationFlags locationFlags;
    XrPosef pose;
} XrSpaceLocation;

typedef struct XrSpaceVelocity {
    OXA_OUT
    XrSpaceVelocityFlags velocityFlags;
    XrVector3f linearVelocity;
    XrVector3f angularVelocity;
} XrSpaceVelocity;

/* Swapchains */

typedef struct XrSwapchainCreateInfo {
    OXA_IN
    XrSwapchainCreateFlags createFlags;
    XrSwapchainUsageFlags usageFlags;
    int64_t format;
    uint32_t sampleCount;
    uint32_t width;
    uint32_t height;
    uint32_t faceCount;
    uint32_t arraySize;
    uint32_t mipCount;
} XrSwapchainCreateInfo;

typedef struct XR_MAY_ALIAS XrSwapchainImageBaseHeader {
    OXA_OUT
} XrSwapchainImageBaseHeader;
typedef struct XrSwapchainImageAcquireInfo {
    OXA_IN
} XrSwapchainImageAcquireInfo;
typedef struct XrSwapchainImageWaitInfo {
    OXA_IN
    XrDuration timeout;
} XrSwapchainImageWaitInfo;
typedef struct XrSwapchainImageReleaseInfo {
    OXA_IN
} XrSwapchainImageReleaseInfo;

/* Actions */

typedef struct XrActionSetCreateInfo {
    OXA_IN
    char actionSetName[XR_MAX_ACTION_SET_NAME_SIZE];
    char localizedActionSetName[XR_MAX_LOCALIZED_ACTION_SET_NAME_SIZE];
    uint32_t priority;
} XrActionSetCreateInfo;

typedef struct XrActionCreateInfo {
    OXA_IN
    char actionName[XR_MAX_ACTION_NAME_SIZE];
    XrActionType actionType;
    uint32_t countSubactionPaths;
    const XrPath* subactionPaths;
    char localizedActionName[XR_MAX_LOCALIZED_ACTION_NAME_SIZE];
} XrActionCreateInfo;

typedef struct XrActionSuggestedBinding {
    XrAction action;
    XrPath binding;
} XrActionSuggestedBinding;

typedef struct XrInteractionProfileSuggestedBinding {
    OXA_IN
    XrPath interactionProfile;
    uint32_t countSuggestedBindings;
    const XrActionSuggestedBinding* suggestedBindings;
} XrInteractionProfileSuggestedBinding;

typedef struct XrSessionActionSetsAttachInfo {
    OXA_IN
    uint32_t countActionSets;
    const XrActionSet* actionSets;
} XrSessionActionSetsAttachInfo;

typedef struct XrInteractionProfileState {
    OXA_OUT
    XrPath interactionProfile;
} XrInteractionProfileState;

typedef struct XrActionStateGetInfo {
    OXA_IN
    XrAction action;
    XrPath subactionPath;
} XrActionStateGetInfo;

typedef struct XrActionStateBoolean {
    OXA_OUT
    XrBool32 currentState;
    XrBool32 changedSinceLastSync;
    XrTime lastChangeTime;
    XrBool32 isActive;
} XrActionStateBoolean;

typedef struct XrActionStateFloat {
    OXA_OUT
    float currentState;
    XrBool32 changedSinceLastSync;
    XrTime lastChangeTime;
    XrBool32 isActive;
} XrActionStateFloat;

typedef struct XrActionStateVector2f {
    OXA_OUT
    XrVector2f currentState;
    XrBool32 changedSinceLastSync;
    XrTime lastChangeTime;
    XrBool32 isActive;
} XrActionStateVector2f;

typedef struct XrActionStatePose {
    OXA_OUT
    XrBool32 isActive;
} XrActionStatePose;

typedef struct XrActiveActionSet {
    XrActionSet actionSet;
    XrPath subactionPath;
} XrActiveActionSet;

typedef struct XrActionsSyncInfo {
    OXA_IN
    uint32_t countActiveActionSets;
    const XrActiveActionSet* activeActionSets;
} XrActionsSyncInfo;

typedef struct XrBoundSourcesForActionEnumerateInfo {
    OXA_IN
    XrAction action;
} XrBoundSourcesForActionEnumerateInfo;

typedef struct XrInputSourceLocalizedNameGetInfo {
    OXA_IN
    XrPath sourcePath;
    XrInputSourceLocalizedNameFlags whichComponents;
} XrInputSourceLocalizedNameGetInfo;

typedef struct XrHapticActionInfo {
    OXA_IN
    XrAction action;
    XrPath subactionPath;
} XrHapticActionInfo;

typedef struct XR_MAY_ALIAS XrHapticBaseHeader {
    OXA_IN
} XrHapticBaseHeader;

typedef struct XrHapticVibration {
    OXA_IN
    XrDuration duration;
    float frequency;
    float amplitude;
} XrHapticVibration;

#undef OXA_IN
#undef OXA_OUT
#undef OXA_ENUMERATOR

/* Function pointer types, PFN_xrCreateInstance and so on */

typedef void(XRAPI_PTR* PFN_xrVoidFunction)(void);

#define OXA_FUNCTION_POINTER(name, parameters, arguments) typedef XrResult(XRAPI_PTR* PFN_##name) parameters;
OXA_CORE_FUNCTIONS(OXA_FUNCTION_POINTER)
#undef OXA_FUNCTION_POINTER

#ifdef __cplusplus
}
#endif

#endif
