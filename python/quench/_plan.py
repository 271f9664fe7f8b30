"""The plan of a quantization: which tensors get which quantizer, and why; which stay float, and why."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Iterator, Union


@dataclass
class PlanEntry:
    """One quantizer. Everything but `name` and `role` may be changed."""

    name: str  # the tensor that is quantized
    role: str  # "weight", "activation" or "bias"
    scheme: str  # "int8 symmetric channel:0 narrow"
    reason: str = ""  # the rule of the platform or of the user that put it there
    observer: str = ""
    observer_options: dict[str, Any] = field(default_factory=dict)
    fake_quant: str = ""
    fake_quant_options: dict[str, Any] = field(default_factory=dict)
    shared_with: str = ""  # takes the scale of this tensor
    derived_from: list[str] = field(default_factory=list)  # a bias in int32: its scale is the product of those of these two

    @property
    def bits(self) -> int:
        """Of the integers in `scheme`."""
        found = re.match(r"u?int(\d+)", self.scheme)
        if not found:
            raise ValueError(f"'{self.name}' is not quantized to integers, but to '{self.scheme}'")
        return int(found[1])

    @bits.setter
    def bits(self, bits: int) -> None:
        self.scheme = re.sub(r"^(u?int)\d+", rf"\g<1>{int(bits)}", self.scheme)


@dataclass
class PlanSkip:
    """A tensor that stays float."""

    name: str
    reason: str


_KEYS = {"name": "value", "reason": "rule"}  # ours -> the library's


def _entry_of(entry: dict[str, Any]) -> PlanEntry:
    ours = {theirs: own for own, theirs in _KEYS.items()}
    return PlanEntry(**{ours.get(key, key): value for key, value in entry.items()})


def _dict_of(entry: PlanEntry) -> dict[str, Any]:
    needed = ("name", "role", "scheme", "reason")
    return {_KEYS.get(key, key): value for key, value in vars(entry).items() if value or key in needed}


@dataclass
class Plan:
    """Editable; `quantize(..., plan=plan)` carries it out."""

    platform: str
    parity: bool
    quantize: str  # how the target divides
    entries: list[PlanEntry]
    skipped: list[PlanSkip]

    @staticmethod
    def from_json(text: str) -> Plan:
        """Of the library's JSON (`quench plan --json`)."""
        read = json.loads(text)
        return Plan(read["platform"], read["parity"], read["quantize"], [_entry_of(entry) for entry in read["quantized"]],
                    [PlanSkip(skip["value"], skip["reason"]) for skip in read["float"]])

    def to_json(self) -> str:
        """What the library, and `quench quantize --plan`, reads."""
        return json.dumps({"version": 1, "platform": self.platform, "parity": self.parity, "quantize": self.quantize,
                           "quantized": [_dict_of(entry) for entry in self.entries],
                           "float": [{"value": skip.name, "reason": skip.reason} for skip in self.skipped]}, indent=1)

    def __iter__(self) -> Iterator[PlanEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: Union[str, int]) -> PlanEntry:
        if isinstance(name, int):
            return self.entries[name]
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"the plan has no quantizer of '{name}'")

    def leave_float(self, name: str, reason: str = "left float by hand") -> None:
        """Takes a tensor's quantizer out, and the biases whose scale would have come from it."""
        self[name]
        gone = {entry.name for entry in self.entries if entry.name == name or name in entry.derived_from}
        self.entries = [entry for entry in self.entries if entry.name not in gone]
        self.skipped += [PlanSkip(value, reason) for value in sorted(gone)]
