"""A stand-in for Apptainer as root: ``exec [--bind FOLDER]… --pwd FOLDER IMAGE COMMAND…``.

The image is a folder. In a mount namespace of its own the command sees the image, the system's
programs, and the bound folders; nothing else of the host.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SYSTEM = ("usr", "etc", "dev", "proc", "sys")


def mount(source: str, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--rbind", source, str(target)], check=True)


def main(words: list[str]) -> None:
    if os.environ.get("STAND_IN") != "inside":
        command = ["unshare", "--mount", "--propagation", "private", sys.executable, __file__]
        os.execvpe("unshare", [*command, *words], {**os.environ, "STAND_IN": "inside"})
    assert words.pop(0) == "exec"
    binds, folder = [], "/"
    while words[0].startswith("--"):
        option, value = words.pop(0), words.pop(0)
        if option == "--bind":
            binds.append(value)
        else:
            assert option == "--pwd"
            folder = value
    root = Path(words.pop(0))
    assert (root / "image").exists(), f"{root} is no image"
    subprocess.run(["mount", "-t", "tmpfs", "none", str(root)], check=True)
    for name in SYSTEM:
        mount(f"/{name}", root / name)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    for bound in binds:
        mount(bound, root / bound.lstrip("/"))
    del os.environ["STAND_IN"]
    os.environ["APPTAINER_CONTAINER"] = str(root)
    os.environ["PATH"] = "/usr/local/bin:/usr/bin:/bin"  # the host's folders aren't there
    os.chroot(root)
    os.chdir(folder)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
