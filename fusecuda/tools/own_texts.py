"""A script's texts: where it makes some of values, a second form of its code shows the values.

`capture/calls/printed.py` says how. What has a format of its own, as ``{x:.3f}``, needs none: of
containers there is no such text.
"""

from __future__ import annotations

import ast
import re
from typing import Any

INSIDE, LAZY, EACH = "<inside>", "<lazy>", "<each>"  # names of functions, which nobody else can use
_SHOWN = re.compile(r"%(\([^)]*\))?[-#0 +*\d.]*[sra]")


def makes_texts(tree: ast.Module) -> bool:
    """True if some code of a module has another form."""
    return any(
        isinstance(n, ast.FormattedValue) or _fills(n) or _is_format(n) for n in ast.walk(tree)
    )


class Showing(ast.NodeTransformer):
    """Lets the values of which texts are made pass through functions."""

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        self.generic_visit(node)
        spec = node.format_spec
        is_given = isinstance(spec, ast.JoinedStr) and any(
            isinstance(part, ast.Constant) and part.value for part in spec.values
        )
        if node.conversion != -1 or not is_given:
            node.value = _through(LAZY if node.conversion in (97, 114) else INSIDE, node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if _fills(node):
            node.right = _through(LAZY, node.right)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not _is_format(node):
            return node
        for number, part in enumerate(node.args):
            if isinstance(part, ast.Starred):
                part.value = _through(EACH, part.value)
            else:
                node.args[number] = _through(LAZY, part)
        for keyword in node.keywords:
            keyword.value = _through(LAZY, keyword.value)
        return node


def _fills(node: ast.AST) -> bool:
    """True for ``"%s" % x``, in which a text may show what containers hold."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mod):
        return False
    if isinstance(node.left, ast.Constant):
        return isinstance(node.left.value, str) and bool(_SHOWN.search(node.left.value))
    containers = (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.DictComp)
    return isinstance(node.left, ast.JoinedStr) or isinstance(node.right, containers)


def _is_format(node: ast.AST) -> bool:
    """True for ``"{}".format(x)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    text = node.func.value
    is_text = isinstance(text, ast.Constant) and type(text.value) is str
    return is_text and node.func.attr == "format"


def _through(name: str, value: ast.expr) -> ast.expr:
    made = ast.Call(ast.Name(name, ast.Load()), [value], [])
    return ast.fix_missing_locations(ast.copy_location(made, value))
