"""Kernels of devices: accelerators, or anything else that OpenCL offers."""

from assay.kernels.gpu.all_devices import ALL
from assay.kernels.gpu.collective import COLLECTIVE
from assay.kernels.gpu.gemm import GEMM
from assay.kernels.gpu.latency import LATENCY
from assay.kernels.gpu.launch import LAUNCH
from assay.kernels.gpu.peer import PEER
from assay.kernels.gpu.stream import STREAM
from assay.kernels.gpu.transfer import TRANSFER

KERNELS = (STREAM, TRANSFER, LAUNCH, LATENCY, GEMM, PEER, COLLECTIVE, ALL)
