"""Exact arithmetic on an expression that a model wrote. Nothing of it is evaluated as Python.

Numbers are fractions, so that 0.1 + 0.2 is 0.3; only a root (a power that is no integer) is approximate. Bounds on length,
depth and size keep any expression below a millisecond.
"""

import ast
import operator
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

MAX_LENGTH = 200  # characters: the parser's own depth limit lies above what fits
MAX_BITS = 4_000  # of numerator and denominator, about 1,200 digits
_MAX_EXPONENT = 300  # in a number such as 1e300
_PRECISION = Context(prec=15)  # of what is no finite decimal
_EXACT_PLACES = 30  # a finite decimal up to here is written out

_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "abs": abs,
    "max": max,
    "min": min,
    "round": lambda value, digits=Fraction(0): _rounded(value, digits),
    "sqrt": lambda value: _power(value, Fraction(1, 2)),
}


def calculate(expression: str) -> str:
    """The value as decimal text. Raises ValueError with what is wrong, in words."""
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"an expression has at most {MAX_LENGTH} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return _written(_value(tree.body, expression.strip()))
    except SyntaxError:
        raise ValueError("this is not an arithmetic expression") from None
    except ZeroDivisionError:
        raise ValueError("division by zero") from None
    except (TypeError, OverflowError):
        raise ValueError("this cannot be computed") from None


def _value(node: ast.expr, source: str) -> Fraction:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return _number(ast.get_source_segment(source, node) or "")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, source)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, source)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_power(_value(left, source), _value(right, source)))
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _BINARY:
            return _bounded(_BINARY[type(operation)](_value(left, source), _value(right, source)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(argument, source) for argument in arguments)))
        case _:
            known = ", ".join(sorted(_FUNCTIONS))
            raise ValueError(f"only numbers, + - * / // % ** ( ) and {known} are known")


def _number(text: str) -> Fraction:
    """From its digits, not from a double: 0.1 is a tenth."""
    if text[:2].lower() in {"0x", "0o", "0b"}:
        return _bounded(Fraction(int(text, 0)))
    number = Decimal(text)
    if abs(number.adjusted()) > _MAX_EXPONENT:  # before it is written out: 1e999999999 is short, its digits are not
        raise ValueError("a number is too large or too small")
    return Fraction(number)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        root = float(base) ** float(exponent)
        if isinstance(root, complex):
            raise ValueError("the root of a negative number is not real")
        return Fraction(root)
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent.numerator) * size > MAX_BITS:  # before it is computed
        raise ValueError("the result is too large")
    return base**exponent.numerator


def _rounded(value: Fraction, digits: Fraction) -> Fraction:
    if digits.denominator != 1 or abs(digits) > _MAX_EXPONENT:
        raise ValueError("a number is rounded to a whole number of digits")
    return Fraction(round(value, digits.numerator))


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ValueError("the result is too large")
    return value


def _written(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    scaled = value * 10**_EXACT_PLACES
    if scaled.denominator == 1:
        sign, digits = ("-" if value < 0 else "", str(abs(scaled.numerator)).rjust(_EXACT_PLACES + 1, "0"))
        return f"{sign}{digits[:-_EXACT_PLACES]}.{digits[-_EXACT_PLACES:].rstrip('0')}"
    return f"{_PRECISION.divide(Decimal(value.numerator), Decimal(value.denominator)):f}"
