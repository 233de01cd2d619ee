/* Spaces and views: a user who stands still.
 *
 * The stage's origin is on the floor. The head is 1.6 m above it and looks
 * along -z; local space has its origin where the head was at first, and it has
 * not moved since. */
#include "runtime.h"

#include <math.h>

#define HEAD_HEIGHT 1.6f
#define HALF_EYE_DISTANCE 0.0315f
#define HALF_FIELD_OF_VIEW 0.785f /* radians, each way */
#define STAGE_SIDE 3.0f

static const XrReferenceSpaceType reference_spaces[] = {XR_REFERENCE_SPACE_TYPE_VIEW, XR_REFERENCE_SPACE_TYPE_LOCAL,
                                                        XR_REFERENCE_SPACE_TYPE_STAGE};
#define REFERENCE_SPACE_COUNT ((uint32_t)(sizeof reference_spaces / sizeof *reference_spaces))

static const XrPosef identity = {{0, 0, 0, 1}, {0, 0, 0}};

/* ---- poses ---- */

/* The specification lets a runtime refuse a quaternion that is off by more than 1 %. */
int oxa_pose_is_valid(const XrPosef* pose) {
    const XrQuaternionf q = pose->orientation;
    const float length_squared = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    return length_squared > 0.98f && length_squared < 1.02f && isfinite(pose->position.x) &&
           isfinite(pose->position.y) && isfinite(pose->position.z);
}

static XrQuaternionf conjugate(XrQuaternionf q) { return (XrQuaternionf){-q.x, -q.y, -q.z, q.w}; }

/* First b, then a. */
static XrQuaternionf multiply(XrQuaternionf a, XrQuaternionf b) {
    return (XrQuaternionf){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                           a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                           a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

static XrVector3f rotate(XrQuaternionf q, XrVector3f v) {
    const XrQuaternionf turned = multiply(multiply(q, (XrQuaternionf){v.x, v.y, v.z, 0}), conjugate(q));
    return (XrVector3f){turned.x, turned.y, turned.z};
}

/* A pose that is given in `outer`, seen from where `outer` is given in. */
static XrPosef compose(XrPosef outer, XrPosef inner) {
    const XrVector3f moved = rotate(outer.orientation, inner.position);
    return (XrPosef){multiply(outer.orientation, inner.orientation),
                     {outer.position.x + moved.x, outer.position.y + moved.y, outer.position.z + moved.z}};
}

static XrPosef invert(XrPosef pose) {
    const XrQuaternionf back = conjugate(pose.orientation);
    const XrVector3f moved = rotate(back, pose.position);
    return (XrPosef){back, {-moved.x, -moved.y, -moved.z}};
}

/* ---- spaces ---- */

static int is_reference_space(XrReferenceSpaceType type) {
    for (uint32_t i = 0; i < REFERENCE_SPACE_COUNT; i++) {
        if (reference_spaces[i] == type) return 1;
    }
    return 0;
}

static int is_tracked(const OxaSpace* space) { return is_reference_space(space->type); }

static XrPosef pose_in_stage(const OxaSpace* space) {
    XrPosef origin = identity;
    if (space->type != XR_REFERENCE_SPACE_TYPE_STAGE) origin.position.y = HEAD_HEIGHT;
    return compose(origin, space->pose);
}

XrResult oxa_xrEnumerateReferenceSpaces(XrSession handle, uint32_t capacity, uint32_t* count,
                                        XrReferenceSpaceType* types) {
    OXA_REQUIRE(OXA_FIND_SESSION(handle) != NULL, XR_ERROR_HANDLE_INVALID);
    XrResult result = oxa_two_call(capacity, count, types, REFERENCE_SPACE_COUNT);
    if (result == XR_SUCCESS && capacity > 0) memcpy(types, reference_spaces, sizeof reference_spaces);
    return result;
}

static XrResult create_space(OxaSession* session, XrReferenceSpaceType type, const XrPosef* pose,
                             XrSpace* result_handle) {
    OxaSpace* space = oxa_object_create(OXA_SPACE, sizeof *space, session);
    OXA_REQUIRE(space != NULL, XR_ERROR_OUT_OF_MEMORY);
    space->type = type;
    space->pose = *pose;
    *result_handle = OXA_HANDLE(XrSpace, space->object.handle);
    return XR_SUCCESS;
}

XrResult oxa_xrCreateReferenceSpace(XrSession handle, const XrReferenceSpaceCreateInfo* createInfo,
                                    XrSpace* result_handle) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_REFERENCE_SPACE_CREATE_INFO) && result_handle != NULL,
                XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(is_reference_space(createInfo->referenceSpaceType), XR_ERROR_REFERENCE_SPACE_UNSUPPORTED);
    OXA_REQUIRE(oxa_pose_is_valid(&createInfo->poseInReferenceSpace), XR_ERROR_POSE_INVALID);
    return create_space(session, createInfo->referenceSpaceType, &createInfo->poseInReferenceSpace, result_handle);
}

XrResult oxa_xrGetReferenceSpaceBoundsRect(XrSession handle, XrReferenceSpaceType type, XrExtent2Df* bounds) {
    OXA_REQUIRE(OXA_FIND_SESSION(handle) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(bounds != NULL, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(is_reference_space(type), XR_ERROR_REFERENCE_SPACE_UNSUPPORTED);
    if (type != XR_REFERENCE_SPACE_TYPE_STAGE) {
        *bounds = (XrExtent2Df){0, 0};
        return XR_SPACE_BOUNDS_UNAVAILABLE;
    }
    *bounds = (XrExtent2Df){STAGE_SIDE, STAGE_SIDE};
    return XR_SUCCESS;
}

XrResult oxa_xrCreateActionSpace(XrSession handle, const XrActionSpaceCreateInfo* createInfo, XrSpace* result_handle) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_ACTION_SPACE_CREATE_INFO) && result_handle != NULL,
                XR_ERROR_VALIDATION_FAILURE);
    OxaAction* action = OXA_FIND_ACTION(createInfo->action);
    OXA_REQUIRE(action != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(action->type == XR_ACTION_TYPE_POSE_INPUT, XR_ERROR_ACTION_TYPE_MISMATCH);
    OXA_REQUIRE(oxa_pose_is_valid(&createInfo->poseInActionSpace), XR_ERROR_POSE_INVALID);
    XrResult result = oxa_action_check_subaction(action, createInfo->subactionPath);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    return create_space(session, (XrReferenceSpaceType)0, &createInfo->poseInActionSpace, result_handle);
}

XrResult oxa_xrDestroySpace(XrSpace handle) {
    OxaSpace* space = OXA_FIND_SPACE(handle);
    OXA_REQUIRE(space != NULL, XR_ERROR_HANDLE_INVALID);
    oxa_object_destroy(space);
    return XR_SUCCESS;
}

static void answer_velocity(void* next, int tracked) {
    for (XrBaseOutStructure* structure = next; structure != NULL; structure = structure->next) {
        if (structure->type != XR_TYPE_SPACE_VELOCITY) continue;
        XrSpaceVelocity* velocity = (XrSpaceVelocity*)(void*)structure;
        velocity->velocityFlags =
            tracked ? XR_SPACE_VELOCITY_LINEAR_VALID_BIT | XR_SPACE_VELOCITY_ANGULAR_VALID_BIT : 0;
        velocity->linearVelocity = (XrVector3f){0, 0, 0};
        velocity->angularVelocity = (XrVector3f){0, 0, 0};
    }
}

XrResult oxa_xrLocateSpace(XrSpace handle, XrSpace baseSpace, XrTime time, XrSpaceLocation* location) {
    const OxaSpace* space = OXA_FIND_SPACE(handle);
    const OxaSpace* base = OXA_FIND_SPACE(baseSpace);
    OXA_REQUIRE(space != NULL && base != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(location, XR_TYPE_SPACE_LOCATION), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(space->object.parent == base->object.parent, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(time > 0, XR_ERROR_TIME_INVALID);
    const int tracked = is_tracked(space) && is_tracked(base);
    answer_velocity(location->next, tracked);
    location->locationFlags = 0;
    location->pose = identity;
    if (tracked) {
        location->locationFlags = XR_SPACE_LOCATION_ORIENTATION_VALID_BIT | XR_SPACE_LOCATION_POSITION_VALID_BIT |
                                  XR_SPACE_LOCATION_ORIENTATION_TRACKED_BIT | XR_SPACE_LOCATION_POSITION_TRACKED_BIT;
        location->pose = compose(invert(pose_in_stage(base)), pose_in_stage(space));
    }
    return XR_SUCCESS;
}

/* ---- views ---- */

XrResult oxa_xrLocateViews(XrSession handle, const XrViewLocateInfo* locateInfo, XrViewState* viewState,
                           uint32_t capacity, uint32_t* count, XrView* views) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(locateInfo, XR_TYPE_VIEW_LOCATE_INFO) && OXA_IS(viewState, XR_TYPE_VIEW_STATE),
                XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(locateInfo->viewConfigurationType == XR_VIEW_CONFIGURATION_TYPE_PRIMARY_STEREO,
                XR_ERROR_VIEW_CONFIGURATION_TYPE_UNSUPPORTED);
    const OxaSpace* space = OXA_FIND_SPACE(locateInfo->space);
    OXA_REQUIRE(space != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(space->object.parent == &session->object, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(locateInfo->displayTime > 0, XR_ERROR_TIME_INVALID);
    XrResult result = oxa_two_call(capacity, count, views, OXA_VIEW_COUNT);
    OXA_REQUIRE(result == XR_SUCCESS, result);

    const int tracked = is_tracked(space);
    viewState->viewStateFlags = tracked ? XR_VIEW_STATE_ORIENTATION_VALID_BIT | XR_VIEW_STATE_POSITION_VALID_BIT |
                                              XR_VIEW_STATE_ORIENTATION_TRACKED_BIT | XR_VIEW_STATE_POSITION_TRACKED_BIT
                                        : 0;
    for (uint32_t i = 0; capacity > 0 && i < OXA_VIEW_COUNT; i++) {
        OXA_REQUIRE(views[i].type == XR_TYPE_VIEW, XR_ERROR_VALIDATION_FAILURE);
        XrPosef eye = identity; /* in the stage */
        eye.position.x = i == 0 ? -HALF_EYE_DISTANCE : HALF_EYE_DISTANCE;
        eye.position.y = HEAD_HEIGHT;
        views[i].pose = tracked ? compose(invert(pose_in_stage(space)), eye) : identity;
        views[i].fov = (XrFovf){-HALF_FIELD_OF_VIEW, HALF_FIELD_OF_VIEW, HALF_FIELD_OF_VIEW, -HALF_FIELD_OF_VIEW};
    }
    return XR_SUCCESS;
}
