"""Products of matrices on a device."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import BACKEND, DEVICE, DEVICE_TIME
from assay.model.placement import Placement, Value

#: Types of matrices, with the multiple that vendors' libraries need for n.
MULTIPLES = {"fp64": 1, "fp32": 1, "tf32": 1, "fp16": 1, "bf16": 1, "fp8": 16, "int8": 4}
#: Types that assay's own kernel multiplies.
OWN_TYPES = ("fp64", "fp32", "fp16", "int8")
#: Columns of the factors that differ (native/gpu/square_product.cpp).
_VECTORS = 61 + 59
#: Bytes of results that the check reads at a time.
_PIECE = 32 << 20


def _gemm_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"flops": 2.0 * float(int(parameters["n"])) ** 3 * ranks}


def _gemm_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    """What the host holds: the columns that differ, as numbers and in their type, and a piece of
    the results.
    """
    return 16.0 * _VECTORS * int(parameters["n"]) + _PIECE


def _gemm_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    number_type, library = str(parameters["type"]), str(parameters["library"])
    own = library == "own" or (library == "auto" and parameters["backend"] == "opencl")
    if own and number_type not in OWN_TYPES:
        return (
            f"assay's own kernel has no product of {number_type} matrices: choose "
            f"{', '.join(OWN_TYPES)}, or a vendor's library (backend=cuda or hip)."
        )
    if library == "vendor" and parameters["backend"] == "opencl":
        return "OpenCL has no vendor's library of matrix products: choose library=own."
    multiple = MULTIPLES[number_type]
    if not own and int(parameters["n"]) % multiple:
        return (
            f"Vendors' libraries multiply {number_type} matrices if n is a multiple of "
            f"{multiple}, not with n={parameters['n']}."
        )
    return None


GEMM = Kernel(
    name="gpu.gemm",
    title="Matrix products on a device, in the types that its library multiplies",
    min_devices=1,
    parameters=(
        Parameter(
            "type",
            "fp64",
            "type of the matrices; tf32: fp32 in memory, multiplied with 11 bits",
            choices=tuple(MULTIPLES),
        ),
        Parameter(
            "n",
            0,
            "the matrices are n × n; 0: 32 tiles of 128 × 128 entries per compute unit, and at "
            "most a quarter of the device's memory",
            low=0,
            high=65_536,
        ),
        Parameter(
            "library",
            "auto",
            "what multiplies: the vendor's library (cuBLASLt, hipBLASLt) or assay's own kernel; "
            "auto: the vendor's, with OpenCL assay's own",
            choices=("auto", "vendor", "own"),
        ),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one product, slowest rank"),
        DEVICE_TIME,
        Metric(
            "rate",
            "flop/s",
            "more",
            "additions and multiplications of all devices",
            quantity="flops",
        ),
        Metric(
            "rate.device",
            "flop/s",
            "more",
            "the same by the device's own clock",
            series="device_time",
            quantity="flops",
        ),
    ),
    work=_gemm_work,
    source="Higham (2002), 3.5; Volkov & Demmel (2008); Fasi et al. (2021)",
    headline="rate",
    notes="D = Aᵀ B with random data that use all bits of their type: zeros or other repeated "
    "numbers need less power, so that many devices multiply them faster. The result has the type "
    "of the factors, except for fp8 (bfloat16) and int8 (32-bit integers, whose operations also "
    "count as flops). Every entry is compared with the processor's product; the bound follows "
    "from the type's rounding errors. A second product, of numbers whose sums are exact, must be "
    "equal up to the rounding of its entries. A sample is a batch of products of about 20 ms. "
    "The fact `library` names what multiplied.",
    work_units={"flops": "flop"},
    formulas={"flops": "2 n³ ranks"},
    memory=_gemm_memory,
    check=_gemm_check,
)
