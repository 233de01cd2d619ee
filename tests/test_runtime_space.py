"""The mock runtime's system, spaces, views and paths, through the Khronos loader."""

from __future__ import annotations

import ctypes
import math

import pytest
import xr
from runtime_helpers import HEADLESS, create_session, loader_instance

HEAD_HEIGHT = 1.6
NOW = 1_000_000_000


@pytest.fixture
def instance():
    with loader_instance(HEADLESS) as instance:
        yield instance


@pytest.fixture
def session(instance):
    return create_session(instance)


def space(session, kind, position=(0, 0, 0), orientation=(0, 0, 0, 1)):
    pose = xr.Posef(xr.Quaternionf(*orientation), xr.Vector3f(*position))
    return xr.create_reference_space(session, xr.ReferenceSpaceCreateInfo(xr.ReferenceSpaceType[kind], pose))


def located(one, other):
    location = xr.locate_space(one, other, NOW)
    assert location.location_flags == 0b1111
    position = location.pose.position
    return pytest.approx((position.x, position.y, position.z), abs=1e-6)


# ---- system ----


def test_the_system_is_a_head_mounted_display(instance):
    system = xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY))
    properties = xr.get_system_properties(instance, system)
    assert properties.system_id == system.value
    assert properties.tracking_properties.position_tracking
    assert properties.graphics_properties.max_layer_count >= 16
    with pytest.raises(xr.exception.FormFactorUnsupportedError):
        xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HANDHELD_DISPLAY))
    with pytest.raises(xr.exception.SystemInvalidError):
        xr.get_system_properties(instance, 2)


def test_there_is_one_view_configuration_with_two_views(instance):
    assert list(xr.enumerate_view_configurations(instance, 1)) == [xr.ViewConfigurationType.PRIMARY_STEREO]
    assert len(xr.enumerate_view_configuration_views(instance, 1, xr.ViewConfigurationType.PRIMARY_STEREO)) == 2
    modes = xr.enumerate_environment_blend_modes(instance, 1, xr.ViewConfigurationType.PRIMARY_STEREO)
    assert list(modes) == [xr.EnvironmentBlendMode.OPAQUE]
    with pytest.raises(xr.exception.ViewConfigurationTypeUnsupportedError):
        xr.enumerate_view_configuration_views(instance, 1, xr.ViewConfigurationType.PRIMARY_MONO)


def test_an_array_that_is_too_small_is_told_the_count_it_needs(instance):
    count = ctypes.c_uint32()
    views = (xr.ViewConfigurationView * 1)()
    result = xr.raw_functions.xrEnumerateViewConfigurationViews(
        instance, 1, xr.ViewConfigurationType.PRIMARY_STEREO.value, 1, ctypes.byref(count), views
    )
    assert (result, count.value) == (xr.Result.ERROR_SIZE_INSUFFICIENT, 2)


# ---- spaces ----


def test_the_head_is_where_a_standing_users_head_is(session):
    view, local, stage = (space(session, kind) for kind in ("VIEW", "LOCAL", "STAGE"))
    assert located(view, stage) == (0, HEAD_HEIGHT, 0)
    assert located(stage, view) == (0, -HEAD_HEIGHT, 0)
    assert located(view, local) == (0, 0, 0)


def test_a_space_can_be_moved_and_turned_against_its_reference_space(session):
    half = math.sqrt(0.5)
    turned_left = space(session, "STAGE", position=(1, 0, 0), orientation=(0, half, 0, half))
    ahead = space(session, "STAGE", position=(1, 0, -2))
    assert located(ahead, turned_left) == (2, 0, 0)
    assert located(turned_left, ahead) == (0, 0, 2)


def test_a_pose_that_is_no_rotation_is_invalid(session):
    with pytest.raises(xr.exception.PoseInvalidError):
        space(session, "LOCAL", orientation=(0, 0, 0, 0))
    with pytest.raises(xr.exception.PoseInvalidError):
        space(session, "LOCAL", position=(math.nan, 0, 0))


def test_spaces_are_located_at_valid_times_only(session):
    view, stage = space(session, "VIEW"), space(session, "STAGE")
    with pytest.raises(xr.exception.TimeInvalidError):
        xr.locate_space(view, stage, 0)


def test_a_destroyed_space_is_invalid(session):
    view, stage = space(session, "VIEW"), space(session, "STAGE")
    xr.destroy_space(view)
    with pytest.raises(xr.exception.HandleInvalidError):
        xr.locate_space(view, stage, NOW)
    with pytest.raises(xr.exception.HandleInvalidError):
        xr.destroy_space(view)


def test_a_session_takes_its_spaces_with_it(session):
    view, stage = space(session, "VIEW"), space(session, "STAGE")
    xr.destroy_session(session)
    with pytest.raises(xr.exception.HandleInvalidError):
        xr.locate_space(view, stage, NOW)


def test_only_the_stage_has_bounds(session):
    bounds = xr.Extent2Df()
    get_bounds = xr.raw_functions.xrGetReferenceSpaceBoundsRect
    stage, local = xr.ReferenceSpaceType.STAGE.value, xr.ReferenceSpaceType.LOCAL.value
    assert get_bounds(session, stage, ctypes.byref(bounds)) == xr.Result.SUCCESS
    assert bounds.width > 0
    assert bounds.height > 0
    assert get_bounds(session, local, ctypes.byref(bounds)) == xr.Result.SPACE_BOUNDS_UNAVAILABLE
    assert (bounds.width, bounds.height) == (0, 0)


def test_reference_spaces_are_view_local_and_stage(session):
    kinds = {xr.ReferenceSpaceType(kind).name for kind in xr.enumerate_reference_spaces(session)}
    assert kinds == {"VIEW", "LOCAL", "STAGE"}


# ---- views ----


def test_the_eyes_are_left_and_right_of_the_head(session):
    info = xr.ViewLocateInfo(xr.ViewConfigurationType.PRIMARY_STEREO, NOW, space(session, "STAGE"))
    state, views = xr.locate_views(session, info)
    assert state.view_state_flags == 0b1111
    left, right = (view.pose.position for view in views)
    assert left.x < 0 < right.x
    assert right.x - left.x == pytest.approx(0.063, abs=0.01)
    assert left.y == right.y == pytest.approx(HEAD_HEIGHT)
    for view in views:
        assert view.fov.angle_left < 0 < view.fov.angle_right
        assert view.fov.angle_down < 0 < view.fov.angle_up


# ---- paths ----


def test_a_path_keeps_its_number_and_its_text(instance):
    path = xr.string_to_path(instance, "/user/hand/left")
    assert xr.string_to_path(instance, "/user/hand/left").value == path.value
    assert xr.string_to_path(instance, "/user/hand/right").value != path.value
    assert xr.path_to_string(instance, path) == "/user/hand/left"


@pytest.mark.parametrize("text", ["", "user", "/", "/user/", "//user", "/User", "/user/..", "/a b", "/" + "a" * 255])
def test_an_ill_formed_path_is_refused(instance, text):
    with pytest.raises(xr.exception.PathFormatInvalidError):
        xr.string_to_path(instance, text)


def test_the_longest_path_and_a_dot_in_a_name_are_accepted(instance):
    for text in ("/" + "a" * 254, "/user/a.b"):
        assert xr.path_to_string(instance, xr.string_to_path(instance, text)) == text


@pytest.mark.parametrize("path", [0, 1 << 40])
def test_an_unknown_path_has_no_text(instance, path):
    with pytest.raises(xr.exception.PathInvalidError):
        xr.path_to_string(instance, path)
