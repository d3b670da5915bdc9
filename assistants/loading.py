"""Assistants of a deployment's own: Python files outside the repository.

A path is a file, or a folder whose `*.py` files are read in the order of their names; those whose names begin with `_` are for the
others to import. Every `Assistant` that such a file holds in a variable is one of the deployment's.

Whatever is wrong stops the start, with the file, the line and what to do: a service that answers without its tools is worse than none.
Files are read once; a change counts when the processes are started again.
"""

import hashlib
import sys
import traceback
from collections.abc import Collection, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from assistants.definition import Assistant, WrongDefinition
from tools.declare import WrongTool

_OUR_WORDS = (WrongDefinition, WrongTool)  # they say themselves what is wrong, and what to do


class AssistantError(ValueError):
    """A file of assistants that cannot be used. One line for a person: file, line, what is wrong and what to do."""


def load_assistants(paths: Sequence[Path], *, taken: Collection[str]) -> tuple[Assistant, ...]:
    """The assistants of these files and folders, in this order. `taken` are names that they may not have.

    Raises:
        AssistantError: something is missing, does not run, holds no assistant, or takes another one's name.
    """
    found: dict[str, tuple[Assistant, Path]] = {}
    for path in paths:
        for file in _files(path.expanduser()):
            for assistant in _held_by(file):
                if assistant.name in taken:
                    raise AssistantError(
                        f"{file}: the name {assistant.name!r} is that of an assistant that ships: choose another"
                    )
                if assistant.name in found:
                    other = found[assistant.name][1]
                    raise AssistantError(
                        f"{file}: {other} has an assistant {assistant.name!r} already: rename one of them"
                    )
                found[assistant.name] = (assistant, file)
    return tuple(assistant for assistant, _ in found.values())


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path.resolve()
        return
    if not path.is_dir():
        raise AssistantError(f"{path}: there is no such file or folder")
    files = sorted(file for file in path.resolve().glob("*.py") if not file.name.startswith("_"))
    if not files:
        raise AssistantError(f"{path}: there is no *.py file in this folder")
    yield from files


def _held_by(file: Path) -> list[Assistant]:
    module = _run(file)
    found = {id(value): value for value in vars(module).values() if isinstance(value, Assistant)}
    if not found:
        raise AssistantError(f"{file}: it holds no assistant: add a variable, such as `mine = Assistant(name=…, …)`")
    return [*found.values()]


def _run(file: Path) -> ModuleType:
    # By its path, because two folders may hold files of one name; and known to the interpreter, because types of a tool's
    # parameters are looked up there.
    name = f"own_assistants_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise AssistantError(f"{file}: the name of a Python file ends in .py")
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: it brings modules of its own, and hides none of ours
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}"
        raise AssistantError(f"{where}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise AssistantError(f"{_where(file, error)}: {_what(error)}") from error
    return module


def _where(file: Path, error: BaseException) -> str:
    """The last line of this file on the way to the error."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{file}:{lines[-1]}" if lines else str(file)


def _what(error: BaseException) -> str:
    return str(error) if isinstance(error, _OUR_WORDS) else f"{type(error).__name__}: {error}"
