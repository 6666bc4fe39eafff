"""Environments in the form that libraries of reinforcement learning want; each is imported when it is asked for.

    StableBaselinesEnv(env)     stable_baselines3.common.vec_env.VecEnv; arrays on the host
    SkrlEnv(env)                skrl.envs.wrappers.torch.Wrapper; wants backend="torch"
    RslRlEnv(env)               rsl_rl.env.VecEnv's interface; wants backend="torch"
"""

from importlib import import_module

_MODULES = {"StableBaselinesEnv": "stable_baselines", "SkrlEnv": "skrl_wrapper", "RslRlEnv": "rsl_rl_env"}

__all__ = ["RslRlEnv", "SkrlEnv", "StableBaselinesEnv"]


def __getattr__(name: str):
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
