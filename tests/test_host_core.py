"""The host core in C: its own tests, under the sanitizers. See ``native/host_*_unit.c``."""

import subprocess

import host_programs
import pytest

PATIENCE = "-DOXA_DESTROY_PATIENCE_NS=200000000"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("sanitizer", ["memory", "threads"])
@pytest.mark.parametrize(
    "program",
    ["host_tools_unit", "host_metadata_unit", "host_queue_unit", "host_destroy_unit", "host_channel_unit"],
)
def test_the_core_keeps_its_promises(program, sanitizer, tmp_path_factory):
    path = host_programs.build(program, sanitizer, PATIENCE)
    environment = host_programs.environment(XDG_RUNTIME_DIR=str(tmp_path_factory.mktemp("u")))
    run = subprocess.run([path], check=False, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr


def test_the_core_compiles_without_warnings_for_release(tmp_path):
    flags = [*host_programs.FLAGS, "-O2", "-fPIC", f"-I{host_programs.ROOT / 'native_headers'}", "-c"]
    if not host_programs.works("plain"):
        pytest.skip("no C compiler")
    built = subprocess.run(
        [host_programs.CC, *flags, *host_programs.core_sources()],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (built.returncode, built.stderr) == (0, "")
