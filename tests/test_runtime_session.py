"""Sessions of the mock runtime: states, events and frames, through the Khronos loader."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time

import pytest
import xr
from runtime_helpers import (
    HEADLESS,
    begin_session,
    create_session,
    loader_instance,
    queued_states,
)

PERIOD_NS = 2_000_000


@pytest.fixture
def instance():
    with loader_instance(HEADLESS, display_period=PERIOD_NS / 1e9) as instance:
        yield instance


@pytest.fixture
def session(instance):
    return create_session(instance)


@pytest.fixture
def running(session):
    begin_session(session)
    return session


def end_frame(session, display_time=1, **fields):
    info = xr.FrameEndInfo(display_time, xr.EnvironmentBlendMode.OPAQUE)
    for name, value in fields.items():
        setattr(info, name, value)
    xr.end_frame(session, info)


# ---- states ----


def test_a_session_passes_through_all_states_of_its_life(instance):
    session = create_session(instance)
    assert queued_states(instance) == ["IDLE", "READY"]
    begin_session(session)
    assert queued_states(instance) == ["SYNCHRONIZED", "VISIBLE", "FOCUSED"]
    xr.request_exit_session(session)
    assert queued_states(instance) == ["VISIBLE", "SYNCHRONIZED", "STOPPING"]
    xr.end_session(session)
    assert queued_states(instance) == ["IDLE", "EXITING"]
    xr.destroy_session(session)
    assert queued_states(instance) == []


def test_a_running_session_cannot_begin_again(running):
    with pytest.raises(xr.exception.SessionRunningError):
        begin_session(running)


def test_a_session_that_ended_is_not_ready(running):
    xr.request_exit_session(running)
    xr.end_session(running)
    with pytest.raises(xr.exception.SessionNotReadyError):
        begin_session(running)


def test_a_session_that_does_not_run_can_neither_end_nor_be_asked_to_exit(session):
    with pytest.raises(xr.exception.SessionNotRunningError):
        xr.end_session(session)
    with pytest.raises(xr.exception.SessionNotRunningError):
        xr.request_exit_session(session)


def test_a_session_cannot_end_before_it_is_stopping(running):
    with pytest.raises(xr.exception.SessionNotStoppingError):
        xr.end_session(running)


def test_asking_twice_to_exit_queues_no_more_events(instance, running):
    xr.request_exit_session(running)
    queued_states(instance)
    xr.request_exit_session(running)
    assert queued_states(instance) == []


def test_only_stereo_sessions_begin(session):
    with pytest.raises(xr.exception.ViewConfigurationTypeUnsupportedError):
        xr.begin_session(session, xr.SessionBeginInfo(xr.ViewConfigurationType.PRIMARY_MONO))


def test_events_of_a_destroyed_session_are_gone(instance, session):
    xr.destroy_session(session)
    assert queued_states(instance) == []


def test_one_session_lives_at_a_time(instance, session):
    with pytest.raises(xr.exception.LimitReachedError):
        create_session(instance)
    xr.destroy_session(session)
    create_session(instance)


def test_a_session_without_graphics_needs_the_headless_extension():
    with loader_instance() as instance, pytest.raises(xr.exception.GraphicsDeviceInvalidError):
        create_session(instance)


def test_a_graphics_binding_is_refused(instance):
    binding = xr.BaseInStructure(type=xr.StructureType.GRAPHICS_BINDING_VULKAN_KHR)
    info = xr.SessionCreateInfo(system_id=1, next=ctypes.cast(ctypes.pointer(binding), ctypes.c_void_p))
    with pytest.raises(xr.exception.GraphicsDeviceInvalidError):
        xr.create_session(instance, info)


def test_polling_with_a_buffer_of_another_type_is_refused(instance):
    buffer = xr.EventDataBuffer()
    buffer.type = xr.StructureType.EVENT_DATA_EVENTS_LOST
    result = xr.raw_functions.xrPollEvent(instance, ctypes.byref(buffer))
    assert result == xr.Result.ERROR_VALIDATION_FAILURE


def test_no_event_is_lost_when_an_app_polls_only_at_the_end(instance, running):
    xr.request_exit_session(running)
    xr.end_session(running)
    up = ["IDLE", "READY", "SYNCHRONIZED", "VISIBLE", "FOCUSED"]
    assert queued_states(instance) == [*up, "VISIBLE", "SYNCHRONIZED", "STOPPING", "IDLE", "EXITING"]


# ---- frames ----


def test_frames_lie_on_one_grid_of_display_periods(running):
    times = []
    for _ in range(5):
        state = xr.wait_frame(running)
        assert state.predicted_display_period == PERIOD_NS
        assert time.monotonic_ns() >= state.predicted_display_time - PERIOD_NS  # it slept until the period began
        xr.begin_frame(running)
        end_frame(running, state.predicted_display_time)
        times.append(state.predicted_display_time)
    steps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(step > 0 and step % PERIOD_NS == 0 for step in steps)


def test_a_headless_frame_need_not_be_rendered(running):
    assert not xr.wait_frame(running).should_render


def test_frame_calls_need_a_running_session(session):
    with pytest.raises(xr.exception.SessionNotRunningError):
        xr.wait_frame(session)
    with pytest.raises(xr.exception.SessionNotRunningError):
        xr.begin_frame(session)
    with pytest.raises(xr.exception.SessionNotRunningError):
        end_frame(session)


def test_a_frame_cannot_begin_before_it_was_waited_for(running):
    with pytest.raises(xr.exception.CallOrderInvalidError):
        xr.begin_frame(running)
    xr.wait_frame(running)
    xr.begin_frame(running)
    with pytest.raises(xr.exception.CallOrderInvalidError):
        xr.begin_frame(running)


def test_a_frame_cannot_end_before_it_began(running):
    xr.wait_frame(running)
    with pytest.raises(xr.exception.CallOrderInvalidError):
        end_frame(running)


def test_a_frame_that_begins_before_the_last_one_ended_discards_it(running):
    xr.wait_frame(running)
    xr.begin_frame(running)
    xr.wait_frame(running)
    assert xr.raw_functions.xrBeginFrame(running, None) == xr.Result.FRAME_DISCARDED
    end_frame(running)


def test_a_frame_ends_with_a_time_and_a_blend_mode_that_exist(running):
    xr.wait_frame(running)
    xr.begin_frame(running)
    with pytest.raises(xr.exception.TimeInvalidError):
        end_frame(running, 0)
    with pytest.raises(xr.exception.EnvironmentBlendModeUnsupportedError):
        end_frame(running, environment_blend_mode=xr.EnvironmentBlendMode.ADDITIVE)
    with pytest.raises(xr.exception.LayerLimitExceededError):
        end_frame(running, layer_count=17)
    end_frame(running)


def test_a_layer_must_be_known_and_name_a_swapchain_that_exists(running):
    xr.wait_frame(running)
    xr.begin_frame(running)
    stage = xr.create_reference_space(running, xr.ReferenceSpaceCreateInfo(xr.ReferenceSpaceType.STAGE, xr.Posef()))
    layer = xr.CompositionLayerQuad(space=stage)
    layers = (ctypes.POINTER(xr.CompositionLayerBaseHeader) * 1)()
    info = xr.FrameEndInfo(1, xr.EnvironmentBlendMode.OPAQUE)
    info.layer_count = 1
    assert xr.raw_functions.xrEndFrame(running, ctypes.byref(info)) == xr.Result.ERROR_VALIDATION_FAILURE
    info._layers = ctypes.cast(layers, type(info._layers))
    assert xr.raw_functions.xrEndFrame(running, ctypes.byref(info)) == xr.Result.ERROR_LAYER_INVALID
    layers[0] = ctypes.cast(ctypes.pointer(layer), type(layers[0]))
    assert xr.raw_functions.xrEndFrame(running, ctypes.byref(info)) == xr.Result.ERROR_HANDLE_INVALID
    layer.type = xr.StructureType.UNKNOWN
    assert xr.raw_functions.xrEndFrame(running, ctypes.byref(info)) == xr.Result.ERROR_LAYER_INVALID


def test_waiting_goes_on_as_soon_as_the_frame_before_begins(running):
    first = xr.wait_frame(running)
    second = []
    waiter = threading.Thread(target=lambda: second.append(xr.wait_frame(running)))
    waiter.start()
    xr.begin_frame(running)
    waiter.join()
    assert second[0].predicted_display_time > first.predicted_display_time


def test_waiting_for_a_frame_that_never_begins_ends_with_the_session(running):
    xr.wait_frame(running)
    results = []

    def wait():
        try:
            xr.wait_frame(running)
        except xr.exception.SessionNotRunningError as error:
            results.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    xr.request_exit_session(running)
    xr.end_session(running)
    waiter.join()
    assert len(results) == 1


def test_a_session_that_ended_forgets_its_open_frame(instance, running):
    xr.wait_frame(running)
    xr.begin_frame(running)
    xr.request_exit_session(running)
    xr.end_session(running)
    xr.destroy_session(running)
    session = create_session(instance)
    begin_session(session)
    with pytest.raises(xr.exception.CallOrderInvalidError):
        end_frame(session)


# ---- swapchains: there are none ----


def test_a_headless_session_has_no_swapchains(session):
    assert list(xr.enumerate_swapchain_formats(session)) == []
    info = xr.SwapchainCreateInfo(
        usage_flags=xr.SwapchainUsageFlags.COLOR_ATTACHMENT_BIT,
        format=37,
        sample_count=1,
        width=64,
        height=64,
        face_count=1,
        array_size=1,
        mip_count=1,
    )
    with pytest.raises(xr.exception.SwapchainFormatUnsupportedError):
        xr.create_swapchain(session, info)
    info.width = 0
    with pytest.raises(xr.exception.ValidationFailureError):
        xr.create_swapchain(session, info)
