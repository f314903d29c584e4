"""The profiling library in front of a command: for which MPI it is built, and how it gets there."""

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
from assay.kernels.builds.trace import build_trace
from assay.kernels.program_mpi import LAUNCHERS, ProgramRefused, is_static_mpi, parallel_of
from assay.kernels.toolchains import detect_toolchains, mpi_of_launcher

FLAVOURS = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
_ELF = b"\x7fELF"
# What Open MPI's launcher (4 and before) sets in ranks, also on other hosts. It refuses -x beside.
_ENVIRONMENT_LIST = "OMPI_MCA_mca_base_env_list"
_PRELOAD = "LD_PRELOAD"
# Options of MPICH's launcher that are followed by a variable's name and value.
_HYDRA_SETS = {"-env", "--env", "-genv", "--genv"}
# Wrappers of installations beside the first mpicxx on PATH (Debian).
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

    Several: the command's MPI isn't known. In a process the library of another MPI steps aside.
    """

    libraries: tuple[Path, ...]
    #: The MPI of the first one, with its version.
    mpi: str

    def variables(
        self, mine: Mapping[str, str], command: Sequence[str], inherited: Mapping[str, str]
    ) -> dict[str, str]:
        """``mine``, and those that preload the libraries into whatever the command starts.

        Launchers hand them on by themselves, Open MPI's to other hosts only what it is told to:
        `told` does that, unless the user has the variable that does, which excludes it.
        """
        found = {_PRELOAD: self._together(inherited.get(_PRELOAD, "")), **mine}
        if inherited.get(_ENVIRONMENT_LIST) and _open_mpi_launcher(command) is not None:
            settings = [f"{key}={value}" for key, value in found.items()]
            found[_ENVIRONMENT_LIST] = ";".join((inherited[_ENVIRONMENT_LIST], *settings))
        return found

    def told(
        self, command: Sequence[str], names: Sequence[str], inherited: Mapping[str, str]
    ) -> list[str]:
        """The command whose launcher hands on these variables, with the libraries in front of what
        its own words preload.
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
    """The words of each program of several (``mpirun -n 1 a : -n 1 b``), which have options of
    their own.
    """
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
    """The place of Open MPI's launcher in a command; None: there is none."""
    for place, word in enumerate(command):
        if PurePath(word).name in LAUNCHERS:
            return place if mpi_of_launcher(shutil.which(word))[0] == "openmpi" else None
    return None


@dataclass(frozen=True)
class _ProgramMpi:
    """The MPI of a program, and its launcher; "" if unknown."""

    flavour: Flavour
    launcher: str


def preload_of(command: Sequence[str], config: Config, progress: Callable[[str], None]) -> Preload:
    """The libraries for a command, built if need be. ``progress``: gets a sentence then.

    Raises AssayError if the program is static, if its MPI has no compiler, and as `build_trace`.
    """
    mpi = _mpi_of(command)
    libraries: list[Path] = []
    toolchains = _toolchains_of(mpi, config)
    for toolchain in toolchains:
        try:
            built = build_trace(toolchain.mpicxx, toolchain.wrapper_environment, progress)
        except AssayError:
            if not libraries:
                raise
            continue  # the command may need the first one only
        if re.search(r"[\s:]", str(built)):
            raise AssayError(
                "The profiling library can't be preloaded: its path holds a blank or a colon, at "
                "which the dynamic linker ends it.",
                where=str(built),
                fix="Set ASSAY_CACHE to a folder without them.",
            )
        libraries.append(built)
    first = toolchains[0]
    flavour = first.mpi_flavour if mpi.flavour == "other" else mpi.flavour
    name = " ".join(filter(None, (FLAVOURS.get(flavour, "MPI"), first.mpi_version)))
    return Preload(tuple(libraries), name)


def runs_without_mpi(command: Sequence[str]) -> bool:
    """Whether executables are named, and none of them is linked with MPI or may load it."""
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
                return False  # a script may start anything
            found = True
    return found


def _mpi_of(command: Sequence[str]) -> _ProgramMpi:
    """By the first executable that is linked with MPI; otherwise, of a script, by its launcher."""
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
                "The program is statically linked: nothing can be preloaded into it, so its MPI "
                "calls can't be seen. It was not run.",
                where=word,
                fix="Link it dynamically (without -static).",
            )
        try:
            parallel, flavour, launcher = parallel_of(Path(path), content)
        except ProgramRefused as why:
            raise AssayError(
                f"{Path(path).name} {why}",
                where=word,
                fix="Load the modules that it needs, so that its MPI's launcher is on PATH.",
            ) from None
        if parallel != "mpi" or not flavour:
            continue
        return _ProgramMpi(flavour, launcher)
    launcher = next((word for word in command if Path(word).name in LAUNCHERS), "")
    path = shutil.which(launcher) if launcher else None
    flavour, _ = mpi_of_launcher(path)
    return _ProgramMpi(flavour, path or "")


def _toolchains_of(mpi: _ProgramMpi, config: Config) -> list[Toolchain]:
    """One with the program's launcher, else one with its MPI; of an unknown MPI one of each.

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
        f"The profiling library can't be built: there is no mpicxx of {name}.",
        where=mpi.launcher,
        fix=f"Install its development files ({header_packages(mpi.flavour)}), load its module, or "
        "name its mpicxx in assay.toml (toolchains).",
    )


def _one_of_each(usable: Sequence[Toolchain]) -> list[Toolchain]:
    """The first toolchain of each kind of MPI, with those that only have a wrapper on PATH."""
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
    """The wrapper of the same installation; with Debian's suffix if the launcher has one."""
    if not launcher:
        return None
    path = Path(launcher)
    names = [f"mpicxx{path.suffix}"] if path.suffix in (".openmpi", ".mpich") else ["mpicxx"]
    return next((found for name in names if (found := shutil.which(name, path=path.parent))), None)
