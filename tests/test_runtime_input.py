"""Actions of the mock runtime: the rules hold, and nothing is ever pressed."""

from __future__ import annotations

import ctypes

import pytest
import xr
from runtime_helpers import HEADLESS, begin_session, create_session, loader_instance

SIMPLE_CONTROLLER = "/interaction_profiles/khr/simple_controller"
SELECT = "/user/hand/left/input/select/click"


@pytest.fixture
def instance():
    with loader_instance(HEADLESS) as instance:
        yield instance


@pytest.fixture
def session(instance):
    return create_session(instance)


@pytest.fixture
def action_set(instance):
    return create_set(instance)


def create_set(instance, name="play", localized="Play"):
    return xr.create_action_set(instance, xr.ActionSetCreateInfo(name, localized, 0))


def create_action(action_set, kind="BOOLEAN_INPUT", name="press", localized="Press", paths=()):
    return xr.create_action(
        action_set,
        xr.ActionCreateInfo(
            action_name=name,
            action_type=xr.ActionType[kind],
            count_subaction_paths=len(paths),
            subaction_paths=list(paths) or None,
            localized_action_name=localized,
        ),
    )


def attach(session, *sets):
    xr.attach_session_action_sets(session, xr.SessionActionSetsAttachInfo(action_sets=list(sets)))


def suggest(instance, action, source=SELECT, profile=SIMPLE_CONTROLLER):
    binding = xr.ActionSuggestedBinding(action, xr.string_to_path(instance, source))
    xr.suggest_interaction_profile_bindings(
        instance,
        xr.InteractionProfileSuggestedBinding(
            interaction_profile=xr.string_to_path(instance, profile), suggested_bindings=[binding]
        ),
    )


def sync(session, *sets):
    active = [xr.ActiveActionSet(action_set, 0) for action_set in sets]
    info = xr.ActionsSyncInfo(active_action_sets=active)
    return xr.raw_functions.xrSyncActions(session, ctypes.byref(info))


# ---- names ----


@pytest.mark.parametrize("name", ["Play", "a b", "a/b"])
def test_a_name_is_one_component_of_a_path(instance, action_set, name):
    with pytest.raises(xr.exception.NameInvalidError):
        create_set(instance, name, "Other")
    with pytest.raises(xr.exception.NameInvalidError):
        create_action(action_set, name=name)


def test_an_empty_name_is_invalid(instance, action_set):
    with pytest.raises(xr.exception.NameInvalidError):
        create_set(instance, "", "Other")
    with pytest.raises(xr.exception.LocalizedNameInvalidError):
        create_action(action_set, localized="")


def test_names_are_unique_among_action_sets(instance, action_set):
    with pytest.raises(xr.exception.NameDuplicatedError):
        create_set(instance, "play", "Other")
    with pytest.raises(xr.exception.LocalizedNameDuplicatedError):
        create_set(instance, "other", "Play")
    xr.destroy_action_set(action_set)
    create_set(instance)


def test_names_are_unique_within_an_action_set(instance, action_set):
    create_action(action_set)
    with pytest.raises(xr.exception.NameDuplicatedError):
        create_action(action_set, localized="Other")
    with pytest.raises(xr.exception.LocalizedNameDuplicatedError):
        create_action(action_set, name="other")
    create_action(create_set(instance, "other", "Other"))


def test_subaction_paths_are_top_level_user_paths_named_once(instance, action_set):
    left = xr.string_to_path(instance, "/user/hand/left")
    for paths in ([left, left], [xr.string_to_path(instance, SELECT)]):
        with pytest.raises(xr.exception.PathUnsupportedError):
            create_action(action_set, paths=paths)
    with pytest.raises(xr.exception.PathInvalidError):
        create_action(action_set, paths=[1 << 40])


# ---- attachment ----


def test_action_sets_are_attached_once(session, action_set):
    attach(session, action_set)
    with pytest.raises(xr.exception.ActionsetsAlreadyAttachedError):
        attach(session, action_set)


def test_an_attached_action_set_is_immutable(instance, session, action_set):
    action = create_action(action_set)
    attach(session, action_set)
    with pytest.raises(xr.exception.ActionsetsAlreadyAttachedError):
        create_action(action_set, name="late", localized="Late")
    with pytest.raises(xr.exception.ActionsetsAlreadyAttachedError):
        suggest(instance, action)


def test_an_action_set_can_be_attached_to_the_next_session_too(instance, session, action_set):
    action = create_action(action_set)
    attach(session, action_set)
    xr.destroy_session(session)
    second = create_session(instance)
    with pytest.raises(xr.exception.ActionsetNotAttachedError):
        xr.get_action_state_boolean(second, xr.ActionStateGetInfo(action))
    attach(second, action_set)
    assert not xr.get_action_state_boolean(second, xr.ActionStateGetInfo(action)).is_active


def test_bindings_are_accepted_for_core_profiles_and_user_paths(instance, action_set):
    action = create_action(action_set)
    suggest(instance, action)
    with pytest.raises(xr.exception.PathUnsupportedError):
        suggest(instance, action, profile="/interaction_profiles/acme/gadget")
    with pytest.raises(xr.exception.PathUnsupportedError):
        suggest(instance, action, source="/input/select/click")


def test_an_action_set_takes_its_actions_with_it(instance, action_set):
    action = create_action(action_set)
    xr.destroy_action_set(action_set)
    with pytest.raises(xr.exception.HandleInvalidError):
        suggest(instance, action)
    with pytest.raises(xr.exception.HandleInvalidError):
        xr.destroy_action(action)


# ---- states ----

GETTERS = {
    "BOOLEAN_INPUT": xr.get_action_state_boolean,
    "FLOAT_INPUT": xr.get_action_state_float,
    "VECTOR2F_INPUT": xr.get_action_state_vector2f,
    "POSE_INPUT": xr.get_action_state_pose,
}


@pytest.mark.parametrize("kind", GETTERS)
def test_an_action_is_inactive_and_read_as_its_own_type_only(session, action_set, kind):
    action = create_action(action_set, kind)
    attach(session, action_set)
    for other, get in GETTERS.items():
        if other == kind:
            assert not get(session, xr.ActionStateGetInfo(action)).is_active
        else:
            with pytest.raises(xr.exception.ActionTypeMismatchError):
                get(session, xr.ActionStateGetInfo(action))


def test_an_action_that_is_not_attached_cannot_be_read(session, action_set):
    action = create_action(action_set)
    with pytest.raises(xr.exception.ActionsetNotAttachedError):
        xr.get_action_state_boolean(session, xr.ActionStateGetInfo(action))
    assert sync(session, action_set) == xr.Result.ERROR_ACTIONSET_NOT_ATTACHED


def test_an_action_is_read_for_its_own_subaction_paths_only(instance, session, action_set):
    left, right = (xr.string_to_path(instance, f"/user/hand/{hand}") for hand in ("left", "right"))
    action = create_action(action_set, paths=[left])
    attach(session, action_set)
    assert not xr.get_action_state_boolean(session, xr.ActionStateGetInfo(action, left)).is_active
    with pytest.raises(xr.exception.PathUnsupportedError):
        xr.get_action_state_boolean(session, xr.ActionStateGetInfo(action, right))


def test_actions_sync_while_the_session_is_focused(session, action_set):
    attach(session, action_set)
    assert sync(session, action_set) == xr.Result.SESSION_NOT_FOCUSED
    begin_session(session)
    assert sync(session, action_set) == xr.Result.SUCCESS
    xr.request_exit_session(session)
    assert sync(session, action_set) == xr.Result.SESSION_NOT_FOCUSED


def test_nothing_is_bound_and_no_profile_is_in_use(instance, session, action_set):
    hand = xr.string_to_path(instance, "/user/hand/left")
    action = create_action(action_set)
    with pytest.raises(xr.exception.ActionsetNotAttachedError):
        xr.get_current_interaction_profile(session, hand)
    attach(session, action_set)
    assert xr.get_current_interaction_profile(session, hand).interaction_profile == 0
    info = xr.BoundSourcesForActionEnumerateInfo(action)
    assert list(xr.enumerate_bound_sources_for_action(session, info)) == []


def test_a_pose_action_has_a_space_that_is_never_located(session, action_set):
    action = create_action(action_set, "POSE_INPUT")
    hand = xr.create_action_space(session, xr.ActionSpaceCreateInfo(action, 0, xr.Posef()))
    stage = xr.create_reference_space(session, xr.ReferenceSpaceCreateInfo(xr.ReferenceSpaceType.STAGE, xr.Posef()))
    assert xr.locate_space(hand, stage, 1).location_flags == 0
    button = create_action(action_set, "BOOLEAN_INPUT", "button", "Button")
    with pytest.raises(xr.exception.ActionTypeMismatchError):
        xr.create_action_space(session, xr.ActionSpaceCreateInfo(button, 0, xr.Posef()))


def test_vibration_is_accepted_for_vibration_actions_only(session, action_set):
    buzz = create_action(action_set, "VIBRATION_OUTPUT")
    button = create_action(action_set, "BOOLEAN_INPUT", "button", "Button")
    attach(session, action_set)
    begin_session(session)
    vibration = xr.HapticVibration(amplitude=0.5, duration=xr.MIN_HAPTIC_DURATION)
    xr.apply_haptic_feedback(session, xr.HapticActionInfo(buzz), vibration)
    xr.stop_haptic_feedback(session, xr.HapticActionInfo(buzz))
    with pytest.raises(xr.exception.ActionTypeMismatchError):
        xr.apply_haptic_feedback(session, xr.HapticActionInfo(button), vibration)
