"""Let functions that differentiate others with wp.grad be called from any depth.

Warp (1.19) emits functions that use wp.grad after all others, since they need the others' adjoints; a function that
calls such a function is emitted before it, and does not compile. Here the mark "uses wp.grad" is passed on to callers,
so that they are emitted after what they call. If a later Warp orders functions itself, this changes nothing.
"""

from warp._src.context import ModuleBuilder

_original = ModuleBuilder._propagate_used_by_backward_kernel


def _propagate(builder: ModuleBuilder) -> None:
    """Mark the callers of functions that use wp.grad; callees come before callers in the builder's order."""
    _original(builder)
    for function in builder.functions:
        if any(callee.adj.uses_grad_call for callee in function.adj.called_user_functions):
            function.adj.uses_grad_call = True


def install() -> None:
    """From now on order functions so."""
    ModuleBuilder._propagate_used_by_backward_kernel = _propagate  # type: ignore[method-assign]
