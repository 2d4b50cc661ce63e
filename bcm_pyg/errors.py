"""The one error class of the library."""


class BCMError(ValueError):
    """Something is wrong with an input, a map or a file.

    The message names the attribute and the first offending node, edge or
    query, and says what to pass instead.
    """
