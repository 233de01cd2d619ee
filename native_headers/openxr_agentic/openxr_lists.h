/* What core OpenXR 1.0 consists of, as lists to be expanded.
 *
 * The declarations, the mock runtime's dispatch table, its names for results
 * and structure types, and the tests are all made from these lists, so that
 * none of them can lack an entry. Nothing here depends on where the types come
 * from. */
#ifndef OPENXR_AGENTIC_OPENXR_LISTS_H_
#define OPENXR_AGENTIC_OPENXR_LISTS_H_ 1

/* One entry a line, whatever fits on one. */
/* clang-format off */

/* entry(name, value) */
#define OXA_CORE_RESULTS(entry)                                \
    entry(XR_SUCCESS, 0)                                       \
    entry(XR_TIMEOUT_EXPIRED, 1)                               \
    entry(XR_SESSION_LOSS_PENDING, 3)                          \
    entry(XR_EVENT_UNAVAILABLE, 4)                             \
    entry(XR_SPACE_BOUNDS_UNAVAILABLE, 7)                      \
    entry(XR_SESSION_NOT_FOCUSED, 8)                           \
    entry(XR_FRAME_DISCARDED, 9)                               \
    entry(XR_ERROR_VALIDATION_FAILURE, -1)                     \
    entry(XR_ERROR_RUNTIME_FAILURE, -2)                        \
    entry(XR_ERROR_OUT_OF_MEMORY, -3)                          \
    entry(XR_ERROR_API_VERSION_UNSUPPORTED, -4)                \
    entry(XR_ERROR_INITIALIZATION_FAILED, -6)                  \
    entry(XR_ERROR_FUNCTION_UNSUPPORTED, -7)                   \
    entry(XR_ERROR_FEATURE_UNSUPPORTED, -8)                    \
    entry(XR_ERROR_EXTENSION_NOT_PRESENT, -9)                  \
    entry(XR_ERROR_LIMIT_REACHED, -10)                         \
    entry(XR_ERROR_SIZE_INSUFFICIENT, -11)                     \
    entry(XR_ERROR_HANDLE_INVALID, -12)                        \
    entry(XR_ERROR_INSTANCE_LOST, -13)                         \
    entry(XR_ERROR_SESSION_RUNNING, -14)                       \
    entry(XR_ERROR_SESSION_NOT_RUNNING, -16)                   \
    entry(XR_ERROR_SESSION_LOST, -17)                          \
    entry(XR_ERROR_SYSTEM_INVALID, -18)                        \
    entry(XR_ERROR_PATH_INVALID, -19)                          \
    entry(XR_ERROR_PATH_COUNT_EXCEEDED, -20)                   \
    entry(XR_ERROR_PATH_FORMAT_INVALID, -21)                   \
    entry(XR_ERROR_PATH_UNSUPPORTED, -22)                      \
    entry(XR_ERROR_LAYER_INVALID, -23)                         \
    entry(XR_ERROR_LAYER_LIMIT_EXCEEDED, -24)                  \
    entry(XR_ERROR_SWAPCHAIN_RECT_INVALID, -25)                \
    entry(XR_ERROR_SWAPCHAIN_FORMAT_UNSUPPORTED, -26)          \
    entry(XR_ERROR_ACTION_TYPE_MISMATCH, -27)                  \
    entry(XR_ERROR_SESSION_NOT_READY, -28)                     \
    entry(XR_ERROR_SESSION_NOT_STOPPING, -29)                  \
    entry(XR_ERROR_TIME_INVALID, -30)                          \
    entry(XR_ERROR_REFERENCE_SPACE_UNSUPPORTED, -31)           \
    entry(XR_ERROR_FILE_ACCESS_ERROR, -32)                     \
    entry(XR_ERROR_FILE_CONTENTS_INVALID, -33)                 \
    entry(XR_ERROR_FORM_FACTOR_UNSUPPORTED, -34)               \
    entry(XR_ERROR_FORM_FACTOR_UNAVAILABLE, -35)               \
    entry(XR_ERROR_API_LAYER_NOT_PRESENT, -36)                 \
    entry(XR_ERROR_CALL_ORDER_INVALID, -37)                    \
    entry(XR_ERROR_GRAPHICS_DEVICE_INVALID, -38)               \
    entry(XR_ERROR_POSE_INVALID, -39)                          \
    entry(XR_ERROR_INDEX_OUT_OF_RANGE, -40)                    \
    entry(XR_ERROR_VIEW_CONFIGURATION_TYPE_UNSUPPORTED, -41)   \
    entry(XR_ERROR_ENVIRONMENT_BLEND_MODE_UNSUPPORTED, -42)    \
    entry(XR_ERROR_NAME_DUPLICATED, -44)                       \
    entry(XR_ERROR_NAME_INVALID, -45)                          \
    entry(XR_ERROR_ACTIONSET_NOT_ATTACHED, -46)                \
    entry(XR_ERROR_ACTIONSETS_ALREADY_ATTACHED, -47)           \
    entry(XR_ERROR_LOCALIZED_NAME_DUPLICATED, -48)             \
    entry(XR_ERROR_LOCALIZED_NAME_INVALID, -49)                \
    entry(XR_ERROR_GRAPHICS_REQUIREMENTS_CALL_MISSING, -50)    \
    entry(XR_ERROR_RUNTIME_UNAVAILABLE, -51)

/* entry(name, value) */
#define OXA_CORE_STRUCTURE_TYPES(entry)                        \
    entry(XR_TYPE_UNKNOWN, 0)                                  \
    entry(XR_TYPE_API_LAYER_PROPERTIES, 1)                     \
    entry(XR_TYPE_EXTENSION_PROPERTIES, 2)                     \
    entry(XR_TYPE_INSTANCE_CREATE_INFO, 3)                     \
    entry(XR_TYPE_SYSTEM_GET_INFO, 4)                          \
    entry(XR_TYPE_SYSTEM_PROPERTIES, 5)                        \
    entry(XR_TYPE_VIEW_LOCATE_INFO, 6)                         \
    entry(XR_TYPE_VIEW, 7)                                     \
    entry(XR_TYPE_SESSION_CREATE_INFO, 8)                      \
    entry(XR_TYPE_SWAPCHAIN_CREATE_INFO, 9)                    \
    entry(XR_TYPE_SESSION_BEGIN_INFO, 10)                      \
    entry(XR_TYPE_VIEW_STATE, 11)                              \
    entry(XR_TYPE_FRAME_END_INFO, 12)                          \
    entry(XR_TYPE_HAPTIC_VIBRATION, 13)                        \
    entry(XR_TYPE_EVENT_DATA_BUFFER, 16)                       \
    entry(XR_TYPE_EVENT_DATA_INSTANCE_LOSS_PENDING, 17)        \
    entry(XR_TYPE_EVENT_DATA_SESSION_STATE_CHANGED, 18)        \
    entry(XR_TYPE_ACTION_STATE_BOOLEAN, 23)                    \
    entry(XR_TYPE_ACTION_STATE_FLOAT, 24)                      \
    entry(XR_TYPE_ACTION_STATE_VECTOR2F, 25)                   \
    entry(XR_TYPE_ACTION_STATE_POSE, 27)                       \
    entry(XR_TYPE_ACTION_SET_CREATE_INFO, 28)                  \
    entry(XR_TYPE_ACTION_CREATE_INFO, 29)                      \
    entry(XR_TYPE_INSTANCE_PROPERTIES, 32)                     \
    entry(XR_TYPE_FRAME_WAIT_INFO, 33)                         \
    entry(XR_TYPE_COMPOSITION_LAYER_PROJECTION, 35)            \
    entry(XR_TYPE_COMPOSITION_LAYER_QUAD, 36)                  \
    entry(XR_TYPE_REFERENCE_SPACE_CREATE_INFO, 37)             \
    entry(XR_TYPE_ACTION_SPACE_CREATE_INFO, 38)                \
    entry(XR_TYPE_EVENT_DATA_REFERENCE_SPACE_CHANGE_PENDING, 40) \
    entry(XR_TYPE_VIEW_CONFIGURATION_VIEW, 41)                 \
    entry(XR_TYPE_SPACE_LOCATION, 42)                          \
    entry(XR_TYPE_SPACE_VELOCITY, 43)                          \
    entry(XR_TYPE_FRAME_STATE, 44)                             \
    entry(XR_TYPE_VIEW_CONFIGURATION_PROPERTIES, 45)           \
    entry(XR_TYPE_FRAME_BEGIN_INFO, 46)                        \
    entry(XR_TYPE_COMPOSITION_LAYER_PROJECTION_VIEW, 48)       \
    entry(XR_TYPE_EVENT_DATA_EVENTS_LOST, 49)                  \
    entry(XR_TYPE_INTERACTION_PROFILE_SUGGESTED_BINDING, 51)   \
    entry(XR_TYPE_EVENT_DATA_INTERACTION_PROFILE_CHANGED, 52)  \
    entry(XR_TYPE_INTERACTION_PROFILE_STATE, 53)               \
    entry(XR_TYPE_SWAPCHAIN_IMAGE_ACQUIRE_INFO, 55)            \
    entry(XR_TYPE_SWAPCHAIN_IMAGE_WAIT_INFO, 56)               \
    entry(XR_TYPE_SWAPCHAIN_IMAGE_RELEASE_INFO, 57)            \
    entry(XR_TYPE_ACTION_STATE_GET_INFO, 58)                   \
    entry(XR_TYPE_HAPTIC_ACTION_INFO, 59)                      \
    entry(XR_TYPE_SESSION_ACTION_SETS_ATTACH_INFO, 60)         \
    entry(XR_TYPE_ACTIONS_SYNC_INFO, 61)                       \
    entry(XR_TYPE_BOUND_SOURCES_FOR_ACTION_ENUMERATE_INFO, 62) \
    entry(XR_TYPE_INPUT_SOURCE_LOCALIZED_NAME_GET_INFO, 63)

/* entry(name, parameters, arguments): every function of core 1.0. An array comes
 * back by OpenXR's two-call idiom: `capacity` elements fit, `count` there are. */
#define OXA_CORE_FUNCTIONS(entry)                                                                                     \
    entry(xrGetInstanceProcAddr, (XrInstance instance, const char* name, PFN_xrVoidFunction* function),               \
          (instance, name, function))                                                                                 \
    entry(xrEnumerateApiLayerProperties, (uint32_t capacity, uint32_t* count, XrApiLayerProperties* properties),      \
          (capacity, count, properties))                                                                              \
    entry(xrEnumerateInstanceExtensionProperties, (const char* layerName, uint32_t capacity, uint32_t* count,         \
                                                   XrExtensionProperties* properties),                                \
          (layerName, capacity, count, properties))                                                                   \
    entry(xrCreateInstance, (const XrInstanceCreateInfo* createInfo, XrInstance* instance), (createInfo, instance))   \
    entry(xrDestroyInstance, (XrInstance instance), (instance))                                                       \
    entry(xrGetInstanceProperties, (XrInstance instance, XrInstanceProperties* properties), (instance, properties))   \
    entry(xrPollEvent, (XrInstance instance, XrEventDataBuffer* eventData), (instance, eventData))                    \
    entry(xrResultToString, (XrInstance instance, XrResult value, char* buffer), (instance, value, buffer))           \
    entry(xrStructureTypeToString, (XrInstance instance, XrStructureType value, char* buffer),                        \
          (instance, value, buffer))                                                                                  \
    entry(xrGetSystem, (XrInstance instance, const XrSystemGetInfo* getInfo, XrSystemId* systemId),                   \
          (instance, getInfo, systemId))                                                                              \
    entry(xrGetSystemProperties, (XrInstance instance, XrSystemId systemId, XrSystemProperties* properties),          \
          (instance, systemId, properties))                                                                           \
    entry(xrEnumerateViewConfigurations, (XrInstance instance, XrSystemId systemId, uint32_t capacity,                \
                                          uint32_t* count, XrViewConfigurationType* types),                           \
          (instance, systemId, capacity, count, types))                                                               \
    entry(xrGetViewConfigurationProperties, (XrInstance instance, XrSystemId systemId,                                \
                                             XrViewConfigurationType type,                                            \
                                             XrViewConfigurationProperties* properties),                              \
          (instance, systemId, type, properties))                                                                     \
    entry(xrEnumerateViewConfigurationViews, (XrInstance instance, XrSystemId systemId,                               \
                                              XrViewConfigurationType type, uint32_t capacity, uint32_t* count,       \
                                              XrViewConfigurationView* views),                                        \
          (instance, systemId, type, capacity, count, views))                                                         \
    entry(xrEnumerateEnvironmentBlendModes, (XrInstance instance, XrSystemId systemId,                                \
                                             XrViewConfigurationType type, uint32_t capacity, uint32_t* count,        \
                                             XrEnvironmentBlendMode* modes),                                          \
          (instance, systemId, type, capacity, count, modes))                                                         \
    entry(xrCreateSession, (XrInstance instance, const XrSessionCreateInfo* createInfo, XrSession* session),          \
          (instance, createInfo, session))                                                                            \
    entry(xrDestroySession, (XrSession session), (session))                                                           \
    entry(xrBeginSession, (XrSession session, const XrSessionBeginInfo* beginInfo), (session, beginInfo))             \
    entry(xrEndSession, (XrSession session), (session))                                                               \
    entry(xrRequestExitSession, (XrSession session), (session))                                                       \
    entry(xrWaitFrame, (XrSession session, const XrFrameWaitInfo* waitInfo, XrFrameState* frameState),                \
          (session, waitInfo, frameState))                                                                            \
    entry(xrBeginFrame, (XrSession session, const XrFrameBeginInfo* beginInfo), (session, beginInfo))                 \
    entry(xrEndFrame, (XrSession session, const XrFrameEndInfo* endInfo), (session, endInfo))                         \
    entry(xrEnumerateReferenceSpaces, (XrSession session, uint32_t capacity, uint32_t* count,                         \
                                       XrReferenceSpaceType* types),                                                  \
          (session, capacity, count, types))                                                                          \
    entry(xrCreateReferenceSpace, (XrSession session, const XrReferenceSpaceCreateInfo* createInfo, XrSpace* space),  \
          (session, createInfo, space))                                                                               \
    entry(xrGetReferenceSpaceBoundsRect, (XrSession session, XrReferenceSpaceType type, XrExtent2Df* bounds),         \
          (session, type, bounds))                                                                                    \
    entry(xrCreateActionSpace, (XrSession session, const XrActionSpaceCreateInfo* createInfo, XrSpace* space),        \
          (session, createInfo, space))                                                                               \
    entry(xrLocateSpace, (XrSpace space, XrSpace baseSpace, XrTime time, XrSpaceLocation* location),                  \
          (space, baseSpace, time, location))                                                                         \
    entry(xrDestroySpace, (XrSpace space), (space))                                                                   \
    entry(xrLocateViews, (XrSession session, const XrViewLocateInfo* locateInfo, XrViewState* viewState,              \
                          uint32_t capacity, uint32_t* count, XrView* views),                                         \
          (session, locateInfo, viewState, capacity, count, views))                                                   \
    entry(xrEnumerateSwapchainFormats, (XrSession session, uint32_t capacity, uint32_t* count, int64_t* formats),     \
          (session, capacity, count, formats))                                                                        \
    entry(xrCreateSwapchain, (XrSession session, const XrSwapchainCreateInfo* createInfo, XrSwapchain* swapchain),    \
          (session, createInfo, swapchain))                                                                           \
    entry(xrDestroySwapchain, (XrSwapchain swapchain), (swapchain))                                                   \
    entry(xrEnumerateSwapchainImages, (XrSwapchain swapchain, uint32_t capacity, uint32_t* count,                     \
                                       XrSwapchainImageBaseHeader* images),                                           \
          (swapchain, capacity, count, images))                                                                       \
    entry(xrAcquireSwapchainImage, (XrSwapchain swapchain, const XrSwapchainImageAcquireInfo* acquireInfo,            \
                                    uint32_t* index),                                                                 \
          (swapchain, acquireInfo, index))                                                                            \
    entry(xrWaitSwapchainImage, (XrSwapchain swapchain, const XrSwapchainImageWaitInfo* waitInfo),                    \
          (swapchain, waitInfo))                                                                                      \
    entry(xrReleaseSwapchainImage, (XrSwapchain swapchain, const XrSwapchainImageReleaseInfo* releaseInfo),           \
          (swapchain, releaseInfo))                                                                                   \
    entry(xrStringToPath, (XrInstance instance, const char* pathString, XrPath* path), (instance, pathString, path))  \
    entry(xrPathToString, (XrInstance instance, XrPath path, uint32_t capacity, uint32_t* count, char* buffer),       \
          (instance, path, capacity, count, buffer))                                                                  \
    entry(xrCreateActionSet, (XrInstance instance, const XrActionSetCreateInfo* createInfo, XrActionSet* actionSet),  \
          (instance, createInfo, actionSet))                                                                          \
    entry(xrDestroyActionSet, (XrActionSet actionSet), (actionSet))                                                   \
    entry(xrCreateAction, (XrActionSet actionSet, const XrActionCreateInfo* createInfo, XrAction* action),            \
          (actionSet, createInfo, action))                                                                            \
    entry(xrDestroyAction, (XrAction action), (action))                                                               \
    entry(xrSuggestInteractionProfileBindings, (XrInstance instance,                                                  \
                                                const XrInteractionProfileSuggestedBinding* suggestedBindings),       \
          (instance, suggestedBindings))                                                                              \
    entry(xrAttachSessionActionSets, (XrSession session, const XrSessionActionSetsAttachInfo* attachInfo),            \
          (session, attachInfo))                                                                                      \
    entry(xrGetCurrentInteractionProfile, (XrSession session, XrPath topLevelUserPath,                                \
                                           XrInteractionProfileState* profile),                                       \
          (session, topLevelUserPath, profile))                                                                       \
    entry(xrSyncActions, (XrSession session, const XrActionsSyncInfo* syncInfo), (session, syncInfo))                 \
    entry(xrGetActionStateBoolean, (XrSession session, const XrActionStateGetInfo* getInfo,                           \
                                    XrActionStateBoolean* state),                                                     \
          (session, getInfo, state))                                                                                  \
    entry(xrGetActionStateFloat, (XrSession session, const XrActionStateGetInfo* getInfo,                             \
                                  XrActionStateFloat* state),                                                         \
          (session, getInfo, state))                                                                                  \
    entry(xrGetActionStateVector2f, (XrSession session, const XrActionStateGetInfo* getInfo,                          \
                                     XrActionStateVector2f* state),                                                   \
          (session, getInfo, state))                                                                                  \
    entry(xrGetActionStatePose, (XrSession session, const XrActionStateGetInfo* getInfo, XrActionStatePose* state),   \
          (session, getInfo, state))                                                                                  \
    entry(xrEnumerateBoundSourcesForAction, (XrSession session,                                                       \
                                             const XrBoundSourcesForActionEnumerateInfo* enumerateInfo,               \
                                             uint32_t capacity, uint32_t* count, XrPath* sources),                    \
          (session, enumerateInfo, capacity, count, sources))                                                         \
    entry(xrGetInputSourceLocalizedName, (XrSession session, const XrInputSourceLocalizedNameGetInfo* getInfo,        \
                                          uint32_t capacity, uint32_t* count, char* buffer),                          \
          (session, getInfo, capacity, count, buffer))                                                                \
    entry(xrApplyHapticFeedback, (XrSession session, const XrHapticActionInfo* actionInfo,                            \
                                  const XrHapticBaseHeader* feedback),                                                \
          (session, actionInfo, feedback))                                                                            \
    entry(xrStopHapticFeedback, (XrSession session, const XrHapticActionInfo* actionInfo), (session, actionInfo))

#endif
