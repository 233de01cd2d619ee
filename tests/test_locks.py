"""How the package holds its locks."""

import ast
import pathlib

import openxr_agentic as agentic


def in_scope(node):
    """The nodes below one that run in the same frame; a generator expression has its own on every Python."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)):
            yield child
            yield from in_scope(child)


def ends_in_a_condition(node):
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        return any(generator.ifs for generator in node.generators)
    endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
    if isinstance(node, ast.For) or endless:
        return isinstance(node.body[-1], ast.If)
    return isinstance(node, ast.While)


def test_no_lock_is_held_by_the_function_of_a_loop_that_ends_in_a_condition():
    # Ctrl-C at the jump back of one leaves the `with` without __exit__: python/cpython#130279.
    package = pathlib.Path(agentic.__file__).parent
    locked = [
        (path, block)
        for path in package.rglob("*.py")
        for block in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(block, ast.With) and any(ast.unparse(item.context_expr).endswith("lock") for item in block.items)
    ]
    assert len(locked) > 20
    wrong = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path, block in locked
        for node in in_scope(block)
        if ends_in_a_condition(node)
    ]
    assert wrong == []
