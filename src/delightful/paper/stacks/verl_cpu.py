"""A CPU platform for verl, which ships only nvidia, npu and rocm: made by its own registry.

Importing this module, before verl, makes it the platform that verl finds.
"""

import contextlib
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

os.environ["VERL_PLATFORM"] = "cpu"

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def _nothing(*_: Any, **__: Any) -> None:
    return None


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):  # type: ignore[misc]
    device_name = "cpu"
    vendor_name = "cpu"
    device_module = SimpleNamespace(  # what verl asks of torch.cuda and torch.cpu has not
        is_available=lambda: False,
        get_device_name=lambda *_: "CPU",
        current_device=lambda: "cpu",
        device_count=lambda: 1,
        get_rng_state=torch.get_rng_state,
        set_rng_state=torch.set_rng_state,
        mem_get_info=lambda *_: (0, 0),
        **dict.fromkeys(("set_device", "synchronize", "empty_cache"), _nothing),
        **dict.fromkeys(("memory_allocated", "max_memory_allocated"), lambda *_: 0),
        **dict.fromkeys(("memory_reserved", "max_memory_reserved"), lambda *_: 0),
    )

    def is_available(self) -> bool:
        return True

    def current_device(self) -> torch.device:
        return torch.device("cpu")  # verl only hands it to .to(), where an index would mean cuda

    def device_count(self) -> int:
        return 1

    def get_device_capability(self, _: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CPU_VISIBLE_DEVICES"

    def ray_resource_name(self) -> str:
        return "CPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    @contextlib.contextmanager
    def nvtx_range(self, _: str) -> Iterator[None]:
        yield

    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    manual_seed = manual_seed_all = profiler_start = profiler_stop = cudart = _nothing
