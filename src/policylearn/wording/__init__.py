"""Names, values and tables as users write and read them."""

from policylearn.wording.words import hint, markdown_table, nearest_word, write_value

__all__ = ["hint", "markdown_table", "nearest_word", "write_value"]
