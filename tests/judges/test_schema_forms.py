"""How a judge says what an answer has to be, to servers that take other forms of it than OpenAI's."""

import pytest
from judged import judge, score, verdict
from server import error

LITERAL = "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'input': 'json_schema'}]"
"""What llama-cpp-python's server says, as error 500, to OpenAI's form; it takes json_object with a schema."""


@pytest.mark.parametrize(
    ("taken", "forms"),
    [
        ({"json_schema"}, ["json_schema"]),  # OpenAI
        ({"json_object"}, ["json_schema", "json_object"]),  # llama-cpp-python
        (set(), ["json_schema", "json_object", None]),
    ],
)
def test_a_form_of_schema_that_the_server_refuses_is_replaced_by_the_next_for_good(serve, taken, forms):
    def answer(text, attempt):
        form = server.asked[-1].get("response_format")
        return error(500, LITERAL) if form and form["type"] not in taken else verdict()

    server = serve(answer)
    assert score(judge(server, limits={"concurrency": 1}), "abc").score("c").tolist() == [1.0] * 3
    sent = [(request.get("response_format") or {"type": None}) for request in server.asked]
    assert [form["type"] for form in sent] == [*forms, *[forms[-1]] * 2]
    if "json_object" in taken:
        assert sent[-1]["schema"] == sent[0]["json_schema"]["schema"]
