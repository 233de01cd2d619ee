"""Tools that are only marked, in a package, and found by a registry. Needs no OpenXR.

python examples/tools_discovery.py

The package is scene_tools, beside this file; it knows no registry. One that is installed can offer its tools to every
app that calls `registry.initialize()`, by an entry point in its pyproject.toml:

    [project.entry-points."openxr_agentic.tools"]
    scene = "scene_tools.actors"
"""

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


def main() -> None:
    """Find the tools, and call them as an agent would."""
    problems = registry.initialize("scene_tools.*")  # the package, and all modules in it
    print(f"{len(problems)} problems")
    for setting in registry.settings():
        print(setting.name, setting.groups, "enabled" if setting.enabled else "disabled")

    print(registry.execute("wave", {"name": "Ada"}))
    print(registry.execute("list_actors"))
    registry.set_enabled(group="lights", enabled=True)
    print(registry.execute("dim_light"))

    # A run-time tool covers a discovered one of its name, until it is unregistered or the registry refreshed.
    registry.register("wave", lambda name: f"{name} is on strike", "Say why an actor does not wave.")
    print(registry.execute("wave", {"name": "Ada"}))
    registry.refresh()
    print(registry.execute("wave", {"name": "Alan"}), registry.execute("dim_light"))


if __name__ == "__main__":
    main()
