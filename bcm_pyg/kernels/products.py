"""Products of vectors with a matrix, for one lane or for some at once.

Reading the matrix is what a product costs, so kernels work on two queries or
four pairs side by side, in lanes. Each lane sums in the same order with and
without the others, so results do not depend on the batch.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .arrays import TILE

_WIDTH = 8  # numbers of a vector register
_INT = ir.IntType(32)
_VECTOR = ir.VectorType(ir.FloatType(), _WIDTH)
_SPLAT = ir.Constant(ir.VectorType(_INT, _WIDTH), [0] * _WIDTH)
_UNKNOWN = ir.Constant(_VECTOR, ir.Undefined)


def _add_product(_: Any, w: Any, x: Any, a: Any) -> Any:
    """Adds x [K] @ w [K * TILE] to a [TILE]."""
    return types.void(w, x, a), _product_of(1)


def _add_products(_: Any, w: Any, x: Any, y: Any, a: Any, b: Any) -> Any:
    """The same for two lanes: adds x @ w to a, and y @ w to b."""
    return types.void(w, x, y, a, b), _product_of(2)


def _add_wide(
    _: Any,
    w: Any,
    x: Any,
    y: Any,
    u: Any,
    v: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
) -> Any:
    """The same for four lanes."""
    return types.void(w, x, y, u, v, a, b, c, d), _product_of(4)


add_product: Callable[..., None] = intrinsic(_add_product)
add_products: Callable[..., None] = intrinsic(_add_products)
add_wide: Callable[..., None] = intrinsic(_add_wide)


def _product_of(lanes: int) -> Callable[..., Any]:
    """A loop over the inputs that keeps all sums in registers; as a loop over
    arrays it would write them back at each turn.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        weight, size = arrays[0].data, arrays[1].nitems
        inputs = [array.data for array in arrays[1 : 1 + lanes]]
        outputs = [array.data for array in arrays[1 + lanes :]]
        number = size.type

        def vector_at(data: Any, index: Any) -> Any:
            pointer = builder.gep(data, [index])
            return builder.bitcast(pointer, _VECTOR.as_pointer())

        def load(data: Any, index: Any) -> Any:
            return builder.load(vector_at(data, index), align=4)

        def add(parts: list[Any]) -> None:
            """Some columns of the tile."""
            places = [(out, part) for out in outputs for part in parts]
            begins = [load(*place) for place in places]
            before = builder.block
            loop = builder.append_basic_block('product')
            after = builder.append_basic_block('product.end')
            builder.branch(loop)
            builder.position_at_end(loop)
            k = builder.phi(number)
            sums = [builder.phi(_VECTOR) for _ in begins]
            first = builder.mul(k, number(TILE))
            row = [load(weight, builder.add(first, part)) for part in parts]
            terms = []
            for data in inputs:
                value = builder.load(builder.gep(data, [k]))
                one = builder.insert_element(_UNKNOWN, value, _INT(0))
                every = builder.shuffle_vector(one, _UNKNOWN, _SPLAT)
                terms += [
                    builder.fmul(every, w, flags=('contract',)) for w in row
                ]
            more = [
                builder.fadd(old, term, flags=('contract',))
                for old, term in zip(sums, terms, strict=True)
            ]
            following = builder.add(k, number(1))
            for phi, begin, end in zip(
                [k, *sums],
                [number(0), *begins],
                [following, *more],
                strict=True,
            ):
                phi.add_incoming(begin, before)
                phi.add_incoming(end, loop)
            goes_on = builder.icmp_signed('<', following, size)
            builder.cbranch(goes_on, loop, after)
            builder.position_at_end(after)
            for place, end in zip(places, more, strict=True):
                builder.store(end, vector_at(*place), align=4)

        parts = [number(k) for k in range(0, TILE, _WIDTH)]
        step = len(parts) if lanes <= 2 else len(parts) // 2  # of 16 registers
        for first in range(0, len(parts), step):
            add(parts[first : first + step])
        return context.get_dummy_value()

    return code
