"""One script for each table or figure, and other measurements."""
