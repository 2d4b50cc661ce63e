"""Tables in Markdown, made from the results."""
