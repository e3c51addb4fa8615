"""Commands and their options: a tree of verbs, read with argparse, whose complaints are one line with the way out."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from policylearn.wording import WrongValueError, hint, read_value, without_none, write_value


class UsageError(ValueError):
    """A command line that cannot be understood; the message says why in one line."""


class Parser(argparse.ArgumentParser):
    """The options of one command; it raises a `UsageError` where argparse would print and exit.

    Args:
        command: the words that lead to it.
        about: what it does.
        actions: the commands below it, by their words, with what they do.
        optional: whether it does something without any of them.
    """

    def __init__(
        self, command: str, about: str, actions: Mapping[str, str] | None = None, *, optional: bool = False
    ) -> None:
        lines = [f"  {name:<12}{text}" for name, text in (actions or {}).items()]
        super().__init__(
            prog=command,
            description=about,
            epilog="\n".join(["what to do:", *lines]) if lines else None,
            allow_abbrev=False,
            exit_on_error=False,
            formatter_class=argparse.RawDescriptionHelpFormatter if lines else argparse.HelpFormatter,
        )
        self.needed: list[argparse.Action] = []
        self.open_groups: list[str] = []  # beginnings of options whose names are declared elsewhere
        choices = " | ".join(actions or ())
        self.choices = f"[{choices}]" if choices and optional else choices

    def add_argument(self, *names: str, **options: Any) -> Any:
        """As argparse has it, but ``type`` is a type, such as ``int | None``, and the help says the default.

        An option of several words can be given several times: all of its words count.
        """
        if options.get("nargs") == "+":
            options.setdefault("action", GatherAction)
        action = super().add_argument(*names, **typed(names[-1], options))
        if action.required:  # argparse would stop at what is missing with words of its own
            action.required = False
            self.needed.append(action)
        return action

    def parse(self, words: Sequence[str]) -> Namespace:
        """The options that the words say."""
        see = f"see '{self.prog} --help'"
        words, found = self._take_open([self._as_declared(word) for word in words])
        try:
            options, unknown = self.parse_known_args(list(words))
        except argparse.ArgumentError as error:
            ours = isinstance(error.__context__, argparse.ArgumentTypeError)
            raise UsageError(f"{error.message if ours else error}; {see}") from None
        for word in unknown:
            option = word.split("=")[0]
            if option.startswith("-"):
                raise UsageError(f"'{self.prog}' has no option '{option}'; {hint(option, self.long_names(), see)}")
        if unknown:
            raise UsageError(f"'{self.prog}' takes no further word '{unknown[0]}'; {see}")
        missing = [place_of(action) for action in self.needed if getattr(options, action.dest) is None]
        if missing:
            raise UsageError(f"'{self.prog}' needs {', '.join(missing)}; {see}")
        vars(options).update(found)
        return options

    def _as_declared(self, word: str) -> str:
        """An option as it is declared: hyphens and underscores in a name are the same."""
        name, given, value = word.partition("=")
        if not name.startswith("--") or name in self._option_string_actions:
            return word
        known = {option.replace("_", "-"): option for option in self.long_names()}
        declared = known.get(name.replace("_", "-"), name)
        if self.open_groups and name.startswith(tuple(self.open_groups)):
            declared = "--" + name.removeprefix("--").replace("-", "_")
        return declared + given + value

    def _take_open(self, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """The words without options of open groups, and what those say, read as YAML."""
        import yaml

        rest, found, queue = [], {}, list(words)
        while queue:
            word = queue.pop(0)
            name, given, value = word.partition("=")
            if not (self.open_groups and name.startswith(tuple(self.open_groups))):
                rest.append(word)
                continue
            if not given and not queue:
                raise UsageError(f"'{name}' needs a value; see '{self.prog} --help'")
            text = value if given else queue.pop(0)
            try:
                found[name.removeprefix("--")] = yaml.safe_load(text)
            except yaml.YAMLError:
                raise UsageError(f"'{name}' cannot be read (got {text}); see '{self.prog} --help'") from None
        return rest, found

    def long_names(self) -> list[str]:
        """The options, without their short forms."""
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]

    def format_usage(self) -> str:
        """The line that shows how the command is written."""
        return f"usage: {self.usage_line()}\n"

    def format_help(self) -> str:
        """The whole help, with our own usage line."""
        self.usage = self.usage_line()
        return super().format_help()

    def usage_line(self) -> str:
        """The command with what it needs."""
        if self.choices:
            return f"{self.prog} {self.choices}"
        words = [
            place_of(action) if action in self.needed else f"[{place_of(action)}]"
            for action in self._actions
            if action in self.needed or not action.option_strings
        ]
        return " ".join([self.prog, *words, "[options]"])


class GatherAction(argparse.Action):
    """Keeps the words of an option each time that it is given; the first time they replace the default."""

    def __call__(self, parser: Any, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        """Add the words."""
        before = getattr(namespace, self.dest, None)
        gathered = GatheredWords(before) if isinstance(before, GatheredWords) else GatheredWords()
        setattr(namespace, self.dest, GatheredWords([*gathered, *values]))


class GatheredWords(list[Any]):
    """Words that were given, as opposed to a default."""


def typed(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Argparse's options for one whose ``type`` is a type.

    Args:
        name: of the option.
        options: help, default and what else argparse takes.
    """
    kind = options.pop("type", None)
    shown = options.get("default")
    if kind is not None:
        options["type"] = reader(name.lstrip("-"), kind)
        choices = choices_of(kind)
        if choices:
            options.setdefault("metavar", "{" + ",".join(choices) + "}")
    if not (shown is None or shown is False or shown in ("", argparse.SUPPRESS) or shown == []):
        text = " ".join(map(str, shown)) if isinstance(shown, list) else write_value(shown)
        options["help"] += f" (default: {text})"
    options["help"] = options["help"].replace("%", "%%")
    return options


def reader(name: str, kind: Any) -> Callable[[str], Any]:
    """What turns a word into a value, or says why it cannot."""

    def read(word: str) -> Any:
        try:
            return read_value(kind, word)
        except WrongValueError as error:
            raise argparse.ArgumentTypeError(f"'{name}' {error}") from None

    return read


def choices_of(kind: Any) -> list[str]:
    """The values of a type that has few."""
    kind = without_none(kind)
    if kind is bool:
        return ["true", "false"]
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []


def place_of(action: argparse.Action) -> str:
    """What stands for an argument in a usage line."""
    name = str(action.metavar or action.dest.rsplit(".", 1)[-1].upper())
    return f"{action.option_strings[0]} {name}" if action.option_strings else name


@dataclass(frozen=True)
class Command:
    """A verb, an action of one, or the whole command.

    Heavy imports belong inside ``run``, so that help and complaints are quick.

    Args:
        name: its word.
        help: what it does, in a line.
        add_options: gives its parser its options.
        run: does it and returns the exit code; ``options.words`` is what followed its name. None asks for an action.
        about: what its own help says instead of ``help``.
        actions: the commands below it.
    """

    name: str
    help: str
    add_options: Callable[[Parser], None] = lambda _parser: None
    run: Callable[[Namespace], int] | None = None
    about: str = ""
    actions: tuple[Command, ...] = ()

    def parser(self, path: str) -> Parser:
        """Its parser.

        Args:
            path: the words that lead to it, itself included.
        """
        actions = {action.name: action.help for action in self.actions}
        parser = Parser(path, self.about or self.help, actions, optional=self.run is not None)
        self.add_options(parser)
        return parser

    def find(self, words: Sequence[str]) -> tuple[Command, str, list[str]]:
        """The command that words lead to, its path, and the words that are left."""
        command, path, rest = self, self.name, list(words)
        while rest and (below := {action.name: action for action in command.actions}):
            if rest[0] in below:
                command, path, rest = below[rest[0]], f"{path} {rest[0]}", rest[1:]
            elif rest[0].startswith("-"):
                break
            else:
                way_out = hint(rest[0], below, f"see '{path} --help'")
                raise UsageError(f"'{path}' has no verb '{rest[0]}'; {way_out}")
        return command, path, rest

    def parse(self, words: Sequence[str]) -> tuple[Command, Namespace]:
        """The command that words lead to, with its options."""
        command, path, rest = self.find(words)
        options = command.parser(path).parse(rest)
        if command.run is None:
            raise UsageError(f"say what to do: {command.parser(path).usage_line()}; see '{path} --help'")
        options.words = rest
        return command, options

    def walk(self, before: str = "") -> Iterator[tuple[str, Command]]:
        """Itself and all commands below, each with its path."""
        path = f"{before} {self.name}".strip()
        yield path, self
        for action in self.actions:
            yield from action.walk(path)
