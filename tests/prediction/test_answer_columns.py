"""What is written as rows is read as the same rows, whatever the cells hold."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from policylearn.prediction.answer_columns import row_writer

CELLS = st.text(st.sampled_from('C1,;\t"\r\n ') | st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5), st.sampled_from([",", "\t"]))
def test_rows_come_back_as_they_were(rows: list[list[str]], delimiter: str) -> None:
    text = io.StringIO(newline="")
    writer = row_writer(text, delimiter)
    for row in rows:
        writer.writerow(row)
    again = io.StringIO(text.getvalue(), newline="")
    assert list(csv.reader(again, delimiter=delimiter)) == rows


def test_rows_end_with_a_plain_line_end() -> None:
    text = io.StringIO(newline="")
    row_writer(text).writerow(["a", "b\r", "c"])
    assert text.getvalue() == 'a,"b\r",c\n'
