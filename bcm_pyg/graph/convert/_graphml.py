from __future__ import annotations

import io
from os import PathLike
from typing import Any
from xml.parsers import expat

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import read_file

#: Bytes of text that a file may hold.
MAX_BYTES = 2**30


class _Prolog(Exception):  # noqa: N818
    """The root element begins: what could do harm comes before it."""


def read_graphml(path: str | PathLike[str]) -> Any:
    """A networkx graph from GraphML, all attributes as they are in the file.

    Files with a document type are refused: it can define text that grows
    without bound, and GraphML has none.
    """
    import networkx as nx

    content = read_file(path, MAX_BYTES)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = _stop
    try:
        parser.Parse(content, True)
    except _Prolog:
        pass
    except BCMError as error:
        raise BCMError(f'{path}: {error}') from None
    except expat.ExpatError as error:
        raise BCMError(f'{path} is no GraphML: {error}') from None
    try:
        return nx.read_graphml(io.BytesIO(content), force_multigraph=True)
    except Exception as error:  # what is damaged breaks it in many ways
        raise BCMError(f'{path} is no readable GraphML: {error}') from error


def _refuse(*args: object) -> None:
    raise BCMError('the file has a document type, which GraphML has not')


def _stop(*args: object) -> None:
    raise _Prolog
