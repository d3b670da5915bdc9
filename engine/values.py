"""What the engine works on and answers with."""

from dataclasses import dataclass, field

from protocol.checkpoint import LedgerEntry, Message, Outcome, ToolCall, ToolResult, TurnState
from protocol.frames import Frame


@dataclass(frozen=True, slots=True)
class Fallback:
    """Another model to ask. `foreign`: of another provider than the one before, which signs thoughts with other keys."""

    model: str
    foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a turn is run with: a function of the request and the assistant, the same in every slice."""

    run_id: str
    conversation_id: str
    message_id: str
    assistant: str
    model: str
    fallbacks: tuple[Fallback, ...] = ()  # in the order in which they are asked
    tries: int = 3  # of one model in one step
    thinking: bool = False
    fast: bool = False
    parallel_tools: bool = True
    safe_tools: frozenset[str] = frozenset()  # those that may be called again after an unknown outcome
    approval_tools: frozenset[str] = frozenset()  # those that are called only after a person said yes
    question_tools: frozenset[str] = frozenset()  # those that a person answers; they are never called
    wait_ms: int = 604_800_000  # how long a person has for that
    steps: int = 50
    run_ms: int = 86_400_000
    run_tokens: int = 2_000_000
    repeated_calls: int = 5

    def asked(self, fallback: int) -> str:
        """The model at this place of the chain; the last one where the chain has become shorter."""
        chain = (self.model, *(one.model for one in self.fallbacks))
        return chain[min(fallback, len(chain) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedCall:
    """A tool call whose input is arriving."""

    id: str
    provider_id: str
    name: str
    json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStep:
    """What a model call has given so far. Never written: a step that is not asked is asked again."""

    message: Message
    part: str = ""  # "text" or "reasoning" while such a part is open
    part_id: str = ""
    texts: int = 0
    thoughts: int = 0
    last_text: str = ""
    text: str = ""  # this step's text as the model sent it
    held: str = ""  # half a character, waiting for its other half
    calls: tuple[StreamedCall, ...] = ()
    served: tuple[str, ...] = ()  # calls of tools that the provider runs, by its ids
    answered: frozenset[int] = frozenset()  # which of those have their result


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn between two events. `message` in `open_step` or `state` is the fold of every frame emitted so far."""

    plan: Plan
    state: TurnState
    open_step: OpenStep | None = None
    results: dict[int, ToolResult] = field(default_factory=dict)  # of the asked step, by ordinal
    started: frozenset[int] = frozenset()  # calls of the asked step that were told to start
    begun_before: frozenset[int] = frozenset()  # those that an attempt which died had started, whatever became of them
    approved: frozenset[int] = frozenset()  # calls of the asked step that a person said yes to
    shown: int = 0  # how many outputs of the asked step have been emitted
    now_ms: int = 0  # the wall clock at this event


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model with the state's history, as soon as `state.trying` allows."""


@dataclass(frozen=True, slots=True)
class RunTools:
    """Start these calls, now."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Park:
    """Nothing runs and nothing can before a person decides or answers."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Nothing is left to run: seal the outcome, write the records, append the tail."""

    outcome: Outcome


Command = CallModel | RunTools | Park | Settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """What follows from an event.

    `frames` are appended; where `boundary` is true the checkpoint travels with them in one write, and the ledger entries
    always do. `command` None means: wait for the next event.
    """

    turn: Turn
    frames: tuple[Frame, ...] = ()
    boundary: bool = False
    ledger: dict[str, LedgerEntry] = field(default_factory=dict)
    command: Command | None = None
