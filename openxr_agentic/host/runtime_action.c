/* Action sets, actions, and what an app says about them before it reads them. */
#include "runtime.h"

/* The interaction profiles of core OpenXR 1.0; others need an extension. */
static const char* const interaction_profiles[] = {
    "/interaction_profiles/khr/simple_controller",       "/interaction_profiles/google/daydream_controller",
    "/interaction_profiles/htc/vive_controller",         "/interaction_profiles/htc/vive_pro",
    "/interaction_profiles/microsoft/motion_controller", "/interaction_profiles/microsoft/xbox_controller",
    "/interaction_profiles/oculus/go_controller",        "/interaction_profiles/oculus/touch_controller",
    "/interaction_profiles/valve/index_controller",
};

/* A name is one component of a path. */
static int is_name(const char* text) {
    if (*text == 0) return 0;
    for (; *text != 0; text++) {
        const char c = *text;
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.')) return 0;
    }
    return 1;
}

XrResult oxa_xrCreateActionSet(XrInstance handle, const XrActionSetCreateInfo* createInfo, XrActionSet* result_handle) {
    OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_ACTION_SET_CREATE_INFO) && result_handle != NULL,
                XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(OXA_TERMINATED(createInfo->actionSetName) && is_name(createInfo->actionSetName), XR_ERROR_NAME_INVALID);
    OXA_REQUIRE(OXA_TERMINATED(createInfo->localizedActionSetName) && createInfo->localizedActionSetName[0] != 0,
                XR_ERROR_LOCALIZED_NAME_INVALID);
    for (OxaActionSet* other = NULL; (other = oxa_object_next(OXA_ACTION_SET, instance, other)) != NULL;) {
        OXA_REQUIRE(strcmp(other->name, createInfo->actionSetName) != 0, XR_ERROR_NAME_DUPLICATED);
        OXA_REQUIRE(strcmp(other->localized_name, createInfo->localizedActionSetName) != 0,
                    XR_ERROR_LOCALIZED_NAME_DUPLICATED);
    }
    OxaActionSet* set = oxa_object_create(OXA_ACTION_SET, sizeof *set, instance);
    OXA_REQUIRE(set != NULL, XR_ERROR_OUT_OF_MEMORY);
    memcpy(set->name, createInfo->actionSetName, sizeof set->name);
    memcpy(set->localized_name, createInfo->localizedActionSetName, sizeof set->localized_name);
    *result_handle = OXA_HANDLE(XrActionSet, set->object.handle);
    return XR_SUCCESS;
}

XrResult oxa_xrDestroyActionSet(XrActionSet handle) {
    OxaActionSet* set = OXA_FIND_ACTION_SET(handle);
    OXA_REQUIRE(set != NULL, XR_ERROR_HANDLE_INVALID);
    oxa_object_destroy(set);
    return XR_SUCCESS;
}

static XrResult check_subaction_paths(const OxaInstance* instance, const XrActionCreateInfo* info) {
    OXA_REQUIRE(info->countSubactionPaths == 0 || info->subactionPaths != NULL, XR_ERROR_VALIDATION_FAILURE);
    for (uint32_t i = 0; i < info->countSubactionPaths; i++) {
        const char* text = oxa_path_text(instance, info->subactionPaths[i]);
        OXA_REQUIRE(text != NULL, XR_ERROR_PATH_INVALID);
        OXA_REQUIRE(oxa_path_is_top_level_user(text), XR_ERROR_PATH_UNSUPPORTED);
        for (uint32_t k = 0; k < i; k++) {
            OXA_REQUIRE(info->subactionPaths[k] != info->subactionPaths[i], XR_ERROR_PATH_UNSUPPORTED);
        }
    }
    return XR_SUCCESS;
}

static int is_action_type(XrActionType type) {
    switch (type) {
        case XR_ACTION_TYPE_BOOLEAN_INPUT:
        case XR_ACTION_TYPE_FLOAT_INPUT:
        case XR_ACTION_TYPE_VECTOR2F_INPUT:
        case XR_ACTION_TYPE_POSE_INPUT:
        case XR_ACTION_TYPE_VIBRATION_OUTPUT:
            return 1;
        default:
            return 0;
    }
}

static XrResult check_action_names(const OxaActionSet* set, const XrActionCreateInfo* info) {
    OXA_REQUIRE(OXA_TERMINATED(info->actionName) && is_name(info->actionName), XR_ERROR_NAME_INVALID);
    OXA_REQUIRE(OXA_TERMINATED(info->localizedActionName) && info->localizedActionName[0] != 0,
                XR_ERROR_LOCALIZED_NAME_INVALID);
    for (OxaAction* other = NULL; (other = oxa_object_next(OXA_ACTION, set, other)) != NULL;) {
        OXA_REQUIRE(strcmp(other->name, info->actionName) != 0, XR_ERROR_NAME_DUPLICATED);
        OXA_REQUIRE(strcmp(other->localized_name, info->localizedActionName) != 0, XR_ERROR_LOCALIZED_NAME_DUPLICATED);
    }
    return XR_SUCCESS;
}

XrResult oxa_xrCreateAction(XrActionSet handle, const XrActionCreateInfo* createInfo, XrAction* result_handle) {
    OxaActionSet* set = OXA_FIND_ACTION_SET(handle);
    OXA_REQUIRE(set != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_ACTION_CREATE_INFO) && result_handle != NULL, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(is_action_type(createInfo->actionType), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(!set->attached_once, XR_ERROR_ACTIONSETS_ALREADY_ATTACHED);
    XrResult result = check_action_names(set, createInfo);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    result = check_subaction_paths((OxaInstance*)set->object.parent, createInfo);
    OXA_REQUIRE(result == XR_SUCCESS, result);

    const size_t path_bytes = createInfo->countSubactionPaths * sizeof(XrPath);
    OxaAction* action = oxa_object_create(OXA_ACTION, sizeof *action + path_bytes, set);
    OXA_REQUIRE(action != NULL, XR_ERROR_OUT_OF_MEMORY);
    memcpy(action->name, createInfo->actionName, sizeof action->name);
    memcpy(action->localized_name, createInfo->localizedActionName, sizeof action->localized_name);
    action->type = createInfo->actionType;
    action->subaction_path_count = createInfo->countSubactionPaths;
    if (path_bytes > 0) memcpy(action->subaction_paths, createInfo->subactionPaths, path_bytes);
    *result_handle = OXA_HANDLE(XrAction, action->object.handle);
    return XR_SUCCESS;
}

XrResult oxa_xrDestroyAction(XrAction handle) {
    OxaAction* action = OXA_FIND_ACTION(handle);
    OXA_REQUIRE(action != NULL, XR_ERROR_HANDLE_INVALID);
    oxa_object_destroy(action);
    return XR_SUCCESS;
}

int oxa_action_is_attached(const OxaAction* action, const OxaSession* session) {
    return OXA_ACTION_SET_OF(action)->session == session->object.handle;
}

XrResult oxa_action_check_subaction(const OxaAction* action, XrPath path) {
    if (path == XR_NULL_PATH) return XR_SUCCESS;
    const OxaInstance* instance = (const OxaInstance*)OXA_ACTION_SET_OF(action)->object.parent;
    OXA_REQUIRE(oxa_path_text(instance, path) != NULL, XR_ERROR_PATH_INVALID);
    for (uint32_t i = 0; i < action->subaction_path_count; i++) {
        if (action->subaction_paths[i] == path) return XR_SUCCESS;
    }
    return XR_ERROR_PATH_UNSUPPORTED;
}

/* ---- bindings and attachment ---- */

static int is_interaction_profile(const char* text) {
    for (size_t i = 0; i < sizeof interaction_profiles / sizeof *interaction_profiles; i++) {
        if (strcmp(text, interaction_profiles[i]) == 0) return 1;
    }
    return 0;
}

/* Checked and forgotten: there is no controller to bind to. */
XrResult oxa_xrSuggestInteractionProfileBindings(XrInstance handle,
                                                 const XrInteractionProfileSuggestedBinding* suggestedBindings) {
    const OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(suggestedBindings, XR_TYPE_INTERACTION_PROFILE_SUGGESTED_BINDING), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(suggestedBindings->countSuggestedBindings > 0 && suggestedBindings->suggestedBindings != NULL,
                XR_ERROR_VALIDATION_FAILURE);
    const char* profile = oxa_path_text(instance, suggestedBindings->interactionProfile);
    OXA_REQUIRE(profile != NULL, XR_ERROR_PATH_INVALID);
    OXA_REQUIRE(is_interaction_profile(profile), XR_ERROR_PATH_UNSUPPORTED);
    for (uint32_t i = 0; i < suggestedBindings->countSuggestedBindings; i++) {
        const XrActionSuggestedBinding* binding = &suggestedBindings->suggestedBindings[i];
        const OxaAction* action = OXA_FIND_ACTION(binding->action);
        OXA_REQUIRE(action != NULL && OXA_ACTION_SET_OF(action)->object.parent == &instance->object,
                    XR_ERROR_HANDLE_INVALID);
        OXA_REQUIRE(!OXA_ACTION_SET_OF(action)->attached_once, XR_ERROR_ACTIONSETS_ALREADY_ATTACHED);
        const char* source = oxa_path_text(instance, binding->binding);
        OXA_REQUIRE(source != NULL, XR_ERROR_PATH_INVALID);
        OXA_REQUIRE(strncmp(source, "/user/", strlen("/user/")) == 0, XR_ERROR_PATH_UNSUPPORTED);
    }
    return XR_SUCCESS;
}

XrResult oxa_xrAttachSessionActionSets(XrSession handle, const XrSessionActionSetsAttachInfo* attachInfo) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(attachInfo, XR_TYPE_SESSION_ACTION_SETS_ATTACH_INFO), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(attachInfo->countActionSets > 0 && attachInfo->actionSets != NULL, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(!session->action_sets_attached, XR_ERROR_ACTIONSETS_ALREADY_ATTACHED);
    for (uint32_t i = 0; i < attachInfo->countActionSets; i++) {
        const OxaActionSet* set = OXA_FIND_ACTION_SET(attachInfo->actionSets[i]);
        OXA_REQUIRE(set != NULL && set->object.parent == session->object.parent, XR_ERROR_HANDLE_INVALID);
    }
    for (uint32_t i = 0; i < attachInfo->countActionSets; i++) {
        OxaActionSet* set = OXA_FIND_ACTION_SET(attachInfo->actionSets[i]);
        set->attached_once = 1;
        set->session = session->object.handle;
    }
    session->action_sets_attached = 1;
    return XR_SUCCESS;
}

XrResult oxa_xrGetCurrentInteractionProfile(XrSession handle, XrPath topLevelUserPath,
                                            XrInteractionProfileState* profile) {
    const OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(profile, XR_TYPE_INTERACTION_PROFILE_STATE), XR_ERROR_VALIDATION_FAILURE);
    const char* user = oxa_path_text(OXA_SESSION_INSTANCE(session), topLevelUserPath);
    OXA_REQUIRE(user != NULL, XR_ERROR_PATH_INVALID);
    OXA_REQUIRE(oxa_path_is_top_level_user(user), XR_ERROR_PATH_UNSUPPORTED);
    OXA_REQUIRE(session->action_sets_attached, XR_ERROR_ACTIONSET_NOT_ATTACHED);
    profile->interactionProfile = XR_NULL_PATH;
    return XR_SUCCESS;
}
