from collections.abc import Iterator

import pytest
from headless import Page, browser_page
from torch_geometric.data import Data

from docs.explorers import streets


@pytest.fixture(scope='session')
def comb() -> Data:
    """Streets that a simplified graph has fewer nodes of."""
    return streets(4, 0)


@pytest.fixture(scope='module')
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser, or a skip."""
    yield from browser_page(tmp_path_factory.mktemp('profile'))
