"""Preloads the profiling library into a command: builds it for the command's MPI, and sets
variables.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import msgspec

from assay.config import Config
from assay.errors import AssayError
from assay.kernels.builds.compiling import header_packages
from assay.kernels.builds.toolchain import Flavour, Toolchain
from assay.kernels.builds.trace import build_sampler, build_trace
from assay.kernels.program_mpi import (
    LAUNCHERS,
    ProgramRefused,
    is_static,
    is_static_mpi,
    parallel_of,
)
from assay.kernels.toolchains import detect_toolchains, mpi_of_launcher

FLAVOURS = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
_ELF = b"\x7fELF"
# Variable that Open MPI's launcher (4 and earlier) sets in ranks, also on other hosts. The launcher
# refuses -x in addition.
_ENVIRONMENT_LIST = "OMPI_MCA_mca_base_env_list"
_PRELOAD = "LD_PRELOAD"
# Options of MPICH's launcher that take a variable's name and value.
_HYDRA_SETS = {"-env", "--env", "-genv", "--genv"}
# Wrappers of installations other than the first mpicxx on PATH (Debian).
_OTHER_WRAPPERS: tuple[tuple[Flavour, str], ...] = (
    ("openmpi", "mpicxx.openmpi"), ("mpich", "mpicxx.mpich"),
)  # fmt: skip
# Executables that may load MPI although they aren't linked with it.
_LOADERS = re.compile(
    r"python[\d.]*|perl[\d.]*|julia|Rscript|R|java|octave(-cli)?|matlab|lua[\d.]*"
)


@dataclass(frozen=True)
class Preload:
    """The libraries for a command.

    There are several if the command's MPI isn't known. In a process, the library of another MPI
    does nothing.
    """

    libraries: tuple[Path, ...]
    #: MPI of the first library, with its version.
    mpi: str

    def variables(
        self, mine: Mapping[str, str], command: Sequence[str], inherited: Mapping[str, str]
    ) -> dict[str, str]:
        """``mine``, and the variables that preload the libraries into all processes of the command.

        Launchers pass variables on by themselves, but Open MPI's launcher passes only named
        variables to other hosts. A method of this class adds the names to the command, unless the
        user has set the variable that excludes this option.
        """
        found = {_PRELOAD: self._together(inherited.get(_PRELOAD, "")), **mine}
        if inherited.get(_ENVIRONMENT_LIST) and _open_mpi_launcher(command) is not None:
            settings = [f"{key}={value}" for key, value in found.items()]
            found[_ENVIRONMENT_LIST] = ";".join((inherited[_ENVIRONMENT_LIST], *settings))
        return found

    def told(
        self, command: Sequence[str], names: Sequence[str], inherited: Mapping[str, str]
    ) -> list[str]:
        """The command with options that make its launcher pass on these variables. The libraries
        precede those that the command's own words preload.
        """
        words = self._with_own_preloads(list(command), [_PRELOAD, *names])
        at = _open_mpi_launcher(words)
        if at is None or inherited.get(_ENVIRONMENT_LIST):
            return words
        found = words[: at + 1]
        for number, part in enumerate(_programs(words[at + 1 :])):
            named = {word.partition("=")[0] for word in _arguments_of("-x", part)}
            wanted = [name for name in (_PRELOAD, *names) if name not in named]
            found += [":"] if number else []
            found += [word for name in wanted for word in ("-x", name)]
            found += part
        return found

    def _together(self, others: str) -> str:
        return " ".join(filter(None, (*map(str, self.libraries), others)))

    def _with_own_preloads(self, words: list[str], names: Sequence[str]) -> list[str]:
        own = f"{_PRELOAD}="
        for place, word in enumerate(words):
            before = words[place - 2 : place] if place >= 2 else []
            if word.startswith(own):
                words[place] = own + self._together(word.removeprefix(own))
            elif len(before) == 2 and before[0] in _HYDRA_SETS and before[1] == _PRELOAD:
                words[place] = self._together(word)
            elif word.startswith("--export=") and _is_srun(words[:place]):
                listed = word.removeprefix("--export=").split(",")
                if "ALL" not in listed:
                    kept = [one for one in listed if one not in ("NONE", "NIL")]
                    words[place] = "--export=" + ",".join(dict.fromkeys([*kept, *names]))
        return words


def _arguments_of(option: str, words: Sequence[str]) -> list[str]:
    return [then for word, then in itertools.pairwise(words) if word == option]


def _programs(words: Sequence[str]) -> list[list[str]]:
    """The words of each program in ``mpirun -n 1 a : -n 1 b``. Each program has its own options."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            found.append([])
        else:
            found[-1].append(word)
    return found


def _is_srun(words: Sequence[str]) -> bool:
    return any(PurePath(word).name == "srun" for word in words)


def _open_mpi_launcher(command: Sequence[str]) -> int | None:
    """The index of Open MPI's launcher in a command; None if there is none."""
    for place, word in enumerate(command):
        if PurePath(word).name in LAUNCHERS:
            return place if mpi_of_launcher(shutil.which(word))[0] == "openmpi" else None
    return None


@dataclass(frozen=True)
class _ProgramMpi:
    """The MPI of a program, and its launcher; "" if unknown."""

    flavour: Flavour
    launcher: str


def preload_of(
    command: Sequence[str],
    config: Config,
    progress: Callable[[str], None],
    *,
    sample: bool = False,
) -> Preload:
    """The libraries for a command, built if necessary.

    ``sample``: also the library that samples call stacks. A program without MPI then needs only
    this one. ``progress`` receives a sentence before a build. Raises AssayError if the program is
    static, if its MPI has no compiler, or if `build_trace` or `build_sampler` does.
    """
    if sample and runs_without_mpi(command):
        _refuse_static(command)
        return Preload((_preloadable(build_sampler(progress)),), "")
    mpi = _mpi_of(command)
    libraries: list[Path] = []
    try:
        toolchains = _toolchains_of(mpi, config)
    except AssayError:
        if not sample or mpi.flavour != "other":
            raise
        return Preload((_preloadable(build_sampler(progress)),), "")  # it may need no MPI
    for toolchain in toolchains:
        try:
            built = build_trace(toolchain.mpicxx, toolchain.wrapper_environment, progress)
        except AssayError:
            if not libraries:
                raise
            continue  # the command may need only the first library
        libraries.append(_preloadable(built))
    if sample:
        libraries.append(_preloadable(build_sampler(progress)))
    first = toolchains[0]
    flavour = first.mpi_flavour if mpi.flavour == "other" else mpi.flavour
    name = " ".join(filter(None, (FLAVOURS.get(flavour, "MPI"), first.mpi_version)))
    return Preload(tuple(libraries), name)


def _preloadable(library: Path) -> Path:
    if re.search(r"[\s:]", str(library)):
        raise AssayError(
            "The profiling library can't be preloaded: its path contains a blank or a colon, "
            "which the dynamic linker reads as a separator.",
            where=str(library),
            fix="Set ASSAY_CACHE to a folder without blanks and colons.",
        )
    return library


def _refuse_static(command: Sequence[str]) -> None:
    """Raises AssayError if the program is static."""
    path = shutil.which(command[0])
    with contextlib.suppress(OSError):
        if path is not None and is_static(Path(path).read_bytes()):
            raise AssayError(
                "The program is statically linked, so assay can't preload a library to sample it. "
                "The program was not run.",
                where=command[0],
                fix="Link it dynamically (without -static).",
            )


def runs_without_mpi(command: Sequence[str]) -> bool:
    """Whether the command names executables, none of which is linked with MPI or may load MPI."""
    found = False
    for word in command:
        path = shutil.which(word)
        if path is None or Path(path).name in LAUNCHERS:
            continue
        if _LOADERS.fullmatch(Path(path).name):
            return False
        with contextlib.suppress(OSError, ProgramRefused):
            content = Path(path).read_bytes()
            if not content.startswith(_ELF) or parallel_of(Path(path), content)[0] == "mpi":
                return False  # a script may start any program
            found = True
    return found


def _mpi_of(command: Sequence[str]) -> _ProgramMpi:
    """From the first executable that is linked with MPI; for a script, from its launcher."""
    for word in command:
        path = shutil.which(word)
        if path is None or Path(path).name in LAUNCHERS:
            continue
        try:
            with Path(path).open("rb") as file:
                content = file.read() if file.read(4) == _ELF else b""
        except OSError:
            continue
        if not content:
            continue
        content = _ELF + content
        if is_static_mpi(content):
            raise AssayError(
                "The program is statically linked, so assay can't preload a library to record "
                "its MPI calls. The program was not run.",
                where=word,
                fix="Link it dynamically (without -static).",
            )
        try:
            parallel, flavour, launcher = parallel_of(Path(path), content)
        except ProgramRefused as why:
            raise AssayError(
                f"{Path(path).name} {why}",
                where=word,
                fix="Load the modules that the program needs, so that its MPI launcher is on PATH.",
            ) from None
        if parallel != "mpi" or not flavour:
            continue
        return _ProgramMpi(flavour, launcher)
    launcher = next((word for word in command if Path(word).name in LAUNCHERS), "")
    path = shutil.which(launcher) if launcher else None
    flavour, _ = mpi_of_launcher(path)
    return _ProgramMpi(flavour, path or "")


def _toolchains_of(mpi: _ProgramMpi, config: Config) -> list[Toolchain]:
    """The toolchain with the program's launcher, or otherwise one with its MPI; if the MPI is
    unknown, one toolchain for each MPI.

    Raises AssayError if there is none.
    """
    usable = [one for one in detect_toolchains(config) if one.mpicxx]
    same = [one for one in usable if mpi.launcher and _is_beside(one, mpi.launcher)]
    alike = [one for one in usable if one.mpi_flavour == mpi.flavour]
    beside = _compiler_beside(mpi.launcher)
    if same:
        return same[:1]
    if beside and usable:
        return [_with_wrapper(usable[0], beside, mpi.flavour, mpi.launcher)]
    if alike and mpi.flavour != "other":
        return alike[:1]
    if usable and mpi.flavour == "other":
        return _one_of_each(usable)
    name = FLAVOURS.get(mpi.flavour, "the program's MPI")
    raise AssayError(
        f"The profiling library can't be built: there is no mpicxx for {name}.",
        where=mpi.launcher,
        fix=f"Install the development files ({header_packages(mpi.flavour)}), load the MPI's "
        "module, or name its mpicxx in assay.toml (toolchains).",
    )


def _one_of_each(usable: Sequence[Toolchain]) -> list[Toolchain]:
    """The first toolchain for each kind of MPI, including MPIs with only a wrapper on PATH."""
    found = {_kind(one.mpi_flavour): one for one in reversed(usable)}
    for flavour, wrapper in _OTHER_WRAPPERS:
        path = shutil.which(wrapper)
        if path and flavour not in found:
            launcher = shutil.which(wrapper.replace("mpicxx", "mpirun")) or ""
            found[flavour] = _with_wrapper(usable[0], path, flavour, launcher)
    first = _kind(usable[0].mpi_flavour)
    return [found[first], *(one for kind, one in found.items() if kind != first)]


def _kind(flavour: Flavour) -> Flavour:
    """MPI libraries of one kind have the same binary interface."""
    return "mpich" if flavour == "intel" else flavour


def _with_wrapper(of: Toolchain, mpicxx: str, flavour: Flavour, launcher: str) -> Toolchain:
    version = mpi_of_launcher(launcher)[1]
    return msgspec.structs.replace(
        of, mpicxx=mpicxx, mpi_flavour=flavour, mpi_version=version, environment={}
    )


def _is_beside(toolchain: Toolchain, launcher: str) -> bool:
    with contextlib.suppress(OSError):
        return toolchain.mpirun is not None and Path(toolchain.mpirun).samefile(launcher)
    return False


def _compiler_beside(launcher: str) -> str | None:
    """The wrapper of the same installation, with Debian's suffix if the launcher has it."""
    if not launcher:
        return None
    path = Path(launcher)
    names = [f"mpicxx{path.suffix}"] if path.suffix in (".openmpi", ".mpich") else ["mpicxx"]
    return next((found for name in names if (found := shutil.which(name, path=path.parent))), None)
