/* Reading actions. No controller is ever connected: every action is inactive,
 * nothing is bound, and a vibration is felt by nobody. */
#include "runtime.h"

XrResult oxa_xrSyncActions(XrSession handle, const XrActionsSyncInfo* syncInfo) {
    const OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(syncInfo, XR_TYPE_ACTIONS_SYNC_INFO), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(syncInfo->countActiveActionSets == 0 || syncInfo->activeActionSets != NULL,
                XR_ERROR_VALIDATION_FAILURE);
    for (uint32_t i = 0; i < syncInfo->countActiveActionSets; i++) {
        const XrActiveActionSet* active = &syncInfo->activeActionSets[i];
        const OxaActionSet* set = OXA_FIND_ACTION_SET(active->actionSet);
        OXA_REQUIRE(set != NULL, XR_ERROR_HANDLE_INVALID);
        OXA_REQUIRE(set->session == session->object.handle, XR_ERROR_ACTIONSET_NOT_ATTACHED);
        OXA_REQUIRE(active->subactionPath == XR_NULL_PATH ||
                        oxa_path_text(OXA_SESSION_INSTANCE(session), active->subactionPath) != NULL,
                    XR_ERROR_PATH_INVALID);
    }
    return session->state == XR_SESSION_STATE_FOCUSED ? XR_SUCCESS : XR_SESSION_NOT_FOCUSED;
}

/* What reading an action's state and driving its haptics have in common. */
static XrResult check_action(XrSession handle, XrAction action_handle, XrActionType type, XrPath subaction_path) {
    const OxaSession* session = OXA_FIND_SESSION(handle);
    const OxaAction* action = OXA_FIND_ACTION(action_handle);
    OXA_REQUIRE(session != NULL && action != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(oxa_action_is_attached(action, session), XR_ERROR_ACTIONSET_NOT_ATTACHED);
    OXA_REQUIRE(action->type == type, XR_ERROR_ACTION_TYPE_MISMATCH);
    return oxa_action_check_subaction(action, subaction_path);
}

static XrResult check_state(XrSession session, const XrActionStateGetInfo* info, XrActionType type) {
    OXA_REQUIRE(OXA_FIND_SESSION(session) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(info, XR_TYPE_ACTION_STATE_GET_INFO), XR_ERROR_VALIDATION_FAILURE);
    return check_action(session, info->action, type, info->subactionPath);
}

XrResult oxa_xrGetActionStateBoolean(XrSession session, const XrActionStateGetInfo* getInfo,
                                     XrActionStateBoolean* state) {
    XrResult result = check_state(session, getInfo, XR_ACTION_TYPE_BOOLEAN_INPUT);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(OXA_IS(state, XR_TYPE_ACTION_STATE_BOOLEAN), XR_ERROR_VALIDATION_FAILURE);
    *state = (XrActionStateBoolean){.type = state->type, .next = state->next};
    return XR_SUCCESS;
}

XrResult oxa_xrGetActionStateFloat(XrSession session, const XrActionStateGetInfo* getInfo, XrActionStateFloat* state) {
    XrResult result = check_state(session, getInfo, XR_ACTION_TYPE_FLOAT_INPUT);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(OXA_IS(state, XR_TYPE_ACTION_STATE_FLOAT), XR_ERROR_VALIDATION_FAILURE);
    *state = (XrActionStateFloat){.type = state->type, .next = state->next};
    return XR_SUCCESS;
}

XrResult oxa_xrGetActionStateVector2f(XrSession session, const XrActionStateGetInfo* getInfo,
                                      XrActionStateVector2f* state) {
    XrResult result = check_state(session, getInfo, XR_ACTION_TYPE_VECTOR2F_INPUT);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(OXA_IS(state, XR_TYPE_ACTION_STATE_VECTOR2F), XR_ERROR_VALIDATION_FAILURE);
    *state = (XrActionStateVector2f){.type = state->type, .next = state->next};
    return XR_SUCCESS;
}

XrResult oxa_xrGetActionStatePose(XrSession session, const XrActionStateGetInfo* getInfo, XrActionStatePose* state) {
    XrResult result = check_state(session, getInfo, XR_ACTION_TYPE_POSE_INPUT);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(OXA_IS(state, XR_TYPE_ACTION_STATE_POSE), XR_ERROR_VALIDATION_FAILURE);
    state->isActive = XR_FALSE;
    return XR_SUCCESS;
}

XrResult oxa_xrEnumerateBoundSourcesForAction(XrSession handle,
                                              const XrBoundSourcesForActionEnumerateInfo* enumerateInfo,
                                              uint32_t capacity, uint32_t* count, XrPath* sources) {
    const OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(enumerateInfo, XR_TYPE_BOUND_SOURCES_FOR_ACTION_ENUMERATE_INFO), XR_ERROR_VALIDATION_FAILURE);
    const OxaAction* action = OXA_FIND_ACTION(enumerateInfo->action);
    OXA_REQUIRE(action != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(oxa_action_is_attached(action, session), XR_ERROR_ACTIONSET_NOT_ATTACHED);
    return oxa_two_call(capacity, count, sources, 0);
}

XrResult oxa_xrGetInputSourceLocalizedName(XrSession handle, const XrInputSourceLocalizedNameGetInfo* getInfo,
                                           uint32_t capacity, uint32_t* count, char* buffer) {
    const XrInputSourceLocalizedNameFlags known = XR_INPUT_SOURCE_LOCALIZED_NAME_USER_PATH_BIT |
                                                  XR_INPUT_SOURCE_LOCALIZED_NAME_INTERACTION_PROFILE_BIT |
                                                  XR_INPUT_SOURCE_LOCALIZED_NAME_COMPONENT_BIT;
    const OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(getInfo, XR_TYPE_INPUT_SOURCE_LOCALIZED_NAME_GET_INFO) && count != NULL &&
                    (capacity == 0 || buffer != NULL),
                XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(getInfo->whichComponents != 0 && (getInfo->whichComponents & ~known) == 0, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(oxa_path_text(OXA_SESSION_INSTANCE(session), getInfo->sourcePath) != NULL, XR_ERROR_PATH_INVALID);
    OXA_REQUIRE(session->action_sets_attached, XR_ERROR_ACTIONSET_NOT_ATTACHED);
    return XR_ERROR_PATH_UNSUPPORTED; /* xrEnumerateBoundSourcesForAction gave out no source */
}

static XrResult check_haptics(XrSession session, const XrHapticActionInfo* info) {
    OXA_REQUIRE(OXA_FIND_SESSION(session) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(info, XR_TYPE_HAPTIC_ACTION_INFO), XR_ERROR_VALIDATION_FAILURE);
    return check_action(session, info->action, XR_ACTION_TYPE_VIBRATION_OUTPUT, info->subactionPath);
}

static XrResult success_if_focused(XrSession session) {
    return OXA_FIND_SESSION(session)->state == XR_SESSION_STATE_FOCUSED ? XR_SUCCESS : XR_SESSION_NOT_FOCUSED;
}

XrResult oxa_xrApplyHapticFeedback(XrSession session, const XrHapticActionInfo* actionInfo,
                                   const XrHapticBaseHeader* feedback) {
    XrResult result = check_haptics(session, actionInfo);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(OXA_IS(feedback, XR_TYPE_HAPTIC_VIBRATION), XR_ERROR_VALIDATION_FAILURE);
    return success_if_focused(session);
}

XrResult oxa_xrStopHapticFeedback(XrSession session, const XrHapticActionInfo* actionInfo) {
    XrResult result = check_haptics(session, actionInfo);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    return success_if_focused(session);
}
